// Tables that sort by any column and show what the filter leaves.

/**
 * columns: [{title, unit?, hint?, number?, wrap?, value(row), show?(row) -> text or elements}]; rows: any objects.
 * Returns an element whose `refresh(visible)` shows the rows for which visible(row) is true.
 */
function sortable({ name, columns, rows, foot = [], first = null, said = "" }) {
  let by = first,
    down = true;
  const body = make("tbody");
  const lines = rows.map((row) => ({
    row,
    line: make(
      "tr",
      { "data-variant": row.row ?? row.variant },
      columns.map((column) => cell(column, row)),
    ),
  }));
  const count = make("span");
  const heads = columns.map((column, i) => {
    const button = make("button", { type: "button", title: column.hint, onclick: () => sort(i) }, column.title);
    return make(
      "th",
      { scope: "col", class: column.number ? "number" : null, "aria-sort": "none" },
      button,
      column.unit ? make("small", {}, column.unit) : null,
    );
  });
  let visible = () => true;

  function sort(i) {
    down = by === i ? !down : Boolean(columns[i].number);
    by = i;
    arrange();
  }

  function arrange() {
    const order =
      by === null
        ? lines
        : [...lines].sort((a, b) => compareValues(columns[by].value(a.row), columns[by].value(b.row), down));
    const shown = order.filter(({ row }) => visible(row));
    body.replaceChildren(...shown.map(({ line }) => line));
    heads.forEach((head, i) => head.setAttribute("aria-sort", i !== by ? "none" : down ? "descending" : "ascending"));
    count.textContent =
      shown.length === rows.length ? plural(rows.length, "row") : `${shown.length} of ${plural(rows.length, "row")}`;
  }

  const csv = () => [
    columns.map((column) => column.title + (column.unit ? ` (${column.unit})` : "")),
    ...rows.filter((row) => visible(row)).map((row) => columns.map((column) => column.value(row))),
  ];
  const box = make(
    "div",
    { class: "table" },
    make(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": name },
      make(
        "table",
        { "data-table": name },
        make("thead", {}, make("tr", {}, heads)),
        body,
        foot.length ? make("tfoot", {}, foot) : null,
      ),
    ),
    make("div", { class: "foot" }, make("span", {}, count, said ? ` · ${said}` : ""), csvLink(name, csv)),
  );
  box.refresh = (test) => {
    visible = test;
    arrange();
  };
  arrange();
  return box;
}

function cell(column, row) {
  const content = column.show ? column.show(row) : (column.value(row) ?? missing);
  return make(
    "td",
    { class: [column.number ? "number" : "", column.wrap ? "wrap" : ""].join(" ").trim() || null },
    content,
  );
}

/** Numbers by size, others as words; what is missing comes last either way. */
function compareValues(a, b, down) {
  const none = (value) => value === null || value === undefined;
  if (none(a) || none(b)) return none(a) - none(b);
  const order =
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });
  return down ? -order : order;
}

/** Whether words, all wanted and none forbidden by a minus, stand in a text. */
function matches(query, text) {
  const held = text.toLowerCase();
  return query
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((word) => word && word !== "-")
    .every((word) => (word.startsWith("-") ? !held.includes(word.slice(1)) : held.includes(word)));
}

/** A row's interval drawn: dot and whiskers, between the least and the greatest of its group; softmax as a hairline. */
function forest(row, style, [low, high], base) {
  const width = 150,
    at = (value) => 6 + ((value - low) / (high - low || 1)) * (width - 12);
  const picture = draw("svg", { width, height: 18, viewBox: `0 0 ${width} 18`, "aria-hidden": "true" });
  if (base !== null) picture.append(draw("line", { class: "reference", x1: at(base), x2: at(base), y1: 0, y2: 18 }));
  if (row.accuracy.mean === null) return picture;
  if (row.interval.low !== null) {
    picture.append(
      draw("line", {
        class: "whisker",
        stroke: style.color,
        x1: at(row.interval.low),
        x2: at(row.interval.high),
        y1: 9,
        y2: 9,
      }),
    );
  }
  picture.append(glyph(style, at(row.accuracy.mean), 9));
  return picture;
}
