// The page: a section for each group of rows that may be compared.

function legend(variants) {
  const box = make("div", { class: "legend", role: "group", "aria-label": "Variants shown" });
  for (const name of variants) {
    const button = make(
      "button",
      { type: "button", "aria-pressed": "true", "data-variant-button": name, title: `Show or hide ${name} everywhere` },
      swatch(styles.get(name)),
      name,
    );
    button.addEventListener("click", () => {
      state.hidden.has(name) ? state.hidden.delete(name) : state.hidden.add(name);
      update();
    });
    for (const [event, on] of [
      ["pointerenter", true],
      ["focus", true],
      ["pointerleave", false],
      ["blur", false],
    ]) {
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
  const table = summary(group, i),
    runs = runsOf(i),
    runList = runTable(`${group.title} runs`, runs);
  listeners.push(
    () => table.refresh(shown),
    () => runList.refresh(runShown),
  );
  const notes = [...group.notes, ...group.rows.flatMap((row) => row.notes.map((note) => `${row.variant}: ${note}`))];
  const curveRuns = runs.filter((run) => run.curves.series);
  const open = runs.some((run) => run.status !== "finished");
  return make(
    "section",
    { class: "group", id: `group-${i}` },
    make(
      "h2",
      {},
      ["task", "data", "max_length", "budget"]
        .filter((key) => group.conditions[key])
        .map((key) => conditionText(key, group.conditions[key]))
        .join(", "),
    ),
    make(
      "ul",
      { class: "conditions" },
      Object.entries(conditionNames)
        .filter(([key]) => group.conditions[key])
        .map(([key, title]) => make("li", {}, `${title} `, make("b", {}, conditionText(key, group.conditions[key])))),
    ),
    apart(i),
    table,
    notes.length
      ? make(
          "ul",
          { class: "notes" },
          notes.map((note) => make("li", {}, note)),
        )
      : null,
    legend([...new Set([...group.rows.map((row) => row.variant), ...runs.map((run) => run.row)])]),
    figures(() => {
      const rows = group.rows.filter(shown);
      return [
        curves(
          group.title,
          curveRuns.filter(runShown),
          state.axis,
          state.metric,
          styles,
          group.parts.length > 1 ? [] : references(group),
        ),
        ...group.parts.flatMap((part, p) => {
          const own = rows.filter((row) => row.part === p);
          const of = group.parts.length > 1 ? `, ${part.name}` : "";
          return [
            ...tradeoffs.map(([key, words]) => tradeoff(group, part, of, own, key, words, styles)),
            byLength(group, part, of, own, styles),
          ];
        }),
      ];
    }),
    curveRuns.length < runs.length
      ? make(
          "p",
          { class: "muted" },
          make(
            "small",
            {},
            `${plural(runs.length - curveRuns.length, "run")} without a metrics.csv: no learning curves.`,
          ),
        )
      : null,
    make(
      "details",
      { open },
      make("summary", {}, `${plural(runs.length, "run")}, each with what its config has otherwise than the group`),
      runList,
    ),
  );
}

function lengthSection() {
  const isShown = (i, row) => rowShown(i)(row);
  const all = families(data.groups, () => true);
  if (!all.length) return null;
  return make(
    "section",
    { class: "group" },
    make("h2", {}, "Against length"),
    make(
      "p",
      { class: "muted" },
      "Runs that differ in length, of one task, protocol, encoder and machine. ",
      "Speed and memory alone: accuracies at different lengths are of different groups.",
    ),
    legend([...new Set(all.flatMap((family) => family.rows.map((each) => each.variant)))]),
    figures(() =>
      families(data.groups, isShown).flatMap((family) => [
        make("p", { class: "muted", style: "grid-column: 1 / -1; max-width: none" }, family.title),
        againstLength(family, "tokens_per_second", "Training speed against length", "tokens/s", true, styles),
        againstLength(family, "peak_memory_mb", "Peak memory against length", "MB", false, styles),
      ]),
    ),
  );
}

/** Runs that are not finished and whose task, protocol, length or budget no finished run has. */
function homelessSection() {
  const table = runTable("runs without a group", homeless);
  listeners.push(() => table.refresh(runShown));
  return make(
    "section",
    { class: "group" },
    make("h2", {}, "Not finished, with no finished runs beside them"),
    table,
    legend([...new Set(homeless.map((run) => run.row))]),
    figures(() =>
      [...new Set(homeless.map((run) => run.conditions))].map((conditions) =>
        curves(
          conditions,
          homeless.filter((run) => run.conditions === conditions && runShown(run)),
          state.axis,
          state.metric,
          styles,
          [],
        ),
      ),
    ),
  );
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

document.getElementById("said").textContent =
  `${plural(finished.length, "finished run")} of ${plural(data.runs.length, "run")} in ` +
  `${plural(data.groups.length, "group")}, from ${data.source}; made ${data.made}`;
document.getElementById("alerts").append(...alerts());
tools();
const homeless = data.runs.filter((run) => run.group === null);
document
  .getElementById("main")
  .append(
    ...[
      data.groups.length > 1 ? overview() : null,
      ...data.groups.map(groupSection),
      lengthSection(),
      homeless.length ? homelessSection() : null,
    ].filter(Boolean),
  );
update();
