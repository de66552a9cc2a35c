// A small chart: linear or logarithmic axes, lines, points with whiskers, labels, a tooltip; redrawn at any width.

const dashes = ["", "6 3", "2 3", "8 3 2 3"];
const markers = [
  "M-4,0a4,4 0 1,0 8,0a4,4 0 1,0 -8,0", // circle
  "M-3.6,-3.6h7.2v7.2h-7.2z", // square
  "M0,-5L5,0L0,5L-5,0z", // diamond
  "M0,-4.8L4.6,3.6H-4.6z", // triangle
  "M0,4.8L4.6,-3.6H-4.6z", // triangle upside down
  "M-1.6,-4.6h3.2v3h3v3.2h-3v3h-3.2v-3h-3v-3.2h3z", // plus
];
const cross = "M-4,-4L4,4M-4,4L4,-4";

/** The look of each variant, the same in every figure: softmax's in ink, others' by colour, marker and dash. */
function makeStyles(names) {
  const styles = new Map();
  let i = 0,
    inked = 0;
  for (const name of names) {
    if (/^softmax\b/.test(name)) {
      styles.set(name, {
        color: "var(--ink)",
        marker: [cross, ...markers][inked % 7],
        dash: inked ? dashes[(inked + 1) % 4] : "5 3",
        open: true,
      });
      inked += 1;
    } else {
      const turn = Math.floor(i / 6);
      styles.set(name, {
        color: `var(--s${i % 6})`,
        marker: markers[(i + turn) % markers.length],
        dash: dashes[turn % dashes.length],
      });
      i += 1;
    }
  }
  return styles;
}

function glyph(style, x, y, attributes = {}) {
  return draw("path", {
    d: style.marker,
    class: "glyph",
    transform: `translate(${x} ${y})`,
    stroke: style.color,
    fill: style.open ? "none" : style.color,
    ...attributes,
  });
}

/** A marker of its own, as in a legend or a table. */
function swatch(style) {
  return draw("svg", { width: 14, height: 14, viewBox: "-7 -7 14 14", "aria-hidden": "true" }, glyph(style, 0, 0));
}

function niceTicks(low, high, count) {
  const raw = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((part) => part * power).find((size) => size >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i += 1) ticks.push(i * step);
  return ticks;
}

function logTicks(low, high, count) {
  const all = (parts) => {
    const ticks = [];
    for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e += 1) {
      for (const part of parts) {
        const tick = part * 10 ** e;
        if (tick >= low * 0.999 && tick <= high * 1.001) ticks.push(tick);
      }
    }
    return ticks;
  };
  for (const parts of [[1, 2, 3, 5, 7], [1, 2, 5], [1, 3], [1]]) {
    const ticks = all(parts);
    if (ticks.length <= count)
      return ticks.length >= 2 ? ticks : niceTicks(low, high, Math.min(count, 4)).filter((tick) => tick > 0);
  }
  const decades = all([1]);
  return decades.filter((_, i) => i % Math.ceil(decades.length / count) === 0);
}

function scale(values, { log = false, zero = false, pad = 0.06, ticks = null, tight = false }, from, to, count) {
  let low = Math.min(...values),
    high = Math.max(...values);
  const forward = log ? Math.log : (value) => value;
  if (zero) low = Math.min(0, low);
  if (low === high)
    [low, high] = log
      ? [low / 1.5, high * 1.5]
      : [low - (Math.abs(low) * 0.1 || 1), high + (Math.abs(high) * 0.1 || 1)];
  const room = tight ? 0 : pad * (forward(high) - forward(low));
  const start = zero && low === 0 ? 0 : forward(low) - room,
    end = forward(high) + room;
  const undo = log ? Math.exp : (value) => value;
  const at = (value) => from + ((forward(value) - start) / (end - start)) * (to - from);
  at.ticks =
    ticks ??
    (log ? logTicks : niceTicks)(undo(start), undo(end), count).map((value) => ({ value, text: tickText(value) }));
  at.inside = (value) => forward(value) >= start && forward(value) <= end;
  return at;
}

/**
 * A figure. spec: title, note, x and y {title, log, zero, ticks, tight}, references [{name, value}] as horizontal
 * lines, frontier [[x, y]], csv () => rows, and series [{variant, style, line, raw, marks, label, points}], its points
 * {x, y, low, high, mark, tip () => text}.
 */
