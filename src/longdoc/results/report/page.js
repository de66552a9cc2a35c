// The page: its alerts, an overview, and a section for each group of rows that may be compared.

const data = JSON.parse(document.getElementById("data").textContent);
const state = { query: "", axis: "steps", metric: "val/accuracy", hidden: new Set() };
const listeners = [];
const update = () => listeners.forEach((listen) => listen());

const finished = data.runs.filter((run) => run.status === "finished");
const names = [...new Set([...data.groups.flatMap((group) => group.rows.map((row) => row.variant)), ...data.runs.map((run) => run.row)])];
const styles = makeStyles(names);

const runsOf = (i) => data.runs.filter((run) => run.group === i);
const runText = (run) => [run.row, `seed ${run.seed}`, run.id, run.status, run.folder, run.conditions, run.error, ...run.differs.map(([key, own]) => `${key}=${own}`)].join(" ");
const rowText = (i, row) => [row.variant, data.groups[i].title, "finished", ...row.seeds.map((seed) => `seed ${seed}`), ...Object.entries(row.settings).map(([key, value]) => `${key}=${value}`), ...runsOf(i).filter((run) => run.row === row.variant && run.status === "finished").map((run) => run.id + " " + run.folder)].join(" ");
const rowShown = (i) => (row) => !state.hidden.has(row.variant) && matches(state.query, rowText(i, row));
const runShown = (run) => !state.hidden.has(run.row) && matches(state.query, runText(run));

const list = (items) => make("ul", {}, items.map((item) => make("li", {}, item)));

function alerts() {
  const found = [];
  if (!data.runs.length) found.push(make("div", { class: "alert bad" }, make("strong", {}, `No results found in ${data.source}.`)));
  if (data.problems.length) {
    found.push(make("div", { class: "alert bad" }, make("strong", {}, `${plural(data.problems.length, "place")} could not be read and ${data.problems.length === 1 ? "is" : "are"} in no number here:`),
      list(data.problems.map((problem) => [make("code", {}, problem.path), ` ${problem.reason}`]))));
  }
  const open = data.runs.filter((run) => run.status !== "finished");
  if (open.length) {
    const counts = ["failed", "interrupted", "running"].map((status) => [status, open.filter((run) => run.status === status).length]).filter(([, count]) => count);
    found.push(make("div", { class: "alert" }, make("strong", {}, `${plural(open.length, "run")} not finished, in no mean`), ` (${counts.map(([status, count]) => `${count} ${status}`).join(", ")})`, list(open.map((run) => [make("code", {}, run.folder), ` ${runName(run)}${run.error ? `: ${run.error}` : ""}`]))));
  }
  const noted = data.runs.filter((run) => run.notes.some((note) => /nan|have this name|cannot be read/.test(note)));
  if (noted.length) {
    found.push(make("div", { class: "alert" }, make("strong", {}, `${plural(noted.length, "run")} to look at:`),
      list(noted.map((run) => [make("code", {}, run.folder), ` ${run.notes.filter((note) => /nan|have this name|cannot be read/.test(note)).join("; ")}`]))));
  }
  return found;
}

const conditionNames = { task: "task", protocol: "protocol", max_length: "length", encoder: "encoder", source: "source", budget: "budget", documents: "documents" };
const conditionText = (key, value) => (key === "max_length" && typeof value === "number" ? `${whole(value)} tokens` : value ?? "not said");

function overview() {
  const rows = data.groups.map((group, i) => ({ ...group, i, best: group.rows[0] }));
  const columns = Object.entries(conditionNames).filter(([key]) => key !== "documents" && rows.some((row) => row.conditions[key])).map(([key, title]) => ({
    title, number: key === "max_length", value: (row) => row.conditions[key],
    show: (row) => (key === "task" ? make("a", { href: `#group-${row.i}` }, row.conditions.task) : key === "max_length" ? whole(row.conditions.max_length) : conditionText(key, row.conditions[key])),
  }));
  columns.push(
    { title: "rows", number: true, value: (row) => row.rows.length },
    { title: "runs", number: true, value: (row) => row.rows.reduce((sum, each) => sum + each.n, 0) },
    { title: "highest", value: (row) => row.best?.variant, show: (row) => [swatch(styles.get(row.best.variant)), " ", row.best.variant] },
    { title: "test acc", number: true, value: (row) => row.best?.accuracy.mean, show: (row) => fixed(row.best?.accuracy.mean) },
  );
  return make("section", {}, make("h3", {}, "Groups"), make("p", { class: "muted" }, "Rows may be compared within a group, and not between groups: there something differs besides the variant."), sortable({ name: "groups", columns, rows }));
}

