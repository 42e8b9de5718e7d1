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

// ---- Facts ----

function facts({name, run}) {
  const element = section(name || "The run");
  if (run.command) add(element, "p", run.command, {class: "command"});
  const list = add(element, "div", "", {class: "facts"});
  const fact = (text, what) => { const one = add(list, "div"); add(one, "b", text); add(one, "span", what); };
  const stats = run.stats;
  if (stats) {
    const hosts = [...new Set(stats.tasks.map(task => task.host))];
    fact(count(stats.tasks.length), stats.tasks.length === 1 ? "task" : "tasks");
    fact(hosts.length > 3 ? plural(hosts.length, "host") : hosts.join(", "), hosts.length > 1 ? "hosts" : "host");
    fact([...new Set(stats.tasks.map(task => task.threads))].join(", "), "threads of a task");
  } else {
    fact(count(run.time.length), run.time.length === 1 ? "task" : "tasks");
  }
  for (const [entry, times] of stepTimes(run))
    fact(time(times[times.length >> 1]), `${times.length === 1 ? "the step" : "a step, median of " + count(times.length)}${entry ? " of " + entry : ""} (${time(times[0])} to ${time(times[times.length - 1])})`);
  fact(time(run.seconds), "traced");
  if (run.version) fact(run.version, "version of ferry");
  if (!stats) return;
  for (const one of stats.stragglers)
    add(element, "p", `Task ${one.task} kept the others waiting (${one.cause}${one.op ? ", in " + one.op : ""}); it cost ${percent(one.cost)}.`, {class: "bad"});
  if (stats.tasks.length < 2) return;
  const details = add(element, "details");
  add(details, "summary", "Tasks and hosts");
  table(details, [
    {title: "task", of: task => task.task}, {title: "host", of: task => task.host, text: true},
    {title: "process", of: task => task.process}, {title: "threads", of: task => task.threads},
    {title: "sent in the last step", of: task => task.sent_bytes, show: task => `${plural(task.sent_messages, "message")}, ${bytes(task.sent_bytes)}`},
    {title: "on the wire", of: task => task.wire_bytes, show: task => `${plural(task.wire_messages, "message")}, ${bytes(task.wire_bytes)}`},
  ], [...stats.tasks].reverse(), 0);
}

/// The seconds of task 0's steps, ascending, by entry; entries that only give variables their values have no name.
function stepTimes(run) {
  const all = new Map();
  for (const [task, , duration, name, entry] of run.steps) {
    if (task !== 0 || name === "setup" || (!entry && run.steps.some(step => step[4]))) continue;
    all.set(entry, [...all.get(entry) ?? [], duration * 1e-9]);
  }
  for (const times of all.values()) times.sort((a, b) => a - b);
  return all;
}

// ---- Timeline ----

const kColours = ["computing", "moving", "waiting", "threads", "between"];
const kRow = 22, kHead = 34, kLabel = 104;
const timelines = [];

class Timeline {
  constructor(run, parent) {
    this.run = run;
    this.end = Math.max(run.shown_seconds * 1e9, 1);
    this.from = 0;
    this.to = this.end;
    this.matches = [];
    this.match = -1;
    this.rows = new Map(run.threads.map((thread, row) => [thread.task + "." + thread.thread, row]));
    this.tools(parent);
    legend(parent, [["computing", "computing"], ["moving", "starting messages, or they are on their way"],
                    ["waiting", "waiting for a message that is not sent yet"], ["threads", "waiting for other threads"],
                    ["path", "critical path"]]);
    this.canvas = add(add(parent, "div", "", {class: "lanes"}), "canvas", "", {tabindex: 0, "aria-label": "timeline of all tasks"});
    this.listen();
    this.splitWaits();
    this.draw();
  }