function chart(spec) {
  const box = draw("svg", {
    class: "chart",
    role: "img",
    "aria-label": `${spec.title}; its data is in the CSV beside it`,
  });
  const figure = make(
    "figure",
    { class: spec.wide ? "wide" : null, "data-figure": spec.title },
    make("figcaption", {}, spec.title, spec.note ? make("small", {}, spec.note) : null),
    box,
    make("div", { class: "foot" }, make("span", {}, spec.foot ?? ""), csvLink(spec.file ?? spec.title, spec.csv)),
  );
  let width = 0;
  const observer = new ResizeObserver(([entry]) => {
    const now = Math.round(entry.contentRect.width);
    if (now && now !== width) {
      width = now;
      paint(box, spec, width, spec.wide ? 330 : 260);
    }
  });
  observer.observe(figure);
  return figure;
}

function paint(box, spec, width, height) {
  box.replaceChildren();
  box.setAttribute("viewBox", `0 0 ${width} ${height}`);
  box.style.height = `${height}px`;
  const points = spec.series.flatMap((series) => series.points);
  const drawn = points.filter((point) => point.y !== null);
  if (!drawn.length) {
    box.append(
      draw(
        "text",
        { x: width / 2, y: height / 2, "text-anchor": "middle" },
        points.length ? "every value is nan" : "no row to draw",
      ),
    );
    return;
  }
  const edge = { left: 46, right: 14, top: 24, bottom: 40 };
  const x = scale(
    drawn.map((point) => point.x),
    spec.x,
    edge.left,
    width - edge.right,
    Math.max(2, Math.floor(width / 90)),
  );
  const heights = drawn.flatMap((point) => [point.y, point.low ?? point.y, point.high ?? point.y]);
  const y = scale(heights, spec.y, height - edge.bottom, edge.top, 5);
  for (const { value, text } of y.ticks) {
    box.append(draw("line", { class: "grid", x1: edge.left, x2: width - edge.right, y1: y(value), y2: y(value) }));
    box.append(draw("text", { x: edge.left - 7, y: y(value) + 4, "text-anchor": "end" }, minus(text)));
  }
  for (const { value, text } of x.ticks) {
    box.append(
      draw("line", {
        class: "axis",
        x1: x(value),
        x2: x(value),
        y1: height - edge.bottom,
        y2: height - edge.bottom + 4,
      }),
    );
    box.append(draw("text", { x: x(value), y: height - edge.bottom + 17, "text-anchor": "middle" }, minus(text)));
  }
  box.append(
    draw("line", {
      class: "axis",
      x1: edge.left,
      x2: width - edge.right,
      y1: height - edge.bottom,
      y2: height - edge.bottom,
    }),
  );
  box.append(draw("text", { x: edge.left - 40, y: 12 }, spec.y.title));
  box.append(draw("text", { x: width - edge.right, y: height - 5, "text-anchor": "end" }, spec.x.title));
  const taken = drawn.map((point) => ({ x: x(point.x) - 6, y: y(point.y) - 6, width: 12, height: 12 }));
  for (const { name, value } of spec.references ?? []) {
    if (!y.inside(value)) continue;
    box.append(draw("line", { class: "reference", x1: edge.left, x2: width - edge.right, y1: y(value), y2: y(value) }));
  }
  if (spec.frontier?.length) {
    const [first, ...rest] = spec.frontier.map(([at, up]) => [x(at), y(up)]);
    box.append(
      draw("path", {
        class: "frontier",
        d: `M${first}` + rest.map(([at, up]) => (spec.better === "right" ? `V${up}H${at}` : `H${at}V${up}`)).join(""),
      }),
    );
  }
  const targets = [];
  for (const series of spec.series) {
    const layer = draw("g", { "data-variant": series.variant });
    if (series.line) layer.append(path(series.points, x, y, series, series.raw ? "raw" : "line"));
    for (const point of series.points.filter((each) => each.y !== null)) {
      const at = [x(point.x), y(point.y)];
      if (point.low !== undefined && point.low !== null) {
        layer.append(
          draw("line", {
            class: "whisker",
            stroke: series.style.color,
            x1: at[0],
            x2: at[0],
            y1: y(point.low),
            y2: y(point.high),
          }),
        );
      }
      if (series.marks || point.mark) layer.append(glyph(series.style, ...at));
      if (point.tip) targets.push({ at, tip: point.tip, variant: series.variant });
    }
    box.append(layer);
  }
  for (const series of spec.series.filter((each) => each.label)) {
    for (const point of series.points) if (point.y !== null) label(box, series, x(point.x), y(point.y), width, taken);
  }
  for (const { name, value } of (spec.references ?? []).filter((each) => y.inside(each.value))) {
    const text = name.replaceAll("_", " ");
    place(
      box,
      text,
      [
        [width - edge.right, y(value) - 4, "end"],
        [edge.left + 4, y(value) - 4, "start"],
        [width - edge.right, y(value) + 13, "end"],
        [edge.left + 4, y(value) + 13, "start"],
        [width / 2, y(value) - 4, "middle"],
      ],
      width,
      taken,
      { "font-style": "italic" },
    );
  }
  tooltip(box, targets);
}

