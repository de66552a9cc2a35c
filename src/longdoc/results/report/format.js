// Numbers, words and elements, shared by tables and figures.

const svgNamespace = "http://www.w3.org/2000/svg";

/** An element with attributes and children; text is always text, whatever a run is named. */
function make(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

function draw(name, attributes = {}, ...children) {
  return fill(document.createElementNS(svgNamespace, name), attributes, children);
}

function fill(element, attributes, children) {
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const missing = "–";

/** Three significant digits and a unit prefix: 12300 is 12.3k. */
function brief(value) {
  if (value === null || value === undefined) return missing;
  let prefix = "";
  for (const next of ["k", "M", "G", "T"]) {
    if (Math.abs(value) < 999.5) break;
    value /= 1000;
    prefix = next;
  }
  if (!prefix)
    return Number.isInteger(value) || Math.abs(value) >= 99.95 ? value.toFixed(0) : String(+value.toPrecision(3));
  return value.toPrecision(3) + prefix;
}

/** A tick of an axis: as few digits as tell it. */
function tickText(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return +(value / 1e9).toPrecision(4) + "G";
  if (size >= 1e6) return +(value / 1e6).toPrecision(4) + "M";
  if (size >= 1e3) return +(value / 1e3).toPrecision(4) + "k";
  return String(+value.toPrecision(4));
}

const minus = (text) => text.replace("-", "−");
const fixed = (value, digits = 3) => (value === null || value === undefined ? missing : minus(value.toFixed(digits)));
const signed = (value) => (typeof value === "number" && Math.abs(value) < 0.0005 ? "0.000" : withSign(value));
const withSign = (value) =>
  value === null || value === undefined ? missing : (value < 0 ? "" : "+") + minus(value.toFixed(3));
const whole = (value) => (value === null || value === undefined ? missing : Math.round(value).toLocaleString("en-US"));
const times = (value) => "×" + (value >= 99.95 ? value.toFixed(0) : value.toPrecision(3));

function probability(p) {
  if (p === null || p === undefined) return missing;
  return p < 0.001 ? "<0.001" : p.toFixed(3);
}

function duration(seconds) {
  if (seconds === null || seconds === undefined) return missing;
  if (seconds >= 3600) return +(seconds / 3600).toPrecision(3) + " h";
  return seconds >= 60 ? +(seconds / 60).toPrecision(3) + " min" : +seconds.toPrecision(3) + " s";
}

const plural = (count, word) => `${whole(count)} ${word}${count === 1 ? "" : "s"}`;

/** A link that makes its CSV when it is followed; rows are arrays, the first one the header. */
function csvLink(name, rows, text = "CSV") {
  const cell = (value) => {
    const plain = value === null || value === undefined ? "" : String(value);
    return /[",\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
  };
  const file =
    name
      .replace(/[^a-z0-9]+/gi, "_")
      .replace(/^_|_$/g, "")
      .toLowerCase() + ".csv";
  const link = make("a", { href: "#", class: "csv", download: file, title: `Download ${file}` }, text);
  link.addEventListener("click", () => {
    link.href =
      "data:text/csv;charset=utf-8," +
      encodeURIComponent(
        rows()
          .map((row) => row.map(cell).join(","))
          .join("\n") + "\n",
      );
  });
  return link;
}