  tools(parent) {
    const tools = add(parent, "div", "", {class: "tools"});
    this.search = add(tools, "input", "", {type: "search", placeholder: "search an op, value or line ( / )", "aria-label": "search"});
    this.found = add(tools, "span", "", {class: "note"});
    this.search.addEventListener("input", () => this.find());
    this.search.addEventListener("keydown", event => {
      if (event.key === "Enter") this.next();
      if (event.key === "Escape") this.search.blur();
      event.stopPropagation();
    });
    for (const [text, title, act] of [["−", "zoom out", () => this.zoom(2)], ["+", "zoom in", () => this.zoom(0.5)],
                                      ["all", "all of it", () => this.show(0, this.end)]])
      add(tools, "button", text, {title}).addEventListener("click", act);
  }

  /// Of each wait for a message the time before the sender began: it is drawn in another colour.
  splitWaits() {
    this.late = this.run.threads.map(thread => new Float64Array(thread.begin.length));
    const at = (key, end) => {
      const row = this.rows.get(key);
      if (row === undefined) return -1;
      const thread = this.run.threads[row];
      for (let i = last(thread.begin, end); i >= 0 && i > last(thread.begin, end) - 64; --i)
        if (thread.begin[i] + thread.duration[i] === end && thread.activity[i] === 2) return i;
      return -1;
    };
    for (const [, , sent, task, thread, got] of this.run.messages) {
      const i = at(task + "." + thread, got), row = this.rows.get(task + "." + thread);
      if (i < 0) continue;
      const wait = this.run.threads[row];
      this.late[row][i] = Math.min(Math.max(sent - wait.begin[i], 0), wait.duration[i]);
    }
  }

  x(nanoseconds) { return kLabel + (nanoseconds - this.from) / (this.to - this.from) * (this.width - kLabel); }
  at(x) { return this.from + (x - kLabel) / (this.width - kLabel) * (this.to - this.from); }

