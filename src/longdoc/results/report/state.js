// What the page holds: the data, what is chosen of it, and which rows and runs that leaves.

const data = JSON.parse(document.getElementById("data").textContent);
const state = { query: "", axis: "steps", metric: "val/accuracy", hidden: new Set() };
const listeners = [];
const update = () => listeners.forEach((listen) => listen());

const finished = data.runs.filter((run) => run.status === "finished");
const names = [
  ...new Set([
    ...data.groups.flatMap((group) => group.rows.map((row) => row.variant)),
    ...data.runs.map((run) => run.row),
  ]),
];
const styles = makeStyles(names);

const runsOf = (i) => data.runs.filter((run) => run.group === i);
const runText = (run) =>
  [
    run.row,
    `seed ${run.seed}`,
    run.id,
    run.status,
    run.folder,
    run.conditions,
    run.error,
    ...run.differs.map(([key, own]) => `${key}=${own}`),
  ].join(" ");
const rowText = (i, row) =>
  [
    row.variant,
    data.groups[i].title,
    "finished",
    ...row.seeds.map((seed) => `seed ${seed}`),
    ...Object.entries(row.settings).map(([key, value]) => `${key}=${value}`),
    ...runsOf(i)
      .filter((run) => run.row === row.variant && run.status === "finished")
      .map((run) => run.id + " " + run.folder),
  ].join(" ");
const rowShown = (i) => (row) => !state.hidden.has(row.variant) && matches(state.query, rowText(i, row));
const runShown = (run) => !state.hidden.has(run.row) && matches(state.query, runText(run));