/** A line with gaps where a value is missing. */
function path(points, x, y, series, kind) {
  let d = "",
    pen = false;
  for (const point of points) {
    if (point.y === null) pen = false;
    else {
      d += `${pen ? "L" : "M"}${x(point.x).toFixed(1)},${y(point.y).toFixed(1)}`;
      pen = true;
    }
  }
  return draw("path", {
    class: kind,
    d,
    stroke: series.style.color,
    "stroke-dasharray": kind === "raw" ? null : series.style.dash,
  });
}

/** Writes a point's name beside it. */
function label(box, series, x, y, width, taken) {
  const places = [
    [x + 9, y + 4, "start"],
    [x - 9, y + 4, "end"],
    [x, y - 10, "middle"],
    [x, y + 19, "middle"],
    [x + 9, y - 9, "start"],
    [x + 9, y + 17, "start"],
    [x - 9, y - 9, "end"],
    [x - 9, y + 17, "end"],
  ];
  place(box, series.label, places, width, taken, { "data-variant": series.variant });
}

/** Writes a text at the first of some places [x, y, anchor] where it covers nothing; nowhere if there is none. */
function place(box, text, places, width, taken, attributes) {
  const long = text.length * 6.3,
    high = 13;
  const boxes = places.map(([at, base, anchor]) => ({
    x: at - { start: 0, end: long, middle: long / 2 }[anchor],
    y: base - 10,
    width: long,
    height: high,
  }));
  const clear = (mine) =>
    mine.x >= 46 &&
    mine.x + mine.width <= width &&
    !taken.some(
      (other) =>
        mine.x < other.x + other.width &&
        other.x < mine.x + mine.width &&
        mine.y < other.y + other.height &&
        other.y < mine.y + mine.height,
    );
  const best = boxes.findIndex(clear);
  if (best < 0) return; // colour, marker and tooltip tell it
  taken.push(boxes[best]);
  const [at, base, anchor] = places[best];
  box.append(draw("text", { class: "label", x: at, y: base, "text-anchor": anchor, ...attributes }, text));
}

function tooltip(box, targets) {
  const tip = document.getElementById("tip");
  const spot = draw("circle", { r: 6, fill: "none", stroke: "var(--ink)", "stroke-width": 1.2, visibility: "hidden" });
  box.append(spot);
  box.onpointermove = (event) => {
    const frame = box.getBoundingClientRect();
    const distance = ({ at }) => Math.hypot(at[0] - event.clientX + frame.left, at[1] - event.clientY + frame.top);
    const near = targets.reduce((best, each) => (distance(each) < distance(best) ? each : best));
    const hidden = distance(near) > 40;
    tip.hidden = hidden;
    spot.setAttribute("visibility", hidden ? "hidden" : "visible");
    if (hidden) return;
    spot.setAttribute("cx", near.at[0]);
    spot.setAttribute("cy", near.at[1]);
    tip.textContent = near.tip();
    const left = frame.left + near.at[0] + 14;
    const over = left + tip.offsetWidth > document.documentElement.clientWidth - 8;
    tip.style.left = `${window.scrollX + Math.max(8, over ? left - tip.offsetWidth - 28 : left)}px`;
    tip.style.top = `${window.scrollY + frame.top + near.at[1] - tip.offsetHeight - 10}px`;
  };
  box.onpointerleave = () => {
    tip.hidden = true;
    spot.setAttribute("visibility", "hidden");
  };
}