  show(from, to) {
    const span = Math.min(Math.max(to - from, 20), this.end);
    this.from = Math.min(Math.max(from, 0), this.end - span);
    this.to = this.from + span;
    this.soon();
  }
  zoom(factor, about = (this.from + this.to) / 2) {
    this.show(about - (about - this.from) * factor, about + (this.to - about) * factor);
  }
  pan(part) { const by = part * (this.to - this.from); this.show(this.from + by, this.to + by); }
  soon() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.draw(); });
  }

  draw() {
    const run = this.run, canvas = this.canvas, scale = devicePixelRatio || 1;
    this.width = canvas.clientWidth || 900;
    const height = kHead + kRow * run.threads.length + 4;
    canvas.width = this.width * scale;
    canvas.height = height * scale;
    canvas.style.height = height + "px";
    const pen = this.pen = canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "11.5px system-ui, sans-serif";
    pen.textBaseline = "middle";
    this.ink = Object.fromEntries(["card", "ink", "faint", "rule", "path", "page", "label", ...kColours, "outside"].map(name => [name, colour(name)]));
    pen.fillStyle = this.ink.card;
    pen.fillRect(0, 0, this.width, height);
    pen.save();
    pen.beginPath();
    pen.rect(kLabel, 0, this.width - kLabel, height);
    pen.clip();
    this.drawScale(height);
    run.threads.forEach((thread, row) => this.drawThread(thread, row));
    this.drawMessages();
    this.drawPath();
    pen.restore();
    this.drawLabels();
  }

  drawScale(height) {
    const pen = this.pen, rough = (this.to - this.from) / Math.max((this.width - kLabel) / 110, 1);
    const power = 10 ** Math.floor(Math.log10(rough)), tick = [1, 2, 5, 10].map(n => n * power).find(n => n >= rough);
    for (let at = Math.ceil(this.from / tick) * tick; at <= this.to; at += tick) {
      const x = Math.round(this.x(at)) + 0.5;
      pen.strokeStyle = this.ink.rule;
      pen.beginPath();
      pen.moveTo(x, 12);
      pen.lineTo(x, height);
      pen.stroke();
      pen.fillStyle = this.ink.faint;
      pen.fillText(place(at, tick), x + 3, 8);
    }
    let free = -1;
    for (const [task, begin, duration, name, entry] of this.run.steps) {
      if (task !== this.run.threads[0].task || begin > this.to || begin + duration < this.from) continue;
      const left = Math.max(this.x(begin), kLabel), right = this.x(begin + duration);
      pen.fillStyle = this.ink.outside;
      pen.fillRect(left, 17, Math.max(right - left - 1, 0.5), 13);
      const text = entry ? entry + " " + name : name;
      if (left < free || right - left < pen.measureText(text).width + 8) continue;
      pen.fillStyle = this.ink.ink;
      pen.fillText(text, left + 4, 24);
      free = left + pen.measureText(text).width + 8;
    }
  }

  drawThread(thread, row) {
    const pen = this.pen, top = kHead + row * kRow + 2, strings = this.run.strings, shade = this.matched;
    const begin = thread.begin, duration = thread.duration, activity = thread.activity, names = thread.name, late = this.late[row];
    const perPixel = (this.to - this.from) / (this.width - kLabel);
    const texts = [], edge = new Float64Array(5).fill(-1);
    for (let i = this.first(thread); i < begin.length && begin[i] < this.to; ++i) {
      const end = begin[i] + duration[i], kind = activity[i];
      if (end < this.from) continue;
      const left = this.x(begin[i]), right = this.x(end);
      if (right < edge[kind]) continue;  // nothing new in that pixel
      edge[kind] = Math.floor(right * 2) / 2 + 0.5;
      const dim = shade && !shade.has(names[i]);
      pen.globalAlpha = dim ? 0.18 : 1;
      const width = Math.max(right - left, 0.6), high = kind === 4 ? kRow - 4 : kRow - 6, y = kind === 4 ? top - 1 : top;
      pen.fillStyle = this.ink[kind === 2 ? "moving" : kColours[kind]];
      if (kind === 4) pen.globalAlpha *= 0.35;
      pen.fillRect(left, y, width, high);
      if (kind === 2 && late[i] > 0) {
        pen.fillStyle = this.ink.waiting;
        pen.fillRect(left, y, late[i] / perPixel, high);
      }
      if (width > 34 && kind !== 4 && !dim) texts.push([strings[names[i]], Math.max(left, kLabel), Math.min(right, this.width), y]);
    }
    pen.globalAlpha = 1;
    for (const [text, left, right, y] of texts) {
      if (right - left < 30) continue;
      const room = Math.floor((right - left - 6) / 6.1);
      pen.fillStyle = this.ink.label;
      pen.fillText(text.length > room ? text.slice(0, Math.max(room - 1, 1)) + "…" : text, left + 3, y + 8.5);
    }
  }

  /// The first event that may be seen: nested events are short of being sorted by their end, so an enclosing one is
  /// looked for a little further back.
  first(thread) {
    let i = Math.max(last(thread.begin, this.from), 0);
    for (let back = 0; i > 0 && back < 2000; ++back, --i)
      if (thread.activity[i - 1] === 4 && thread.begin[i - 1] + thread.duration[i - 1] < this.from) break;
    return i;
  }

  drawMessages() {
    const pen = this.pen, seen = this.run.messages.filter(([, , sent, , , got]) => got >= this.from && sent <= this.to);
    const many = seen.length > 300, drawn = new Set();
    pen.strokeStyle = this.ink.ink;
    pen.fillStyle = this.ink.ink;
    pen.globalAlpha = many ? Math.max(0.03, 40 / seen.length) : 0.5;
    for (const [task, thread, sent, other, otherThread, got] of seen) {
      const left = this.x(sent), right = this.x(got), key = `${Math.round(left)} ${Math.round(right)} ${task} ${other}`;
      if (many && drawn.has(key)) continue;
      drawn.add(key);
      const y = (of, on) => kHead + this.rows.get(of + "." + on) * kRow + kRow / 2;
      pen.beginPath();
      pen.moveTo(left, y(task, thread));
      pen.lineTo(right, y(other, otherThread));
      pen.stroke();
      if (many) continue;
      pen.beginPath();
      pen.arc(right, y(other, otherThread), 2.2, 0, 7);
      pen.fill();
    }
    pen.globalAlpha = 1;
  }

  drawPath() {
    const pen = this.pen;
    pen.fillStyle = this.ink.path;
    const edge = new Map();
    for (const [task, thread, begin, duration] of this.run.path.segments) {
      if (begin > this.to || begin + duration < this.from) continue;
      const row = this.rows.get(task + "." + thread);
      if (row === undefined) continue;
      const left = this.x(begin), right = this.x(begin + duration);
      if (right < (edge.get(row) ?? -1)) continue;
      edge.set(row, right + 0.3);
      pen.fillRect(left, kHead + row * kRow + kRow - 4, Math.max(right - left, 0.6), 2);
    }
  }

  drawLabels() {
    const pen = this.pen;
    pen.fillStyle = this.ink.ink;
    this.run.threads.forEach((thread, row) =>
      pen.fillText(thread.thread === 0 ? `task ${thread.task}` : `    thread ${thread.thread}`, 6, kHead + row * kRow + kRow / 2, kLabel - 10));
    pen.fillStyle = this.ink.faint;
    pen.fillText("steps", 6, 24);
  }

  /// What lies at a place: the text of the innermost event there.
  what(x, y) {
    const row = Math.floor((y - kHead) / kRow), thread = this.run.threads[row], at = this.at(x);
    if (!thread || x < kLabel) return "";
    const near = (this.to - this.from) / (this.width - kLabel);
    for (let i = last(thread.begin, at + near), back = 0; i >= 0 && back < 2000; --i, ++back) {
      const end = thread.begin[i] + thread.duration[i];
      if (end + near < at) continue;
      const strings = this.run.strings, lines = [strings[thread.name[i]], `${this.run.activities[thread.activity[i]]}, ${time(thread.duration[i] * 1e-9)}, from ${place(thread.begin[i], 100)}`];
      if (this.late[row][i] > 0) lines.push(`of it ${time(this.late[row][i] * 1e-9)} before it was sent`);
      if (thread.line[i]) lines.push(strings[thread.line[i]]);
      for (const [task, , sent, other, , got, size] of this.run.messages) {
        if (other === thread.task && got === end) lines.push(`from task ${task}${size ? ", " + bytes(size) : ""}, ${time((got - sent) * 1e-9)} after it began to send`);
        if (task === thread.task && sent === thread.begin[i]) lines.push(`to task ${other}${size ? ", " + bytes(size) : ""}, there ${time((got - sent) * 1e-9)} later`);
        if (lines.length > 8) break;
      }
      return lines.join("\n");
    }
    return "";
  }

  listen() {
    const canvas = this.canvas;
    let held = null;
    canvas.addEventListener("pointerdown", event => { held = [event.clientX, this.from, this.to]; canvas.setPointerCapture(event.pointerId); canvas.focus(); });
    canvas.addEventListener("pointerup", () => { held = null; });
    canvas.addEventListener("pointermove", event => {
      const box = canvas.getBoundingClientRect();
      if (held) {
        const by = (held[0] - event.clientX) / (this.width - kLabel) * (held[2] - held[1]);
        return this.show(held[1] + by, held[2] + by);
      }
      const text = this.what(event.clientX - box.left, event.clientY - box.top);
      tip.hidden = !text;
      if (text) showTip(text, event.clientX, event.clientY);
    });
    canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
    canvas.addEventListener("wheel", event => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.at(event.clientX - canvas.getBoundingClientRect().left));
    }, {passive: false});
    new ResizeObserver(() => this.soon()).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.soon());
  }

  find() {
    const text = this.search.value.trim().toLowerCase();
    this.matches = [];
    this.match = -1;
    this.matched = null;
    if (text) {
      const hits = new Set();
      this.run.strings.forEach((string, i) => { if (i && string.toLowerCase().includes(text)) hits.add(i); });
      this.matched = new Set();
      for (const thread of this.run.threads)
        thread.name.forEach((name, i) => {
          if (!hits.has(name) && !hits.has(thread.line[i])) return;
          this.matched.add(name);
          this.matches.push([thread.begin[i], thread.duration[i]]);
        });
      this.matches.sort((a, b) => a[0] - b[0]);
    }
    this.found.textContent = text ? plural(this.matches.length, "event") : "";
    this.soon();
  }
  next() {
    if (this.matches.length === 0) return;
    this.match = (this.match + 1) % this.matches.length;
    const [begin, duration] = this.matches[this.match], span = Math.min(this.to - this.from, Math.max(duration * 12, 2000));
    this.found.textContent = `${count(this.match + 1)} of ${plural(this.matches.length, "event")}`;
    this.show(begin + duration / 2 - span / 2, begin + duration / 2 + span / 2);
  }
}

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

