// ---- Plan ----

/// A fold with more than one box opens at a click; with so few boxes in all, all are open from the beginning.
const kFewBoxes = 40, kMostAtOnce = 2000;
const kLine = 14, kGap = 30, kBeside = 12, kMostInRow = 4, kMostLetters = 30;

/// A plan as boxes and arrows: a column for each task and each region of it, in it rows, from top to bottom in the order
/// in which values come to be.
class PlanPicture {
  constructor(plan, parent) {
    this.plan = plan;
    this.members = plan.folds.map(() => []);
    plan.boxes.forEach(([, fold], i) => this.members[fold].push(i));
    this.times = this.positions();
    this.openable = this.members.flatMap((members, fold) => members.length > 1 ? [fold] : []);
    this.open = new Set(plan.boxes.length <= kFewBoxes ? this.openable : []);
    if (this.openable.length) this.tools(parent);
    this.holder = add(parent, "div", "", {class: "plan"});
    this.draw();
    if (window.ResizeObserver) new ResizeObserver(() => this.fit()).observe(this.holder);
  }

  tools(parent) {
    const tools = add(parent, "div", "", {class: "tools"});
    const set = folds => { this.open = new Set(folds); this.draw(); };
    add(tools, "button", "fold all").addEventListener("click", () => set([]));
    if (this.plan.boxes.length <= kMostAtOnce)
      add(tools, "button", "open all").addEventListener("click", () => set(this.openable));
    add(tools, "span", `${plural(this.plan.boxes.length, "box").replace("boxs", "boxes")} in ${plural(this.plan.folds.length, "fold")}; click one to open it, and again to fold it`, {class: "note"});
  }

  /// The order of each box on its task, from 0 to 1. A collective is among the boxes of its first task.
  positions() {
    const {boxes, columns} = this.plan, begins = [];
    let task = -1;
    boxes.forEach(([column], i) => {
      const of = columns[column][0];
      if (of >= 0 && of !== task) { begins.push(i); task = of; }
    });
    return boxes.map((_, i) => {
      const k = Math.max(last(begins, i), 0), end = begins[k + 1] ?? boxes.length;
      return (i - begins[k]) / (end - begins[k]);
    });
  }

  toggle(fold) {
    if (!this.open.delete(fold)) this.open.add(fold);
    this.draw();
    this.holder.querySelector(`[data-fold="${fold}"]`)?.focus({preventScroll: true});
  }

  // ---- What is drawn: nodes and arrows between them ----

  /// Nodes in the plan's order.
  nodes() {
    const {plan} = this, nodes = [], shown = plan.boxes.map(() => null), made = new Map();
    plan.boxes.forEach(([column, fold, kind, lines, line], i) => {
      const folded = this.members[fold].length > 1 && !this.open.has(fold);
      shown[i] = folded ? made.get(fold) : undefined;
      if (shown[i]) return;
      shown[i] = {column, fold, kind, folded, lines: folded ? plan.folds[fold] : lines, line: folded ? "" : line,
                  opens: this.members[fold].length > 1, into: [], from: [], rank: 0};
      const members = folded ? this.members[fold] : [i];
      shown[i].time = members.reduce((sum, member) => sum + this.times[member], 0) / members.length;
      if (folded) made.set(fold, shown[i]);
      nodes.push(shown[i]);
    });
    return [nodes, shown];
  }

  arrows(shown) {
    const arrows = new Map();
    for (const [from, to, messages, size, kept] of this.plan.arrows) {
      const [a, b] = [shown[from], shown[to]];
      if (a === b) continue;
      if (!arrows.has(a)) arrows.set(a, new Map());
      const key = b, of = arrows.get(a), arrow = of.get(key) ?? {a, b, messages: 0, size: 0, kept: true};
      arrow.messages += messages;
      arrow.size += size;
      arrow.kept &&= kept === 1;
      of.set(key, arrow);
    }
    return [...arrows.values()].flatMap(of => [...of.values()]);
  }

  // ---- Where it is drawn ----

  /// Ranks: after all that leads to it, but for arrows that lead back in time or close a circle, as folds make them; what
  /// nothing leads to just before its use.
  rank(nodes, arrows) {
    for (const {a, b, kept, messages} of arrows) {
      if (kept || (messages === 0 && b.time < a.time)) continue;
      a.into.push(b);
      b.from.push(a);
    }
    const state = new Map(), order = [];
    for (const root of nodes) {
      const stack = [[root, 0]];
      if (state.has(root)) continue;
      state.set(root, 1);
      while (stack.length) {
        const top = stack[stack.length - 1], next = top[0].into[top[1]++];
        if (next === undefined) { state.set(top[0], 2); order.push(top[0]); stack.pop(); continue; }
        if (!state.has(next)) { state.set(next, 1); stack.push([next, 0]); }
      }
    }
    order.reverse();
    const at = new Map(order.map((node, i) => [node, i]));
    for (const node of order)
      for (const next of node.into) if (at.get(next) > at.get(node)) next.rank = Math.max(next.rank, node.rank + 1);
    for (const node of [...order].reverse()) {
      const later = node.into.filter(next => at.get(next) > at.get(node));
      if (later.length && !node.from.some(before => at.get(before) < at.get(node)))
        node.rank = Math.max(node.rank, Math.min(...later.map(next => next.rank)) - 1);
    }
  }