/** What sets a group apart from those of its task. */
function apart(i) {
  const mine = data.groups[i].conditions;
  const others = data.groups.map((group) => group.conditions).filter((other) => other !== mine && other.task === mine.task);
  const keys = Object.keys(conditionNames).filter((key) => others.some((other) => other[key] !== mine[key]));
  if (!others.length) return null;
  const said = keys.map((key) => `${conditionNames[key]} ${conditionText(key, mine[key])} (elsewhere ${[...new Set(others.filter((other) => other[key] !== mine[key]).map((other) => conditionText(key, other[key])))].slice(0, 4).join("; ")})`);
  return make("p", { class: "apart" }, `Not to be compared with the other ${plural(others.length, "group")} of ${mine.task}: ${said.join(", ")}.`);
}

function summary(group, i) {
  const base = group.rows.find((row) => row.variant === group.softmax)?.accuracy.mean ?? null;
  const ends = group.rows.flatMap((row) => [row.accuracy.mean, row.interval.low, row.interval.high]).filter((value) => value !== null);
  const domain = [Math.min(...ends), Math.max(...ends)];
  const number = (title, unit, value, show, hint) => ({ title, unit, number: true, value, show: (row) => show(value(row), row), hint });
  const sure = (row) => typeof row.difference.p_holm === "number" && row.difference.p_holm < 0.05;
  const columns = [
    { title: "variant", value: (row) => row.variant, show: (row) => [swatch(styles.get(row.variant)), " ", row.variant] },
    number("n", "runs", (row) => row.n, whole),
    number("test acc", "mean", (row) => row.accuracy.mean, (value) => (value === null ? "nan" : fixed(value)), "Test accuracy of the checkpoint that was best in validation"),
    ...(group.rows.some((row) => row.accuracy.std !== null) ? [number("±", "seeds", (row) => row.accuracy.std, (value) => fixed(value), "Sample standard deviation over the runs")] : []),
    { title: "95 % interval", unit: base === null ? "of test acc" : "of test acc; dashed, softmax", value: (row) => row.interval.low, show: (row) => [forest(row, styles.get(row.variant), domain, base), " ", make("span", { title: row.interval.method }, row.interval.low === null ? missing : `${fixed(row.interval.low)}–${fixed(row.interval.high)}`)] },
  ];
  if (group.softmax) {
    columns.push(
      number("Δ acc", "against softmax", (row) => row.difference.value, (value, row) => make("span", { class: sure(row) ? "sure" : null, title: row.difference.method }, row.variant === group.softmax ? "baseline" : signed(value)), "Difference of test accuracy from softmax; bold where p is below 0.05"),
      number("95 %", "of Δ", (row) => row.difference.low ?? null, (value, row) => make("span", { title: row.difference.method }, value === null ? missing : `${signed(value)} to ${signed(row.difference.high)}`)),
      number("p", "Holm", (row) => row.difference.p_holm ?? null, (value, row) => make("span", { class: sure(row) ? "sure" : null, title: row.difference.method }, probability(value)), "Of no difference from softmax, corrected for the number of rows (Holm)"),
      number("speed", "against softmax", (row) => row.ratio, (value, row) => (value === null ? missing : times(value) + (row.like_softmax ? "" : "*"))),
    );
  }
  columns.push(
    number("tok/s", "training", (row) => row.tokens_per_second, brief),
    number("memory", "MB, peak", (row) => row.peak_memory_mb, whole),
    number("params", null, (row) => row.parameters, brief),
    number("steps", null, (row) => row.steps, brief),
    number("tokens", "read", (row) => row.tokens, brief),
    number("time", "whole run", (row) => row.wall_seconds, duration),
  );
  if (group.rows.some((row) => Object.keys(row.settings).length)) {
    columns.push({ title: "settings that differ", value: (row) => Object.entries(row.settings).map(([key, value]) => `${key}=${JSON.stringify(value)}`).join("; "), show: (row) => Object.entries(row.settings).map(([key, value]) => make("div", {}, make("code", {}, `${key}=${JSON.stringify(value)}`))) });
  }
  const line = (name, accuracy, what) => make("tr", {}, make("td", { title: what }, name), make("td"), make("td", { class: "number" }, accuracy), ...columns.slice(3).map(() => make("td")));
  const foot = [...Object.entries(group.references).map(([name, value]) => line(name.replaceAll("_", " "), fixed(value), "a reference without training")),
    ...group.published.map((row) => line(`${row.model}, published`, row.accuracy === null ? "no better than chance" : fixed(row.accuracy), row.source))];
  return sortable({ name: `${group.title} rows`, columns, rows: group.rows, foot, first: 2, said: methods(group) });
}