function timeline(one) {
  const {run} = one, part = run.shown_seconds < run.seconds;
  const element = section("Timeline" + naming(one),
    (part ? `The first ${time(run.shown_seconds)} of ${time(run.seconds)} that are traced; sums below are over all of it. ` : "") +
    "A row for each thread; a line leads from where a message is sent to where the wait for it ends. Hold Ctrl and turn the wheel to zoom, drag to move.");
  timelines.push(new Timeline(run, element));
}

document.addEventListener("keydown", event => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return;
  const one = timelines.find(({canvas}) => canvas === document.activeElement) ?? timelines[0];
  const keys = {
    ArrowLeft: () => one.pan(-0.2), ArrowRight: () => one.pan(0.2), "+": () => one.zoom(0.6), "=": () => one.zoom(0.6),
    "-": () => one.zoom(1 / 0.6), "0": () => one.show(0, one.end), Home: () => one.show(0, one.end), n: () => one.next(),
    "/": () => one.search.focus(),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
});

// ---- Time ----

const kUses = [["computing", "computing"], ["moving", "messages: starting them, or they are on their way"], ["waiting", "waiting for another task"],
               ["threads", "waiting for own threads"], ["between", "between instructions"], ["outside", "outside of steps"]];
const usesOf = use => ({computing: use.computing, moving: use.moving, waiting: use.waiting.reduce((sum, [, part]) => sum + part, 0),
                        threads: use.threads, between: use.between, outside: use.outside});

