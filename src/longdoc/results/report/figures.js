// Which figures there are, and what each draws of the rows and runs that are shown.

const axes = { steps: "optimizer steps", tokens: "tokens read", seconds: "training time" };
const metrics = {
  "val/accuracy": "Validation accuracy",
  "val/loss": "Validation loss",
  "val/f1_macro": "Validation F1, macro",
  "train/loss": "Training loss",
};

/** Tokens or seconds at a step, from the knots of the run. */
function along(run, axis, step) {
  const knots = run.curves.axes.steps,
    values = run.curves.axes[axis];
  if (axis === "steps") return step;
  if (!values.length) return null;
  let i = knots.findIndex((knot) => knot >= step);
  if (i < 0) i = knots.length - 1;
  const [from, start] = i ? [knots[i - 1], values[i - 1]] : [0, 0];
  return knots[i] === from ? values[i] : start + ((step - from) / (knots[i] - from)) * (values[i] - start);
}

function runName(run) {
  return `${run.row}, seed ${run.seed}${run.status === "finished" ? "" : `, ${run.status}`}`;
}

/** A curve for each run; of noisy ones the values as logged, faint, below their running mean. */
function curves(title, runs, axis, metric, styles, references) {
  const drawn = runs.filter((run) => run.curves.series?.[metric] && along(run, axis, 1) !== null);
  if (!drawn.length) return null;
  const last = Math.max(...drawn.map((run) => along(run, axis, run.curves.series[metric].steps.at(-1))));
  const [unit, size] =
    axis !== "seconds" ? ["", 1] : last > 7200 ? [", hours", 3600] : last > 180 ? [", minutes", 60] : [", seconds", 1];
  const series = drawn.flatMap((run) => {
    const { steps, values, mean } = run.curves.series[metric];
    const line = (numbers, raw) => ({
      variant: run.row,
      style: { ...styles.get(run.row), dash: run.status === "finished" ? styles.get(run.row).dash : "1 4" },
      line: true,
      raw,
      marks: !raw && steps.length === 1,
      points: steps.map((step, i) => ({
        x: along(run, axis, step) / size,
        y: numbers[i],
        mark: !raw && metric !== "train/loss" && step === run.selected_step,
        tip: raw
          ? null
          : () =>
              [
                runName(run),
                `${metric} ${fixed(numbers[i], 4)} at step ${whole(step)}`,
                `${whole(along(run, "tokens", step))} tokens, ${duration(along(run, "seconds", step))}`,
              ].join("\n"),
      })),
    });
    return mean ? [line(values, true), line(mean, false)] : [line(values, false)];
  });
  const without = runs.length - drawn.length;
  return chart({
    title: `${metrics[metric]} against ${axes[axis]}`,
    file: `${title} ${metric} curves`,
    wide: true,
    note:
      `${title}. ` +
      (metric === "train/loss"
        ? "A line is a run's running mean over a twentieth of its length; faint, the loss as logged"
        : "A line is a run; the marker is the checkpoint that was tested; dotted, a run that is not finished"),
    foot: without ? `${plural(without, "run")} without this curve` : "",
    x: { title: axes[axis] + unit, zero: true, tight: true },
    y: { title: metric },
    series,
    references: metric === "val/accuracy" ? references : [],
    csv: () => [
      ["run", "variant", "seed", "status", "step", "tokens", "seconds", metric, "running_mean"],
      ...drawn.flatMap((run) => {
        const { steps, values, mean } = run.curves.series[metric];
        return steps.map((step, i) => [
          run.id,
          run.row,
          run.seed,
          run.status,
          step,
          along(run, "tokens", step),
          along(run, "seconds", step),
          values[i],
          mean?.[i],
        ]);
      }),
    ],
  });
}

/** The points that none surpasses in both, by what they cost or bring on the x axis. */
function frontier(points, better) {
  const order = [...points].sort((a, b) => (better === "right" ? b.x - a.x : a.x - b.x) || b.y - a.y);
  const kept = [];
  for (const point of order) if (!kept.length || point.y > kept.at(-1).y) kept.push(point);
  if (better === "right") kept.reverse();
  return kept.map((point) => [point.x, point.y]);
}

const limits = ({ interval }) => (interval.low === null ? "" : ` [${fixed(interval.low)}, ${fixed(interval.high)}]`);

/** Test accuracy against what it costs, of rows on the same documents; `of` says on which, where there are others. */
function tradeoff(group, part, of, rows, key, words, styles) {
  const shown = rows.filter((row) => row.accuracy.mean !== null && row[key] > 0);
  if (!shown.length) return null;
  const value = (row) => row[key] * words.unit;
  const series = shown.map((row) => ({
    variant: row.variant,
    style: styles.get(row.variant),
    marks: true,
    label: row.variant + (words.marked && !row.like_softmax ? "*" : ""),
    points: [
      {
        x: value(row),
        y: row.accuracy.mean,
        low: row.interval.low,
        high: row.interval.high,
        tip: () =>
          [
            row.variant,
            `test accuracy ${fixed(row.accuracy.mean, 4)}${limits(row)}`,
            `${brief(value(row))} ${words.axis}`,
            row.measured,
          ].join("\n"),
      },
    ],
  }));
  const unlike = words.marked && shown.some((row) => !row.like_softmax);
  const left = rows.length - shown.length;
  return chart({
    title: words.title + of,
    file: `${group.title} ${words.title}${of}`,
    series,
    better: words.better,
    references: references(part),
    note: `Dotted, the frontier: no other row is better in both. Whiskers, 95 %`,
    foot: [
      unlike ? "* measured under other conditions than softmax" : "",
      left ? `${plural(left, "row")} without these numbers` : "",
    ]
      .filter(Boolean)
      .join("; "),
    frontier: frontier(
      series.map((each) => each.points[0]),
      words.better,
    ),
    x: { title: words.axis, log: words.log, pad: 0.14 },
    y: { title: "test accuracy" },
    csv: () => [
      ["variant", "runs", key, "test_accuracy", "low", "high", "interval", "measured"],
      ...shown.map((row) => [
        row.variant,
        row.n,
        row[key],
        row.accuracy.mean,
        row.interval.low,
        row.interval.high,
        row.interval.method,
        row.measured,
      ]),
    ],
  });
}

