// The parts of the script in the order in which the page has them: elements.js, timeline.js, plan.js, sections.js,
// runs.js.
"use strict";
(() => {
const began = performance.now();
const runs = [...document.querySelectorAll("script.run")].map(script => JSON.parse(script.textContent));
const main = document.getElementById("runs"), tip = document.getElementById("tip");
main.classList.toggle("two", runs.length > 1);

// ---- Text ----

const digits = (number, places) => number.toLocaleString("en", {maximumFractionDigits: places});
const count = number => digits(number, 0);
function time(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return "0";
  if (size < 1e-6) return digits(seconds * 1e9, 0) + " ns";
  if (size < 1e-3) return digits(seconds * 1e6, size < 1e-5 ? 2 : 1) + " µs";
  if (size < 1) return digits(seconds * 1e3, size < 1e-2 ? 2 : 1) + " ms";
  return digits(seconds, size < 10 ? 2 : 1) + " s";
}
/// Seconds since the beginning of 1970, UTC, as a local date and time: 2026-11-30 20:17.
function date(seconds) {
  const local = new Date(seconds * 1000), two = number => String(number).padStart(2, "0");
  return `${local.getFullYear()}-${two(local.getMonth() + 1)}-${two(local.getDate())} ${two(local.getHours())}:${two(local.getMinutes())}`;
}
/// A place on a scale with such steps, in nanoseconds.
function place(at, step) {
  const [size, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]].find(([size]) => at >= size) ?? [1, "ns"];
  return digits(at / size, Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9))) + " " + unit;
}
function bytes(number) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  for (; number >= 1024 && unit < 4; ++unit) number /= 1024;
  return digits(number, unit === 0 ? 0 : 1) + " " + units[unit];
}
const percent = share => digits(share * 100, share !== 0 && Math.abs(share) < 0.1 ? 1 : 0) + " %";
const plural = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
const ratio = (a, b) => b > 0 ? digits(a / b, a / b < 10 ? 2 : 0) + " ×" : "–";

/// The last index of a sorted list with a value of at most `limit`; -1: none.
function last(list, limit) {
  let low = 0, high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

// ---- Elements ----

function add(parent, name, content = "", attributes = {}) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(content);
  parent.append(element);
  return element;
}
function section(title, note, both = false) {
  const element = add(main, "section");
  if (both) element.className = "both";
  add(element, "h2", title);
  if (note) add(element, "p", note, {class: "note"});
  return element;
}
const colour = name => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
const naming = run => run.name ? ` – ${run.name}` : "";

function legend(parent, entries) {
  const list = add(parent, "div", "", {class: "legend"});
  for (const [name, text] of entries) {
    const entry = add(list, "span");
    add(entry, "i").style.background = `var(--${name})`;
    entry.append(text);
  }
}

/// An SVG element and what adds shapes to it.
function picture(width, height, attributes = {}) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const shape = (name, attributes, text = "", parent = svg) => {
    const element = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text) element.textContent = text;
    parent.append(element);
    return element;
  };
  for (const [key, value] of Object.entries({viewBox: `0 0 ${width} ${height}`, ...attributes})) svg.setAttribute(key, value);
  return {svg, shape};
}

const kind = column => column.text || column.left ? "text" : "number";

/// A table whose columns sort. Columns: {title, of(row): what sorts, show(row): text, text: sorts by letters, left: is
/// aligned as text, bad(row): in red}.
function table(parent, columns, rows, first) {
  const element = add(add(parent, "div", "", {class: "wide"}), "table");
  const head = add(add(element, "thead"), "tr"), body = add(element, "tbody");
  let by = first, down = true;
  const draw = () => {
    const key = columns[by].of, sign = down ? -1 : 1;
    rows.sort((a, b) => sign * (columns[by].text ? String(key(a)).localeCompare(String(key(b))) : key(a) - key(b)));
    body.replaceChildren();
    for (const row of rows) {
      const line = add(body, "tr");
      for (const column of columns)
        add(line, "td", column.show ? column.show(row) : String(column.of(row)),
            {class: kind(column) + (column.bad && column.bad(row) ? " bad" : "")});
    }
    [...head.children].forEach((cell, i) =>
      i === by ? cell.setAttribute("aria-sort", down ? "descending" : "ascending") : cell.removeAttribute("aria-sort"));
  };
  columns.forEach((column, i) => {
    const cell = add(head, "th", "", {class: kind(column)});
    add(cell, "button", column.title).addEventListener("click", () => {
      down = by === i ? !down : !column.text;
      by = i;
      draw();
    });
  });
  draw();
}

function bar(parent, label, parts, whole, end, marks = []) {
  add(parent, "span", label);
  const element = add(parent, "div", "", {class: "bar"});
  for (const [name, part, text] of parts) {
    if (!(part > 0)) continue;
    const piece = add(element, "i");
    piece.style.width = 100 * part / whole + "%";
    piece.style.background = `var(--${name})`;
    tell(piece, text);
  }
  for (const [at, text] of marks) {
    const mark = add(element, "span", "", {class: "mark"});
    mark.style.left = `calc(${100 * at / whole}% - 1px)`;
    tell(mark, text);
  }
  add(parent, "span", end, {class: "note"});
}

function showTip(text, x, y) {
  tip.textContent = text;
  tip.hidden = false;
  tip.style.left = Math.max(4, Math.min(x + 12, innerWidth - tip.offsetWidth - 8)) + "px";
  tip.style.top = (y + 16 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 10 : y + 16) + "px";
}
function tell(element, text) {
  element.addEventListener("pointermove", event => showTip(text, event.clientX, event.clientY));
  element.addEventListener("pointerleave", () => { tip.hidden = true; });
}