function timeUse(one) {
  const {run} = one, element = section("Where the time went" + naming(one), `Of the first thread of each task, in the ${time(run.seconds)} that are traced; each bar is 100 %.`);
  legend(element, kUses);
  const bars = add(element, "div", "", {class: "bars"});
  run.time.forEach((use, task) => {
    const parts = usesOf(use);
    bar(bars, `task ${task}`, kUses.map(([name, text]) => [name, parts[name], `${text}: ${time(parts[name])}, ${percent(parts[name] / run.seconds)}` +
      (name === "waiting" ? use.waiting.map(([other, part]) => `\ntask ${other}: ${time(part)}`).join("") : "")]), run.seconds,
      `computing ${percent(parts.computing / run.seconds)}`);
  });
  const rows = run.time.map((use, task) => ({task, use, parts: usesOf(use)}));
  const share = name => ({title: {computing: "computing", moving: "messages", waiting: "waiting", threads: "threads", between: "between", outside: "outside"}[name],
                          of: row => row.parts[name], show: row => percent(row.parts[name] / run.seconds)});
  table(element, [{title: "task", of: row => -row.task, show: row => String(row.task)}, ...kUses.map(([name]) => share(name)),
    {title: "waits for", of: row => row.use.waiting.length, text: true,
     show: row => [...row.use.waiting].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([other, part]) => `task ${other}: ${percent(part / run.seconds)}`).join(", ") || "–"}],
    rows, 0);
}