/** How the intervals and tests of a group came about. */
function methods(group) {
  const said = new Set(group.rows.map((row) => row.interval.method));
  const tests = new Set(group.rows.map((row) => row.difference.method).filter(Boolean));
  return `Intervals: ${[...said].join("; ")}.` + (tests.size ? ` Differences: ${[...tests].join("; ")}; p corrected for the rows (Holm).` : "");
}

function runTable(name, runs) {
  const columns = [
    { title: "variant", value: (run) => run.row, show: (run) => [swatch(styles.get(run.row)), " ", run.row] },
    { title: "status", value: (run) => run.status, show: (run) => [make("span", { class: `status ${run.status}` }, run.status), run.error ? make("span", { class: "error" }, run.error) : null] },
    { title: "seed", number: true, value: (run) => run.seed },
    { title: "test acc", number: true, value: (run) => run.accuracy, show: (run) => (run.accuracy === null || run.accuracy === undefined ? (run.status === "finished" ? "nan" : missing) : fixed(run.accuracy, 4)) },
    { title: "tested step", number: true, value: (run) => run.selected_step, show: (run) => whole(run.selected_step) },
    { title: "steps", number: true, value: (run) => run.steps, show: (run) => whole(run.steps) },
    { title: "tok/s", number: true, value: (run) => run.tokens_per_second, show: (run) => brief(run.tokens_per_second) },
    { title: "time", number: true, value: (run) => run.wall_seconds, show: (run) => duration(run.wall_seconds) },
    { title: "commit", hint: "+ where files differed from it", value: (run) => run.commit, show: (run) => make("code", {}, run.commit || missing) },
    { title: "folder", value: (run) => run.folder, show: (run) => make("code", {}, run.folder) },
    { title: "config, where not as usual in the group", wrap: true, value: (run) => run.differs.map(([key, own, usual]) => `${key}: ${own} (${usual})`).join("; "), show: differs },
    { title: "notes", wrap: true, value: (run) => run.notes.join("; "), show: (run) => run.notes.join("; ") || missing },
  ];
  return sortable({ name, columns, rows: runs, first: 0 });
}

function differs(run) {
  const items = run.differs.map(([key, own, usual]) => make("li", {}, make("code", {}, `${key}: ${own}`), make("small", {}, ` usual ${usual}`)));
  if (run.group === null) return make("small", {}, "no group to differ from");
  if (!items.length) return make("small", {}, "as usual");
  return items.length <= 2 ? make("ul", {}, items) : make("details", {}, make("summary", {}, plural(items.length, "value")), make("ul", {}, items));
}

function legend(variants) {
  const box = make("div", { class: "legend", role: "group", "aria-label": "Variants shown" });
  for (const name of variants) {
    const button = make("button", { type: "button", "aria-pressed": "true", "data-variant-button": name, title: `Show or hide ${name} everywhere` }, swatch(styles.get(name)), name);
    button.addEventListener("click", () => {
      state.hidden.has(name) ? state.hidden.delete(name) : state.hidden.add(name);
      update();
    });
    for (const [event, on] of [["pointerenter", true], ["focus", true], ["pointerleave", false], ["blur", false]]) {
      button.addEventListener(event, () => {
        const layers = button.closest("section").querySelectorAll("svg [data-variant]");
        layers.forEach((layer) => layer.classList.toggle("dim", on && layer.dataset.variant !== name));
      });
    }
    listeners.push(() => button.setAttribute("aria-pressed", String(!state.hidden.has(name))));
    box.append(button);
  }
  return box;
}

/** Figures that are drawn anew whenever the rows shown or the axes change. */
function figures(build) {
  const box = make("div", { class: "figures" });
  listeners.push(() => box.replaceChildren(...build().filter(Boolean)));
  return box;
}