  /// Columns from left to right: each task's regions, collectives in the middle of the tasks.
  order() {
    const {columns} = this.plan, tasks = [...new Set(columns.map(([task]) => task))].filter(task => task >= 0).sort((a, b) => a - b);
    if (columns.some(([task]) => task < 0)) tasks.splice(Math.ceil(tasks.length / 2), 0, -1);
    return tasks.map(task => columns.flatMap(([of], i) => of === task ? [i] : []).sort((a, b) => (columns[a][2] ? 1 : 0) - (columns[b][2] ? 1 : 0) || a - b));
  }

  place(nodes) {
    for (const node of nodes) {
      node.text = node.lines.map(line => line.length > kMostLetters ? line.slice(0, kMostLetters - 1) + "…" : line).slice(0, 6);
      if (node.folded) node.text = ["▸ " + node.text[0], ...node.text.slice(1)];
      node.width = Math.max(44, ...node.text.map(line => line.length * 6.6 + 16));
      node.height = node.text.length * kLine + 8;
    }
    const ranks = Math.max(-1, ...nodes.map(node => node.rank)) + 1;
    const cells = this.plan.columns.map(() => Array.from({length: ranks}, () => []));
    for (const node of nodes) {
      const rows = cells[node.column][node.rank];
      if (rows.length === 0 || rows[rows.length - 1].length === kMostInRow) rows.push([]);
      rows[rows.length - 1].push(node);
    }
    const wide = row => row.reduce((sum, node) => sum + node.width + kBeside, -kBeside), high = row => Math.max(...row.map(node => node.height));
    let x = 10;
    this.frames = [];
    const middles = [];
    for (const columns of this.order()) {
      const frame = {left: x, columns: []};
      for (const column of columns) {
        const width = Math.max(90, ...cells[column].flat().map(wide)) + 24;
        middles[column] = x + width / 2;
        frame.columns.push([column, x, x + width]);
        x += width + 8;
      }
      frame.right = x - 8;
      frame.task = this.plan.columns[columns[0]][0];
      this.frames.push(frame);
      x += 18;
    }
    this.width = x - 8;
    let y = 48;
    for (let rank = 0; rank < ranks; ++rank) {
      let bottom = y;
      for (const column of cells) {
        let top = y;
        for (const row of column[rank]) {
          const near = node => node.from.reduce((sum, before) => sum + (before.x ?? middles[node.column]), 0) / (node.from.length || 1) || middles[node.column];
          row.sort((a, b) => near(a) - near(b));
          let left = middles[row[0].column] - wide(row) / 2;
          for (const node of row) {
            node.x = left + node.width / 2;
            node.y = top + high(row) / 2;
            left += node.width + kBeside;
          }
          top += high(row) + 8;
        }
        bottom = Math.max(bottom, top);
      }
      y = bottom + kGap;
    }
    this.height = y - kGap + 12;
  }

  // ---- Drawing ----

  draw() {
    const [nodes, shown] = this.nodes(), arrows = this.arrows(shown);
    this.rank(nodes, arrows);
    this.place(nodes);
    const {svg, shape} = picture(this.width, this.height, {role: "group", "aria-label": "the plan"});
    const marks = shape("defs", {});
    for (const [id, name] of [["tip-value", "faint"], ["tip-message", "message"]]) {
      const mark = shape("marker", {id, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, markerUnits: "userSpaceOnUse", orient: "auto"}, "", marks);
      shape("path", {d: "M0 0L8 4L0 8Z", style: `fill: var(--${name})`}, "", mark);
    }
    for (const frame of this.frames) {
      if (frame.task >= 0) shape("rect", {class: "frame", x: frame.left, y: 8, width: frame.right - frame.left, height: this.height - 16, rx: 6});
      shape("text", {class: "title", x: (frame.left + frame.right) / 2, y: 24}, frame.task < 0 ? "collectives" : this.plan.columns[frame.columns[0][0]][1]);
      for (const [column, left, right] of frame.columns) {
        if (!this.plan.columns[column][2]) continue;
        shape("rect", {class: "inner", x: left + 2, y: 30, width: right - left - 4, height: this.height - 44, rx: 4});
        shape("text", {x: (left + right) / 2, y: 42}, this.plan.columns[column][2]);
      }
    }
    for (const arrow of arrows) this.drawArrow(shape, arrow);
    for (const node of nodes) this.drawNode(shape, node, arrows);
    for (const {label} of arrows) if (label) svg.append(label);
    this.svg = svg;
    this.holder.replaceChildren(svg);
    this.fit();
  }