const kPathColours = {computing: "computing", sending: "moving", message: "moving", "message wait": "moving", "thread wait": "threads", between: "between", outside: "outside"};
const kPathTexts = {sending: "starting messages", message: "messages on their way", "message wait": "messages on their way", "thread wait": "waiting for own threads",
                    between: "between instructions", outside: "outside of steps"};

function path(one) {
  const {run} = one, element = section("Critical path" + naming(one), "What would have to be faster for the run to end earlier: followed backwards from the end, over to another task where a message was waited for.");
  const bars = add(element, "div", "", {class: "bars"}), order = Object.keys(kPathColours),
        kinds = Object.entries(run.path.kinds).sort((a, b) => order.indexOf(a[0]) - order.indexOf(b[0]));
  const text = kind => kPathTexts[kind] ?? kind;
  bar(bars, "path", kinds.map(([kind, part]) => [kPathColours[kind], part, `${text(kind)}: ${time(part)}, ${percent(part / run.seconds)}`]), run.seconds, time(run.seconds));
  add(element, "p", kinds.map(([kind, part]) => `${text(kind)} ${percent(part / run.seconds)}`).join(", "), {class: "note"});
  table(element, [
    {title: "what", of: row => row[1] || text(row[0]), text: true, show: row => row[1] ? (row[0] === "message" ? "message " + row[1].replace(/^\S+ /, "") : row[1]) : text(row[0])},
    {title: "task", of: row => row[3]}, {title: "line", of: row => row[2], text: true},
    {title: "time", of: row => row[4], show: row => time(row[4])}, {title: "of the path", of: row => row[4], show: row => percent(row[4] / run.seconds)},
  ], run.path.longest, 3);
}

// ---- Messages, memory, lines ----

function links(one) {
  const {run} = one;
  if (run.links.length === 0) return;
  const planned = run.links.some(link => link[4] > 0);
  const element = section("Messages" + naming(one), "From task to task in the traced steps" + (planned ? ", beside what the plan lets them send." : "."));
  const differs = link => planned && (link[2] !== link[4] || link[3] !== link[5]);
  table(element, [
    {title: "from", of: link => link[0]}, {title: "to", of: link => link[1]},
    {title: "messages", of: link => link[2], show: link => count(link[2]), bad: differs}, {title: "planned", of: link => link[4], show: link => planned ? count(link[4]) : "–"},
    {title: "bytes", of: link => link[3], show: link => bytes(link[3]), bad: differs}, {title: "planned", of: link => link[5], show: link => planned ? bytes(link[5]) : "–"},
    {title: "a second", of: link => link[3], show: link => bytes(link[3] / run.seconds) + "/s"},
  ], [...run.links], 4);
}

function memory(one) {
  const {run} = one;
  if (run.memory.length === 0 || !run.stats) return;
  const element = section("Memory" + naming(one), "Arenas as planned for what ran last; the mark is what the task had, which is at most that.");
  legend(element, [["computing", "of a step"], ["threads", "kept from step to step"], ["path", "measured"]]);
  const bars = add(element, "div", "", {class: "bars"});
  const peaks = run.stats.tasks.map(task => [task.planned.peak_bytes, task.peak_bytes]);
  const whole = Math.max(1, ...peaks.flat());
  run.memory.forEach((arenas, task) => {
    if (!peaks[task]) return;
    bar(bars, `task ${task}`, arenas.flatMap(([device, step, state]) =>
      [["computing", step, `${device}, of a step: ${bytes(step)}`], ["threads", state, `${device}, kept: ${bytes(state)}`]]), whole,
      `${bytes(peaks[task][1])} of ${bytes(peaks[task][0])}`, [[peaks[task][1], `measured: ${bytes(peaks[task][1])}`]]);
  });
}

