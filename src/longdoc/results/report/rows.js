// The tables of a group: its rows, and its runs.

function summary(group, i) {
  const base = (row) => group.rows.find((other) => other.variant === row.softmax)?.accuracy.mean ?? null;
  const compared = group.rows.some((row) => row.softmax);
  const ends = group.rows
    .flatMap((row) => [row.accuracy.mean, row.interval.low, row.interval.high])
    .filter((value) => value !== null);
  const domain = [Math.min(...ends), Math.max(...ends)];
  const number = (title, unit, value, show, hint) => ({
    title,
    unit,
    number: true,
    value,
    show: (row) => show(value(row), row),
    hint,
  });
  const sure = (row) => typeof row.difference.p_holm === "number" && row.difference.p_holm < 0.05;
  const columns = [
    {
      title: "variant",
      value: (row) => row.variant,
      show: (row) => [swatch(styles.get(row.variant)), " ", row.variant],
    },
    number("n", "runs", (row) => row.n, whole),
    number(
      "test acc",
      "mean",
      (row) => row.accuracy.mean,
      (value) => (value === null ? "nan" : fixed(value)),
      "Test accuracy of the checkpoint that was best in validation",
    ),
    ...(group.rows.some((row) => row.accuracy.std !== null)
      ? [
          number(
            "±",
            "seeds",
            (row) => row.accuracy.std,
            (value) => fixed(value),
            "Sample standard deviation over the runs",
          ),
        ]
      : []),
    ...settingsColumn(group),
    {
      title: "95 % interval",
      unit: compared ? "of test acc; dashed, softmax" : "of test acc",
      value: (row) => row.interval.low,
      show: (row) => [
        forest(row, styles.get(row.variant), domain, base(row)),
        " ",
        make(
          "span",
          { title: row.interval.method },
          row.interval.low === null ? missing : `${fixed(row.interval.low)}–${fixed(row.interval.high)}`,
        ),
      ],
    },
  ];
  if (compared) {
    columns.push(
      number(
        "Δ acc",
        "against softmax",
        (row) => row.difference.value,
        (value, row) =>
          make(
            "span",
            { class: sure(row) ? "sure" : null, title: row.difference.method },
            row.variant === row.softmax ? "baseline" : signed(value),
          ),
        "Difference of test accuracy from softmax; bold where p is below 0.05",
      ),
      number(
        "95 %",
        "of Δ",
        (row) => row.difference.low ?? null,
        (value, row) =>
          make(
            "span",
            { title: row.difference.method },
            value === null ? missing : `${signed(value)} to ${signed(row.difference.high)}`,
          ),
      ),
      number(
        "p",
        "Holm",
        (row) => row.difference.p_holm ?? null,
        (value, row) =>
          make("span", { class: sure(row) ? "sure" : null, title: row.difference.method }, probability(value)),
        "Of no difference from softmax, corrected for the number of rows (Holm)",
      ),
      number(
        "speed",
        "against softmax",
        (row) => row.ratio,
        (value, row) => (value === null ? missing : times(value) + (row.like_softmax ? "" : "*")),
      ),
    );
  }
  columns.push(
    number("tok/s", "training", (row) => row.tokens_per_second, brief),
    number("memory", "MB, peak", (row) => row.peak_memory_mb, whole),
    ...["f1_macro", "f1_micro", "map", "loss", "ece"]
      .filter((name) => group.rows.some((row) => typeof row.metrics[name] === "number"))
      .map((name) =>
        number(
          name.replace("_", " "),
          "test",
          (row) => row.metrics[name] ?? null,
          (value) => fixed(value),
        ),
      ),
    number("params", null, (row) => row.parameters, brief),
    number("steps", null, (row) => row.steps, brief),
    number("tokens", "read", (row) => row.tokens, brief),
    number("time", "whole run", (row) => row.wall_seconds, duration),
  );
  const at = columns.findIndex((column) => column.title === "test acc");
  const line = (name, accuracy, what) => {
    const cells = columns.slice(1).map((_, i) => make("td", { class: "number" }, i + 1 === at ? accuracy : ""));
    return make("tr", {}, make("td", { title: what }, name), cells);
  };
  const foot = [
    ...Object.entries(group.references).map(([name, value]) =>
      line(name.replaceAll("_", " "), fixed(value), "a reference without training"),
    ),
    ...group.published.map((row) =>
      line(
        `${row.model}, published`,
        row.accuracy === null ? "no better than chance" : fixed(row.accuracy),
        row.source,
      ),
    ),
  ];
  return sortable({ name: `${group.title} rows`, columns, rows: group.rows, foot, first: at, said: methods(group) });
}

