// ---- Facts ----

function facts({name, run}) {
  const element = section(name || "The run");
  if (run.command) add(element, "p", run.command, {class: "command"});
  if (run.began) add(element, "p", "begun " + date(run.began), {class: "note"});
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
  for (const [entry, steps, least, median, most] of stepTimes(run))
    fact(time(median), `${steps === 1 ? "the step" : "a step, median of " + count(steps)}${entry ? " of " + entry : ""} (${time(least)} to ${time(most)})`);
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

/// For each entry the number of task 0's steps, and their shortest, median and longest time. Reports of ferry 0.1 have only
/// the steps.
function stepTimes(run) {
  if (run.step_times) return run.step_times;
  const all = new Map();
  for (const [task, , duration, name, entry] of run.steps) {
    if (task !== 0 || name === "setup" || (!entry && run.steps.some(step => step[4]))) continue;
    if (!all.has(entry)) all.set(entry, []);
    all.get(entry).push(duration * 1e-9);
  }
  return [...all].map(([entry, times]) => {
    times.sort((a, b) => a - b);
    return [entry, times.length, times[0], times[times.length >> 1], times[times.length - 1]];
  });
}

// ---- Time ----

const kUses = [["computing", "computing"], ["moving", "messages: starting them, or they are on their way"], ["waiting", "waiting for another task"],
               ["threads", "waiting for own threads"], ["between", "between instructions"], ["outside", "outside of steps"]];
const usesOf = use => ({computing: use.computing, moving: use.moving, waiting: use.waiting.reduce((sum, [, part]) => sum + part, 0),
                        threads: use.threads, between: use.between, outside: use.outside});

function timeUse(one) {
  const {run} = one, element = section("Where the time went" + naming(one), `The first thread of each task, in the traced ${time(run.seconds)}. Each bar is 100 %.`);
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

const kPathColours = {computing: "computing", sending: "moving", message: "moving", "message wait": "moving", "thread wait": "threads", launching: "between", between: "between", outside: "outside"};
const kPathTexts = {sending: "starting messages", message: "messages on their way", "message wait": "messages on their way", "thread wait": "waiting for own threads", launching: "giving work to devices",
                    between: "between instructions", outside: "outside of steps"};

function path(one) {
  const {run} = one, element = section("Critical path" + naming(one), "The work that must become faster for the run to end earlier. The path leads backwards from the end, and to another task where this task waited for its message.");
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
  const element = section("Messages" + naming(one), "Messages from task to task in whole traced steps" + (planned ? ", next to the numbers of the plan. A difference is red." : "."));
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
  const element = section("Memory" + naming(one), "The planned memory of the plan that ran last. The mark is the measured memory, which is at most the planned memory.");
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
  const steps = run.step_memory ?? [];
  if (steps.length === 0) return;
  add(element, "h3", "Over a step");
  add(element, "p", "Memory in use in the last traced step. A value counts from its computation to its last read. The broken line is the planned memory. Tasks that do the same are shown once.", {class: "note"});
  const grid = add(element, "div", "", {class: "curves"});
  for (const step of steps) {
    const figure = add(grid, "div");
    add(figure, "h3", [...steps.some(other => other.entry !== step.entry) ? [step.entry] : [], step.tasks, ...steps.some(other => (other.device ?? "cpu:0") !== "cpu:0") ? [step.device] : []].join(", "));
    figure.append(memoryPicture(step));
    const details = add(figure, "details");
    add(details, "summary", `At most ${bytes(Math.max(...step.bytes))} in use, ${bytes(step.planned)} planned${bytes(step.arena) === bytes(step.planned) ? "" : `, ${bytes(step.arena)} with the setup`}`);
    table(details, [{title: "bytes", of: row => row[2], show: row => bytes(row[2])}, {title: "value", of: row => row[0], text: true},
                    {title: "line", of: row => row[1], text: true}], [...step.largest], 0);
  }
}

/// Bytes in use over the time of a step, beneath the arena.
function memoryPicture({duration, times, bytes: used, planned}) {
  const W = 360, H = 170, left = 62, bottom = 20, top = Math.max(planned, ...used, 1), span = Math.max(duration, 1);
  const X = at => left + Math.min(at / span, 1) * (W - left - 6), Y = value => 8 + (1 - value / top) * (H - bottom - 8);
  const {svg, shape} = picture(W, H, {role: "img", "aria-label": `memory in use over a step, at most ${bytes(Math.max(...used))} of ${bytes(planned)}`});
  for (const value of [0, top / 2]) shape("line", {class: "axis", x1: left, x2: W - 6, y1: Y(value), y2: Y(value)});
  let path = `M${left} ${Y(0)}`;
  times.forEach((time, i) => { path += `H${X(time).toFixed(1)}V${Y(used[i]).toFixed(1)}`; });
  shape("path", {class: "used", d: `${path}H${X(span)}V${Y(0)}Z`});
  shape("line", {class: "arena", x1: left, x2: W - 6, y1: Y(planned), y2: Y(planned)});
  for (const value of [planned, top / 2, 0]) shape("text", {x: left - 6, y: Y(value) + 4, "text-anchor": "end"}, bytes(value));
  shape("text", {x: left, y: H - 4}, "0");
  shape("text", {x: W - 6, y: H - 4, "text-anchor": "end"}, time(duration * 1e-9));
  svg.addEventListener("pointermove", event => {
    const box = svg.getBoundingClientRect(), scale = Math.min(box.width / W, box.height / H);
    const at = ((event.clientX - box.left - (box.width - W * scale) / 2) / scale - left) / (W - left - 6) * span;
    const i = last(times, at);
    if (i < 0 || at > span) { tip.hidden = true; return; }
    showTip(`${bytes(used[i])} in use ${time(at * 1e-9)} after the step's begin\n${bytes(planned)} planned`, event.clientX, event.clientY);
  });
  svg.addEventListener("pointerleave", () => { tip.hidden = true; });
  return svg;
}

function lines(one) {
  const {run} = one, rows = run.lines.map(([line, ops, runs, computing, planned, reckoned, waiting]) => ({line: line || "(no line)", ops, runs, computing, planned, reckoned, waiting}));
  const all = rows.reduce((sum, row) => sum + row.computing, 0) || 1, hasPlan = rows.some(row => row.planned > 0);
  const element = section("By line of the program" + naming(one),
    "Computing on all tasks and threads." + (hasPlan ? " Planned times come from nominal speeds. Look at a line with a ratio far above the others." : ""));
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
  const {svg, shape} = picture(W, H);
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