function lines(one) {
  const {run} = one, rows = run.lines.map(([line, ops, runs, computing, planned, reckoned, waiting]) => ({line: line || "(no line)", ops, runs, computing, planned, reckoned, waiting}));
  const all = rows.reduce((sum, row) => sum + row.computing, 0) || 1, hasPlan = rows.some(row => row.planned > 0);
  const element = section("By line of the program" + naming(one),
    "Computing on all tasks and threads." + (hasPlan ? " Planned is the time that planning reckons with, by nominal speeds: a line far above its planned time is worth a look." : ""));
  table(element, [
    {title: "line", of: row => row.line, text: true}, {title: "ops", of: row => row.ops.join(", "), text: true},
    {title: "runs", of: row => row.runs, show: row => count(row.runs)}, {title: "measured", of: row => row.computing, show: row => time(row.computing)},
    {title: "share", of: row => row.computing, show: row => percent(row.computing / all)},
    ...hasPlan ? [{title: "planned", of: row => row.planned, show: row => time(row.planned)},
                  {title: "measured ÷ planned", of: row => row.planned > 0 ? row.reckoned / row.planned : 0, show: row => ratio(row.reckoned, row.planned)}] : [],
    {title: "waits for messages", of: row => row.waiting, show: row => time(row.waiting)},
  ], rows, 3);
}

// ---- Curves ----

const kCurveColours = ["computing", "waiting"];

function curves(all) {
  const names = new Map();
  all.forEach((one, i) => one.run.curves.forEach(curve => {
    const key = (curve.entry ? curve.entry + ": " : "") + curve.name;
    names.set(key, [...names.get(key) ?? [], [i, curve]]);
  }));
  const drawn = [...names].filter(([, list]) => list.some(([, curve]) => curve.values.filter(value => value !== null).length > 1));
  if (drawn.length === 0) return;
  const element = section("Curves", "", true);
  if (all.length > 1) legend(element, all.map((one, i) => [kCurveColours[i], one.name]));
  const grid = add(element, "div", "", {class: "curves"});
  for (const [name, list] of drawn) {
    const figure = add(grid, "div");
    add(figure, "h3", name);
    figure.append(curvePicture(list));
  }
}