/** What rows have otherwise than one another besides their variant, by the last word of its key. */
function settingsColumn(group) {
  const text = ([key, value]) => `${key}=${JSON.stringify(value)}`;
  const short = ([key, value]) => `${key.split(".").at(-1)}=${JSON.stringify(value)}`;
  const column = {
    title: "settings",
    unit: "that differ",
    value: (row) => Object.entries(row.settings).map(text).join("; "),
    show: (row) => Object.entries(row.settings).map((entry) => make("code", { title: text(entry) }, short(entry))),
  };
  return group.rows.some((row) => Object.keys(row.settings).length) ? [column] : [];
}

/** How the intervals and tests of a group came about. */
function methods(group) {
  const said = new Set(group.rows.map((row) => row.interval.method));
  const tests = new Set(group.rows.map((row) => row.difference.method).filter(Boolean));
  return (
    `Intervals: ${[...said].join("; ")}.` +
    (tests.size ? ` Differences: ${[...tests].join("; ")}; p corrected for the rows (Holm).` : "")
  );
}

function runTable(name, runs) {
  const columns = [
    { title: "variant", value: (run) => run.row, show: (run) => [swatch(styles.get(run.row)), " ", run.row] },
    {
      title: "status",
      value: (run) => run.status,
      show: (run) => [
        make("span", { class: `status ${run.status}` }, run.status),
        run.error ? make("span", { class: "error" }, run.error) : null,
      ],
    },
    { title: "seed", number: true, value: (run) => run.seed },
    {
      title: "test acc",
      number: true,
      value: (run) => run.accuracy,
      show: (run) =>
        run.accuracy === null || run.accuracy === undefined
          ? run.status === "finished"
            ? "nan"
            : missing
          : fixed(run.accuracy, 4),
    },
    {
      title: "config",
      unit: "where not as usual in the group",
      wrap: true,
      value: (run) => run.differs.map(([key, own, usual]) => `${key}: ${own} (${usual})`).join("; "),
      show: differs,
    },
    { title: "tested step", number: true, value: (run) => run.selected_step, show: (run) => whole(run.selected_step) },
    { title: "steps", number: true, value: (run) => run.steps, show: (run) => whole(run.steps) },
    {
      title: "tok/s",
      number: true,
      value: (run) => run.tokens_per_second,
      show: (run) => brief(run.tokens_per_second),
    },
    { title: "time", number: true, value: (run) => run.wall_seconds, show: (run) => duration(run.wall_seconds) },
    {
      title: "commit",
      hint: "+ where files differed from it",
      value: (run) => run.commit,
      show: (run) => make("code", {}, run.commit || missing),
    },
    { title: "folder", value: (run) => run.folder, show: (run) => make("code", {}, run.folder) },
    {
      title: "notes",
      wrap: true,
      value: (run) => [...run.odd, ...run.notes].join("; "),
      show: (run) => folded([...run.odd, ...run.notes].join("; ") || missing),
    },
  ];
  return sortable({ name, columns, rows: runs, first: 0 });
}

/** A text, of a long one only its beginning until it is opened. */
function folded(text) {
  return text.length <= 100 ? text : make("details", {}, make("summary", {}, `${text.slice(0, 60)} …`), text);
}

function differs(run) {
  const items = run.differs.map(([key, own, usual]) =>
    make("li", {}, make("code", {}, `${key}: ${own}`), make("small", {}, ` usual ${usual}`)),
  );
  if (run.group === null) return make("small", {}, "no group to differ from");
  if (!items.length) return make("small", {}, "as usual");
  return items.length <= 2
    ? make("ul", {}, items)
    : make("details", {}, make("summary", {}, plural(items.length, "value")), make("ul", {}, items));
}