  drawArrow(shape, arrow) {
    const {a, b, kept, messages, size} = arrow, column = node => this.plan.columns[node.column][0], crosses = column(a) !== column(b);
    const [x1, x2] = [a.x, b.x], down = b.y - b.height / 2 > a.y + a.height / 2;
    let d;
    if (down && !kept) {
      const y1 = a.y + a.height / 2, y2 = b.y - b.height / 2 - 1, bend = Math.min((y2 - y1) / 2, 60);
      d = `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2}`;
    } else {
      const side = x2 > x1 ? 1 : -1, out = a.column === b.column ? -1 : side;
      const from = x1 + out * a.width / 2, to = x2 - (a.column === b.column ? 1 : side) * b.width / 2;
      d = `M${from} ${a.y}C${from + out * 40} ${a.y} ${to - (a.column === b.column ? 1 : side) * 40} ${b.y} ${to} ${b.y}`;
    }
    arrow.path = shape("path", {class: "arrow" + (kept ? " kept" : "") + (crosses ? " message" : ""), d, "marker-end": `url(#tip-${crosses ? "message" : "value"})`});
    if (messages === 0) return;
    arrow.label = shape("text", {class: "size", x: (x1 + x2) / 2, y: (a.y + b.y) / 2 + 4}, (messages > 1 ? plural(messages, "message") + ", " : "") + bytes(size));
  }

  drawNode(shape, node, arrows) {
    const {x, y, width, height} = node, left = x - width / 2, top = y - height / 2;
    const box = shape("g", {class: "box" + (node.opens ? node.folded ? " opens" : " closes" : ""), tabindex: node.opens ? 0 : -1, "data-fold": node.fold});
    const fill = `fill: var(--${this.plan.kinds[node.kind]})`;
    if (this.plan.kinds[node.kind] === "variable") {
      shape("path", {d: `M${left} ${top + 3}Q${x} ${top - 5} ${left + width} ${top + 3}V${top + height - 3}Q${x} ${top + height + 5} ${left} ${top + height - 3}Z`, style: fill}, "", box);
    } else if (this.plan.kinds[node.kind] === "collective") {
      shape("path", {d: `M${left - 6} ${y}L${left + 4} ${top}H${left + width - 4}L${left + width + 6} ${y}L${left + width - 4} ${top + height}H${left + 4}Z`, style: fill}, "", box);
    } else {
      shape("rect", {x: left, y: top, width, height, rx: 5, style: fill}, "", box);
    }
    node.text.forEach((line, i) => shape("text", {x, y: top + 4 + kLine * (i + 0.75)}, line, box));
    tell(box, [...node.lines, ...node.line ? [node.line] : [], ...node.opens ? [node.folded ? "click to open" : "click to fold"] : []].join("\n"));
    const mine = arrows.filter(({a, b}) => a === node || b === node), near = on => mine.forEach(({path}) => path.classList.toggle("near", on));
    for (const [event, on] of [["pointerenter", true], ["pointerleave", false], ["focus", true], ["blur", false]]) box.addEventListener(event, () => near(on));
    if (!node.opens) return;
    box.setAttribute("role", "button");
    box.setAttribute("aria-expanded", String(!node.folded));
    box.setAttribute("aria-label", node.lines.join(", "));
    box.addEventListener("click", () => { tip.hidden = true; this.toggle(node.fold); });
    box.addEventListener("keydown", event => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      this.toggle(node.fold);
    });
  }

  /// Smaller where the page is narrow, as far as letters stay legible.
  fit() {
    const scale = Math.min(1, Math.max(0.75, (this.holder.clientWidth - 2) / this.width));
    this.svg.setAttribute("width", this.width * scale);
    this.svg.setAttribute("height", this.height * scale);
  }
}

function plans(one) {
  const drawn = (one.run.plans ?? []).filter(plan => plan.boxes.length);
  if (drawn.length === 0) return;
  const element = section("The placed plan" + naming(one), "The work of each task in a step, from top to bottom. Tasks that do the same are drawn once.");
  legend(element, [["kernel", "kernels"], ["port", "feeds, fetches, sends, receives"], ["variable", "variables"], ["collective", "collectives of several tasks"], ["message", "from task to task, with bytes"]]);
  for (const plan of drawn) {
    if (drawn.length > 1) add(element, "h3", plan.entry);
    if (plan.roles > 16) add(element, "p", `The first 16 of ${plural(plan.roles, "role")}.`, {class: "note"});
    new PlanPicture(plan, element);
  }
}