function curvePicture(list) {
  const points = list.flatMap(([, curve]) => curve.values.map((value, i) => [curve.steps[i], value])).filter(([, value]) => value !== null);
  const range = k => points.reduce(([low, high], point) => [Math.min(low, point[k]), Math.max(high, point[k])], [Infinity, -Infinity]);
  const [x0, x1] = range(0), [y0, y1] = range(1), W = 360, H = 170, left = 52, bottom = 20;
  const X = step => left + (step - x0) / (x1 - x0 || 1) * (W - left - 6), Y = value => 8 + (1 - (value - y0) / (y1 - y0 || 1)) * (H - bottom - 8);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${W} ${H}`);
  const shape = (name, attributes, text = "") => {
    const element = document.createElementNS(svg.namespaceURI, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    svg.append(element);
    return element;
  };
  const short = value => Math.abs(value) >= 1e5 || (value !== 0 && Math.abs(value) < 1e-3) ? value.toExponential(1) : digits(value, 3);
  for (const [value, place] of y0 === y1 ? [[y0, Y(y0)]] : [[y1, Y(y1)], [(y0 + y1) / 2, Y((y0 + y1) / 2)], [y0, Y(y0)]]) {
    shape("line", {class: "axis", x1: left, x2: W - 6, y1: place, y2: place});
    shape("text", {x: left - 6, y: place + 4, "text-anchor": "end"}, short(value));
  }
  shape("text", {x: left, y: H - 4}, "step " + count(x0));
  shape("text", {x: W - 6, y: H - 4, "text-anchor": "end"}, count(x1));
  for (const [i, curve] of list) {
    let path = "", pen = "M";
    curve.values.forEach((value, at) => {
      if (value === null) { pen = "M"; return; }
      path += `${pen}${X(curve.steps[at]).toFixed(1)} ${Y(value).toFixed(1)}`;
      pen = "L";
    });
    shape("path", {class: "line", d: path, style: `stroke: var(--${kCurveColours[i]})`});
  }
  return svg;
}

// ---- Two runs ----

function compare([a, b]) {
  const element = section("Side by side", "A difference below zero: the second run has less.", true);
  const rows = [];
  const put = (what, of, show) => {
    const one = of(a.run), two = of(b.run);
    if (one === undefined || two === undefined) return;
    rows.push([what, show(one), show(two), one ? (two - one) / one : 0]);
  };
  const use = name => run => run.time.reduce((sum, one) => sum + usesOf(one)[name], 0) / (run.time.length * run.seconds);
  put("tasks", run => run.time.length, count);
  put("a step, median", run => [...stepTimes(run).values()].map(times => times[times.length >> 1])[0], time);
  put("traced", run => run.seconds, time);
  for (const [name, text] of kUses) put(text + ", share", use(name), percent);
  put("messages", run => run.links.reduce((sum, link) => sum + link[2], 0), count);
  put("bytes", run => run.links.reduce((sum, link) => sum + link[3], 0), bytes);
  put("most memory of a task", run => run.stats ? Math.max(...run.stats.tasks.map(task => task.peak_bytes)) : undefined, bytes);
  const order = new Map(rows.map((row, i) => [row, -i]));
  table(element, [{title: "what", of: row => order.get(row), show: row => row[0], left: true}, {title: a.name, of: row => row[1], show: row => row[1], text: true},
                  {title: b.name, of: row => row[2], show: row => row[2], text: true},
                  {title: "difference", of: row => row[3], show: row => row[3] === 0 ? "none" : (row[3] > 0 ? "+" : "") + percent(row[3])}], rows, 0);
  const steps = run => Math.max(1, run.steps.filter(([task, , , name]) => task === 0 && name !== "setup").length);
  const both = new Map(), n = [steps(a.run), steps(b.run)];
  [a.run, b.run].forEach((run, i) => run.lines.forEach(([line, ops, , computing]) => {
    const row = both.get(line) ?? {line: line || "(no line)", ops, times: [0, 0]};
    row.times[i] = computing / n[i];
    both.set(line, row);
  }));
  add(element, "h3", "Computing by line, a step, on all tasks");
  table(element, [{title: "line", of: row => row.line, text: true}, {title: "ops", of: row => row.ops.join(", "), text: true},
    {title: a.name, of: row => row.times[0], show: row => time(row.times[0])}, {title: b.name, of: row => row.times[1], show: row => time(row.times[1])},
    {title: "difference", of: row => Math.abs(row.times[1] - row.times[0]), show: row => (row.times[1] > row.times[0] ? "+" : "−") + time(Math.abs(row.times[1] - row.times[0]))}],
    [...both.values()], 4);
}

// ---- All ----

if (runs.length > 1) compare(runs);
for (const show of [facts, timeline, timeUse, path, links, memory, lines])
  runs.length > 1 ? pairs(show) : runs.forEach(show);
curves(runs);

/// A section of both runs, or an empty place beside the one that lacks it.
function pairs(show) {
  const before = main.children.length;
  show(runs[0]);
  const first = main.children.length - before;
  show(runs[1]);
  const second = main.children.length - before - first;
  if (first === second) return;
  const empty = document.createElement("div");
  first > second ? main.append(empty) : main.insertBefore(empty, main.lastElementChild);
}

document.body.dataset.milliseconds = Math.round(performance.now() - began);
})();