function groupSection(group, i) {
  const shown = rowShown(i);
  const table = summary(group, i), runs = runsOf(i), runList = runTable(`${group.title} runs`, runs);
  listeners.push(() => table.refresh(shown), () => runList.refresh(runShown));
  const notes = [...group.notes, ...group.rows.flatMap((row) => row.notes.map((note) => `${row.variant}: ${note}`))];
  const curveRuns = runs.filter((run) => run.curves.series);
  const open = runs.some((run) => run.status !== "finished");
  return make("section", { class: "group", id: `group-${i}` },
    make("h2", {}, `${group.conditions.task}, ${conditionText("max_length", group.conditions.max_length)}, ${group.conditions.budget}`),
    make("ul", { class: "conditions" }, Object.entries(conditionNames).filter(([key]) => group.conditions[key]).map(([key, title]) => make("li", {}, `${title} `, make("b", {}, conditionText(key, group.conditions[key]))))),
    apart(i), table, notes.length ? make("ul", { class: "notes" }, notes.map((note) => make("li", {}, note))) : null,
    legend([...new Set([...group.rows.map((row) => row.variant), ...runs.map((run) => run.row)])]),
    figures(() => {
      const rows = group.rows.filter(shown);
      return [curves(group.title, curveRuns.filter(runShown), state.axis, state.metric, styles, references(group)), ...tradeoffs.map(([key, words]) => tradeoff(group, rows, key, words, styles)), byLength(group, rows, styles)];
    }),
    curveRuns.length < runs.length ? make("p", { class: "muted" }, make("small", {}, `${plural(runs.length - curveRuns.length, "run")} without learning curves: no metrics.csv beside the record.`)) : null,
    make("details", { open }, make("summary", {}, `${plural(runs.length, "run")}, each with what its config has otherwise than the group`), runList));
}

function lengthSection() {
  const isShown = (i, row) => rowShown(i)(row);
  const all = families(data.groups, () => true);
  if (!all.length) return null;
  return make("section", { class: "group" }, make("h2", {}, "Against length"), make("p", { class: "muted" }, "Runs that differ in length, of one task, protocol, encoder and machine. Speed and memory alone: accuracies at different lengths are of different groups."),
    legend([...new Set(all.flatMap((family) => family.rows.map((each) => each.variant)))]),
    figures(() => families(data.groups, isShown).flatMap((family) => [make("p", { class: "muted", style: "grid-column: 1 / -1; max-width: none" }, family.title),
      againstLength(family, "tokens_per_second", "Training speed against length", "tokens/s", true, styles), againstLength(family, "peak_memory_mb", "Peak memory against length", "MB", false, styles)])));
}

function tools() {
  const bar = document.getElementById("tools");
  bar.hidden = !data.runs.length;
  document.getElementById("filter").addEventListener("input", (event) => {
    state.query = event.target.value;
    update();
  });
  const axis = document.getElementById("axis");
  for (const name of Object.keys(axes)) {
    const button = make("button", { type: "button", role: "radio", "data-axis": name }, name);
    button.addEventListener("click", () => {
      state.axis = name;
      update();
    });
    listeners.push(() => button.setAttribute("aria-checked", String(state.axis === name)));
    axis.append(button);
  }
  const metric = document.getElementById("metric");
  const there = Object.keys(metrics).filter((name) => data.runs.some((run) => run.curves.series?.[name]));
  metric.append(...there.map((name) => make("option", { value: name }, metrics[name])));
  axis.hidden = metric.parentElement.hidden = !there.length;
  state.metric = there[0] ?? state.metric;
  metric.addEventListener("change", () => {
    state.metric = metric.value;
    update();
  });
}

document.getElementById("said").textContent = `${plural(finished.length, "finished run")} of ${plural(data.runs.length, "run")} in ${plural(data.groups.length, "group")}, from ${data.source}; made ${data.made}`;
document.getElementById("alerts").append(...alerts());
tools();
const homeless = data.runs.filter((run) => run.group === null);
const homelessTable = homeless.length ? runTable("runs without a group", homeless) : null;
if (homelessTable) listeners.push(() => homelessTable.refresh(runShown));
document.getElementById("main").append(...[
  data.groups.length > 1 ? overview() : null,
  ...data.groups.map(groupSection),
  lengthSection(),
  homelessTable ? make("section", { class: "group" }, make("h2", {}, "Not finished, with no finished runs beside them"), homelessTable) : null,
].filter(Boolean));
update();
