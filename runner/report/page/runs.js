// ---- Two runs ----

function compare([a, b]) {
  const element = section("Side by side", "A negative difference means that the second run has less.", true);
  const rows = [];
  const put = (what, of, show) => {
    const one = of(a.run), two = of(b.run);
    if (one === undefined || two === undefined) return;
    rows.push([what, show(one), show(two), one ? (two - one) / one : 0]);
  };
  const use = name => run => run.time.reduce((sum, one) => sum + usesOf(one)[name], 0) / (run.time.length * run.seconds);
  put("tasks", run => run.time.length, count);
  put("a step, median", run => stepTimes(run)[0]?.[3], time);
  put("traced", run => run.seconds, time);
  for (const [name, text] of kUses) put(text + ", share", use(name), percent);
  put("messages", run => run.links.reduce((sum, link) => sum + link[2], 0), count);
  put("bytes", run => run.links.reduce((sum, link) => sum + link[3], 0), bytes);
  put("most memory of a task", run => run.stats ? Math.max(...run.stats.tasks.map(task => task.peak_bytes)) : undefined, bytes);
  const order = new Map(rows.map((row, i) => [row, -i]));
  table(element, [{title: "what", of: row => order.get(row), show: row => row[0], left: true}, {title: a.name, of: row => row[1], show: row => row[1], text: true},
                  {title: b.name, of: row => row[2], show: row => row[2], text: true},
                  {title: "difference", of: row => row[3], show: row => row[3] === 0 ? "none" : (row[3] > 0 ? "+" : "") + percent(row[3])}], rows, 0);
  const steps = run => Math.max(1, stepTimes(run).reduce((sum, one) => sum + one[1], 0));
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
const each = show => runs.length > 1 ? pairs(show) : runs.forEach(show);
each(facts);
curves(runs);
[timeline, timeUse, path, plans, links, memory, lines].forEach(each);

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
