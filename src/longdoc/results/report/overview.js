// What is to be known before any number: what is odd, which groups there are, and what keeps them apart.

const list = (items) =>
  make(
    "ul",
    {},
    items.map((item) => make("li", {}, item)),
  );

function alerts() {
  const found = [];
  if (!data.runs.length)
    found.push(make("div", { class: "alert bad" }, make("strong", {}, `No results found in ${data.source}.`)));
  if (data.problems.length) {
    const places = data.problems.length === 1 ? "place could not be read and is" : "places could not be read and are";
    found.push(
      make(
        "div",
        { class: "alert bad" },
        make("strong", {}, `${data.problems.length} ${places} in no number here:`),
        list(data.problems.map((problem) => [make("code", {}, problem.path), ` ${problem.reason}`])),
      ),
    );
  }
  const open = data.runs.filter((run) => run.status !== "finished");
  if (open.length) {
    const counts = [...new Set(open.map((run) => run.status))]
      .sort()
      .map((status) => [status, open.filter((run) => run.status === status).length]);
    found.push(
      make(
        "div",
        { class: "alert" },
        make("strong", {}, `${plural(open.length, "run")} not finished, in no mean`),
        ` (${counts.map(([status, count]) => `${count} ${status}`).join(", ")})`,
        list(open.map((run) => [make("code", {}, run.folder), ` ${runName(run)}${run.error ? `: ${run.error}` : ""}`])),
      ),
    );
  }
  const noted = data.runs.filter((run) => run.odd.length);
  if (noted.length) {
    found.push(
      make(
        "div",
        { class: "alert" },
        make("strong", {}, `${plural(noted.length, "run")} to look at:`),
        list(noted.map((run) => [make("code", {}, run.folder), ` ${run.odd.join("; ")}`])),
      ),
    );
  }
  return found;
}

const conditionNames = {
  task: "task",
  data: "data",
  protocol: "protocol",
  max_length: "length",
  encoder: "encoder",
  source: "source",
  budget: "budget",
  documents: "documents",
};
const conditionText = (key, value) =>
  key === "max_length" && typeof value === "number" ? `${whole(value)} tokens` : (value ?? "not said");

function overview() {
  const rows = data.groups.map((group, i) => ({ ...group, i, best: group.rows[0] }));
  const columns = Object.entries(conditionNames)
    .filter(([key]) => key !== "documents" && rows.some((row) => row.conditions[key]))
    .map(([key, title]) => ({
      title,
      number: key === "max_length",
      value: (row) => row.conditions[key],
      show: (row) =>
        key === "task"
          ? make("a", { href: `#group-${row.i}` }, row.conditions.task)
          : key === "max_length"
            ? (typeof row.conditions.max_length === "string" ? String : whole)(row.conditions.max_length)
            : conditionText(key, row.conditions[key]),
    }));
  columns.push(
    { title: "rows", number: true, value: (row) => row.rows.length },
    { title: "runs", number: true, value: (row) => row.rows.reduce((sum, each) => sum + each.n, 0) },
    {
      title: "highest",
      value: (row) => row.best?.variant,
      show: (row) => [swatch(styles.get(row.best.variant)), " ", row.best.variant],
    },
    {
      title: "test acc",
      number: true,
      value: (row) => row.best?.accuracy.mean,
      show: (row) => fixed(row.best?.accuracy.mean),
    },
  );
  return make(
    "section",
    {},
    make("h3", {}, "Groups"),
    make(
      "p",
      { class: "muted" },
      "Rows may be compared within a group, and not between groups: there something differs besides the variant.",
    ),
    sortable({ name: "groups", columns, rows }),
  );
}

/** What sets a group apart from those of its task. */
function apart(i) {
  const mine = data.groups[i].conditions;
  const others = data.groups
    .map((group) => group.conditions)
    .filter((other) => other !== mine && other.task === mine.task);
  const keys = Object.keys(conditionNames).filter((key) => others.some((other) => other[key] !== mine[key]));
  if (!others.length) return null;
  const elsewhere = (key) => {
    const values = others.filter((other) => other[key] !== mine[key]).map((other) => conditionText(key, other[key]));
    return [...new Set(values)].join("; ");
  };
  const said = keys.map(
    (key) => `${conditionNames[key]} ${conditionText(key, mine[key])} (elsewhere ${elsewhere(key)})`,
  );
  return make(
    "p",
    { class: "apart" },
    `Not to be compared with the other ${plural(others.length, "group")} of ${mine.task}: ${said.join(", ")}.`,
  );
}