const tradeoffs = [
  [
    "tokens_per_second",
    {
      title: "Accuracy against training speed",
      axis: "tokens/s in training",
      unit: 1,
      log: true,
      better: "right",
      marked: true,
    },
  ],
  [
    "peak_memory_mb",
    { title: "Accuracy against memory", axis: "MB, peak of the training process", unit: 1, log: false, better: "left" },
  ],
];

/** Of a group, or of a part of it. */
const references = (held) =>
  Object.entries(held.references)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => ({ name, value }));

/** Test accuracy of documents by their length, in tokens before any was cut; none if all are in one range. */
function byLength(group, part, of, rows, styles) {
  const ranges = [...new Set(rows.flatMap((row) => row.by_length.map((bin) => bin.from)))].sort((a, b) => a - b);
  const shown = rows.filter((row) => row.by_length.length);
  if (ranges.length < 2) return null;
  const name = (bin) => (bin.to ? `${whole(bin.from)}–${whole(bin.to)}` : whole(bin.from));
  const bins = ranges.map((from) => shown.flatMap((row) => row.by_length).find((bin) => bin.from === from));
  const apart = Math.min(0.06, 0.5 / shown.length);
  return chart({
    title: "Accuracy by length of the document" + of,
    file: `${group.title} accuracy by length${of}`,
    wide: true,
    note: "Below each range, its test documents; whiskers, 95 % of a single run by their number (Wilson)",
    x: {
      title: "tokens of a document",
      ticks: bins.map((bin, i) => ({ value: i, text: `${name(bin)} (${whole(bin.documents)})` })),
      pad: 0.08,
    },
    y: { title: "test accuracy" },
    references: references(part),
    series: shown.map((row, r) => ({
      variant: row.variant,
      style: styles.get(row.variant),
      line: true,
      marks: true,
      points: row.by_length.map((bin) => ({
        x: ranges.indexOf(bin.from) + (r - (shown.length - 1) / 2) * apart,
        y: bin.accuracy,
        low: bin.low,
        high: bin.high,
        tip: () =>
          [
            row.variant,
            `${name(bin)} tokens, ${plural(bin.documents, "document")}, ${Math.round(100 * bin.read)} % read`,
            `accuracy ${fixed(bin.accuracy)}${limits({ interval: bin })}, ${plural(bin.n, "run")}`,
          ].join("\n"),
      })),
    })),
    csv: () => {
      const columns = ["from", "to", "documents", "n", "accuracy", "low", "high", "read"];
      const cells = (row) => row.by_length.map((bin) => [row.variant, ...columns.map((column) => bin[column])]);
      return [["variant", ...columns], ...shown.flatMap(cells)];
    },
  });
}

/** Rows of groups that differ in length alone, measured alike: [{title, rows: [{variant, length, row, group}]}]. */
function families(groups, isShown) {
  const found = new Map();
  groups.forEach((group, i) => {
    const length = group.conditions.max_length;
    const shared = ["task", "data", "protocol", "encoder", "source"].map((key) => group.conditions[key]);
    for (const row of group.rows) {
      if (typeof length !== "number" || !row.tokens_per_second || !isShown(i, row)) continue;
      const name = [...shared, row.measured].filter(Boolean).join(" · ");
      if (!found.has(name)) found.set(name, []);
      found.get(name).push({ variant: row.variant, length, row, group });
    }
  });
  return [...found]
    .map(([title, rows]) => ({ title, rows }))
    .filter(({ rows }) => new Set(rows.map((each) => each.length)).size > 1);
}

/** Speed or memory of each variant against the length. */
function againstLength(family, key, title, axis, log, styles) {
  const shown = family.rows.filter(({ row }) => row[key] > 0);
  if (!shown.length) return null;
  const lengths = [...new Set(family.rows.map((each) => each.length))].sort((a, b) => a - b);
  return chart({
    title,
    file: `${family.title} ${title}`,
    x: {
      title: "tokens of a document, at most",
      log: true,
      ticks: lengths.map((value) => ({ value, text: whole(value) })),
    },
    y: { title: axis, log, zero: !log },
    series: [...new Set(shown.map((each) => each.variant))].map((name) => ({
      variant: name,
      style: styles.get(name),
      line: true,
      marks: true,
      points: shown
        .filter((each) => each.variant === name)
        .sort((a, b) => a.length - b.length)
        .map(({ length, row, group }) => ({
          x: length,
          y: row[key],
          tip: () => `${name}, ${whole(length)} tokens\n${brief(row[key])} ${axis}\n${group.title}`,
        })),
    })),
    csv: () => [
      ["variant", "max_length", key, "runs", "group", "measured"],
      ...shown.map(({ variant, length, row, group }) => [variant, length, row[key], row.n, group.title, row.measured]),
    ],
  });
}
