// ---- Timeline ----

/// By activity, the numbers of which the run's `activities` names: a wait for a message is on its way, but for what it is late.
const kColours = ["computing", "moving", "moving", "threads", "", "between"], kMessageWait = 2, kNested = 4;
const kRow = 22, kHead = 34, kLabel = 104;
const timelines = [];

class Timeline {
  constructor(run, parent) {
    this.run = run;
    this.end = Math.max(run.shown_seconds * 1e9, 1);
    [this.from, this.to] = this.medianStep();
    this.matches = [];
    this.match = -1;
    this.nested = run.threads.map(thread => thread.activity.flatMap((kind, i) => kind === kNested ? [i] : []));
    this.rows = new Map(run.threads.map((thread, row) => [thread.task + "." + thread.thread, row]));
    this.tools(parent);
    legend(parent, [["computing", "computing"], ["moving", "starting messages, or they are on their way"],
                    ["waiting", "waiting for a message that is not sent yet"], ["threads", "waiting for other threads"], ["between", "giving work to devices"],
                    ["path", "critical path"]]);
    this.canvas = add(add(parent, "div", "", {class: "lanes"}), "canvas", "", {tabindex: 0, role: "img"});
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
        if (thread.begin[i] + thread.duration[i] === end && thread.activity[i] === kMessageWait) return i;
      return -1;
    };
    for (const [, , sent, task, thread, got] of this.run.messages) {
      const i = at(task + "." + thread, got), row = this.rows.get(task + "." + thread);
      if (i < 0) continue;
      const wait = this.run.threads[row];
      this.late[row][i] = Math.min(Math.max(sent - wait.begin[i], 0), wait.duration[i]);
    }
  }

  /// The begin and the end of a step of median duration, of the entry with the most steps; all of it without several steps.
  medianStep() {
    const task = this.run.threads[0].task, byEntry = new Map();
    for (const step of this.run.steps) {
      if (step[0] !== task || step[3] === "setup" || step[1] + step[2] > this.end) continue;
      if (!byEntry.has(step[4])) byEntry.set(step[4], []);
      byEntry.get(step[4]).push(step);
    }
    const most = [...byEntry.values()].sort((a, b) => b.length - a.length)[0] ?? [];
    if (most.length < 2) return [0, this.end];
    const [, begin, duration] = most.sort((a, b) => a[2] - b[2])[most.length >> 1], beside = 0.05 * duration;
    return [Math.max(begin - beside, 0), Math.min(begin + duration + beside, this.end)];
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
    this.ink = Object.fromEntries(["card", "ink", "faint", "rule", "path", "page", "label", "computing", "moving", "waiting", "threads", "between", "outside"].map(name => [name, colour(name)]));
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
    canvas.setAttribute("aria-label", `timeline of all tasks, from ${place(this.from, 1)} to ${place(this.to, 1)}`);
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
    pen.fillStyle = this.ink.between;
    pen.globalAlpha = 0.35;
    for (const i of this.nested[row])
      if (begin[i] < this.to && begin[i] + duration[i] > this.from)
        pen.fillRect(this.x(begin[i]), top - 1, Math.max(duration[i] / perPixel, 0.6), kRow - 4);
    const texts = [], edge = new Float64Array(kColours.length).fill(-1);
    for (let i = Math.max(last(begin, this.from), 0); i < begin.length && begin[i] < this.to; ++i) {
      const end = begin[i] + duration[i], kind = activity[i];
      if (kind === kNested || end < this.from) continue;
      const left = this.x(begin[i]), right = this.x(end);
      if (right < edge[kind]) continue;  // nothing new in that pixel
      edge[kind] = Math.floor(right * 2) / 2 + 0.5;
      const dim = shade && !shade.has(names[i]), width = Math.max(right - left, 0.6);
      pen.globalAlpha = dim ? 0.18 : 1;
      pen.fillStyle = this.ink[kColours[kind]];
      pen.fillRect(left, top, width, kRow - 6);
      if (kind === kMessageWait && late[i] > 0) {
        pen.fillStyle = this.ink.waiting;
        pen.fillRect(left, top, late[i] / perPixel, kRow - 6);
      }
      if (width > 34 && !dim) texts.push([strings[names[i]], Math.max(left, kLabel), Math.min(right, this.width), top]);
    }
    pen.globalAlpha = 1;
    for (const [text, left, right, y] of texts) {
      if (right - left < 30) continue;
      const room = Math.floor((right - left - 6) / 6.1);
      pen.fillStyle = this.ink.label;
      pen.fillText(text.length > room ? text.slice(0, Math.max(room - 1, 1)) + "…" : text, left + 3, y + 8.5);
    }
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
      pen.fillText(thread.thread === 0 ? `task ${thread.task}` : `    ${thread.queue ?? "thread " + thread.thread}`, 6, kHead + row * kRow + kRow / 2, kLabel - 10));
    pen.fillStyle = this.ink.faint;
    pen.fillText("steps", 6, 24);
  }

  /// What lies at a place: the text of the event there, or of the innermost loop.
  what(x, y) {
    const row = Math.floor((y - kHead) / kRow), thread = this.run.threads[row], at = this.at(x);
    if (!thread || x < kLabel) return "";
    const near = (this.to - this.from) / (this.width - kLabel), end = i => thread.begin[i] + thread.duration[i];
    let i = last(thread.begin, at + near);
    while (i >= 0 && thread.activity[i] === kNested) --i;
    if (i >= 0 && end(i) + near >= at) return this.text(thread, i, this.late[row][i]);
    i = this.nested[row].findLast(loop => thread.begin[loop] <= at && end(loop) >= at);
    return i === undefined ? "" : this.text(thread, i, 0);
  }

  text(thread, i, late) {
    const {strings, activities, messages} = this.run, begin = thread.begin[i], end = begin + thread.duration[i];
    const lines = [strings[thread.name[i]], `${activities[thread.activity[i]]}, ${time(thread.duration[i] * 1e-9)}, from ${place(begin, 100)}`];
    if (late > 0) lines.push(`of it ${time(late * 1e-9)} before it was sent`);
    if (thread.line[i]) lines.push(strings[thread.line[i]]);
    for (const [task, on, sent, other, otherOn, got, size] of messages) {
      const much = size ? ", " + bytes(size) : "";
      if (other === thread.task && otherOn === thread.thread && got === end)
        lines.push(`from task ${task}${much}, ${time((got - sent) * 1e-9)} after it began to send`);
      if (task === thread.task && on === thread.thread && sent === begin)
        lines.push(`to task ${other}${much}, there ${time((got - sent) * 1e-9)} later`);
      if (lines.length > 8) break;
    }
    return lines.join("\n");
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

function timeline(one) {
  const {run} = one, part = run.shown_seconds < run.seconds;
  const element = section("Timeline" + naming(one),
    "A row for each thread and for each queue of a device. A thin line leads from the send of a message to the end of the wait for it. " +
    "It opens on a step of median duration: press 0 for all of it, hold Ctrl and turn the wheel to zoom, drag to move." +
    (part ? ` It has the first ${time(run.shown_seconds)} of ${time(run.seconds)}; the sums below are over all of it.` : ""));
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
