#include "placement/layout/converter.hpp"

#include <algorithm>
#include <utility>

#include "ops/control/comm.hpp"

namespace ferry {

namespace {

using Kind = AxisLayout::Kind;

Axes only(std::span<const std::size_t> chosen, std::size_t axes) {
  Axes some(axes);
  for (const std::size_t axis : chosen) some[axis] = true;
  return some;
}

Axes only(std::size_t axis, std::size_t axes) {
  return only({&axis, 1}, axes);
}

/// The layout's entries for these axes.
Layout of(const Layout& layout, const Axes& axes) {
  Layout part;
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (axes[axis]) part.push_back(layout[axis]);
  return part;
}

}  // namespace

void Converter::place(PValueId value, WhereId where, Layout layout) {
  program_.values[value].where = where;
  program_.values[value].layout = program_.intern(program_.wheres[where].laid_out(std::move(layout)));
}

PValueId Converter::current(PValueId value) const {
  const auto found = replaced_.find(value);
  return found == replaced_.end() ? value : found->second;
}

void Converter::replace(PValueId value, WhereId where, const Layout& layout) {
  const PValueId now = get_version(value, where, layout);
  if (now != value) replaced_[value] = now;
}

PValueId Converter::get_version(PValueId original, WhereId where, const Layout& wanted) {
  const PValueId value = current(original);
  const Layout layout = program_.wheres[where].laid_out(wanted);
  const PValue& v = program_.values[value];
  if (v.where == where && v.layout == layout) return value;
  const auto key = std::make_tuple(value, where, str(layout));
  if (const auto found = made_.find(key); found != made_.end()) return found->second;
  const auto bringing = reasons_.bringing(value);
  const PValueId result = v.where == kNone ? copy_constant(value, where, layout) : convert(value, where, layout);
  reasons_.brought(result);
  return made_[key] = result;
}

PValueId Converter::whole(PValueId value) {
  const auto asking = reasons_.asking_along({});
  const WhereId where = program_.values[value].where;
  return get_version(value, where, program_.wheres[where].all_replicated());
}

PValueId Converter::convert_on_own_mesh(PValueId value, const Layout& layout, std::span<const std::uint32_t> axes) {
  const auto asking = reasons_.asking_along(axes);
  return get_version(value, program_.values[value].where, layout);
}

PValueId Converter::convert(PValueId value, WhereId where, const Layout& layout) {
  const PValue from = program_.values[value];
  const Where& source = program_.wheres[from.where];
  const Where& target = program_.wheres[where];
  if (from.where != where && source.tasks == target.tasks && source.axes == target.axes)
    return copied(get_version(value, from.where, layout), where, layout);
  if (!takes_extent(from, where, layout)) return convert_bounded(value, where, layout);
  if (from.where == where) return convert_axes(value, layout);
  if (!source.single()) {
    if (target.tasks.size() == 1) {
      if (const PValueId joined = to_root(value, target.tasks[0], where); joined != kNone) return joined;
      if (covers(source, target)) {  // the task has its own copy
        const PValueId all = whole(value);
        return same_devices(source, target) ? all : copied(all, where, layout);
      }
    }
    if (const PValueId parts = move_between_meshes(value, where, layout); parts != kNone) return parts;
    if (!target.single() && covers(source, target)) {
      const PValueId all = whole(value);
      return cut_after_moving(same_devices(source, target) ? all : copied(all, where, target.all_replicated()), where,
                              layout);
    }
    const std::int32_t task = source.tasks[0];  // it has the whole value, or gets it
    const PValueId joined = to_root(value, task, program_.single(task, source.kind, source.index));
    return from_device(joined != kNone ? joined : whole(value), task, where, layout);
  }
  return from_device(value, source.tasks[0], where, layout);
}

bool Converter::takes_extent(const PValue& from, WhereId where, const Layout& layout) const {
  if (!from.type.shape.bounded()) return true;
  const auto is_whole = [](const AxisLayout& axis) { return axis == replicated(); };
  if (from.where != where)
    return std::ranges::all_of(Layout(from.layout), is_whole) && std::ranges::all_of(layout, is_whole);
  return std::ranges::all_of(conversion(from.layout, layout),
                             [](const ConversionStep& step) { return step.before == replicated(); });
}

PValueId Converter::convert_bounded(PValueId value, WhereId where, const Layout& layout) {
  const PValue from = program_.values[value];
  Type known = from.type;
  known.shape[0] = known.shape[0].size();
  Layout extents = from.layout;
  for (AxisLayout& axis : extents) axis = axis == split(0) ? partial(Reduce::sum) : replicated();
  const PValueId elements = computed(kFillBound, {&value, 1}, known, from.where, from.layout);
  const PValueId extent = computed(kExtentOf, {&value, 1}, {DType::int64, Shape{1}}, from.where, extents);
  reasons_.copy_causes(elements, value);
  const PValueId laid = get_version(elements, where, layout);
  const auto asking = reasons_.asking_along({});
  const PValueId parts[] = {laid, get_version(extent, where, Layout(layout.size()))};
  return computed(kWithExtent, parts, from.type, where, layout);
}

bool Converter::same_devices(const Where& a, const Where& b) {
  return a.kind == b.kind && a.index == b.index;
}

bool Converter::covers(const Where& source, const Where& target) {
  return std::all_of(target.tasks.begin(), target.tasks.end(), [&](std::int32_t t) { return source.has(t); });
}

PValueId Converter::copied(PValueId value, WhereId where, const Layout& layout) {
  return finish(added(NodeKind::copy, value), value, where, layout);
}

PValueId Converter::from_device(PValueId value, std::int32_t task, WhereId where, const Layout& layout) {
  const Where& target = program_.wheres[where];
  const Where& source = program_.wheres[program_.values[value].where];
  if (target.tasks.size() == 1 && target.tasks[0] == task)
    return same_devices(source, target) ? value : copied(value, where, layout);
  if (target.single()) {
    const PValueId moved = finish(added(NodeKind::transfer, value), value, where, {});
    reasons_.added(program_.values[moved].producer);
    return moved;
  }
  const Layout all = target.all_replicated();
  if (layout == all) {
    const Members members = with_root(target.tasks, task);
    return collective(value, {CollectiveKind::broadcast, Reduce::none, members}, where, all);
  }
  if (made(value, where, all)) return get_version(get_version(value, where, all), where, layout);
  return spread(value, task, where, layout);
}

PValueId Converter::spread(PValueId value, std::int32_t task, WhereId where, const Layout& layout) {
  Axes reached(layout.size()), rest(layout.size(), true);
  for (std::size_t axis = 0; axis < layout.size(); ++axis) {
    if (layout[axis].kind != Kind::split) continue;
    const PValue from = program_.values[value];
    const std::int64_t parts = program_.wheres[where].axes[axis];
    const PValueId cut = parts_op(kCutParts, value, layout[axis].dim, parts, from.where, from.layout);
    const Members members = along(where, task, reached, only(axis, layout.size()));
    reached[axis] = true;
    rest[axis] = false;
    const WhereId at = part_at(where, task, reached);
    value = collective(cut, {CollectiveKind::scatter, Reduce::none, members, layout[axis].dim}, at,
                       at == where ? layout : of(layout, reached), axis);
    if (at == where) return value;
  }
  const ProgramCollective broadcast{CollectiveKind::broadcast, Reduce::none, along(where, task, reached, rest)};
  return collective(value, broadcast, where, layout);
}

PValueId Converter::move_between_meshes(PValueId value, WhereId where, const Layout& layout) {
  const WhereId at = program_.values[value].where;
  const std::vector<std::size_t> alike = matching_axes(value, where, layout);
  if (alike.empty()) return kNone;
  Layout there = program_.wheres[at].all_replicated();
  std::vector<std::uint32_t> asked(there.size(), kNone);
  Axes source_axes(there.size()), split_axes(layout.size()), copied(layout.size());
  for (std::size_t axis = 0, k = 0; axis < layout.size(); ++axis) {
    split_axes[axis] = layout[axis].kind == Kind::split;
    copied[axis] = !split_axes[axis];
    if (!split_axes[axis]) continue;
    source_axes[alike[k]] = true;
    asked[alike[k]] = static_cast<std::uint32_t>(axis);
    there[alike[k++]] = layout[axis];
  }
  const PValueId cut = convert_on_own_mesh(value, there, asked);
  const Where &source = program_.wheres[at], &target = program_.wheres[where];
  const std::vector<std::size_t> givers = positions(source, 0, source_axes);
  const std::vector<std::size_t> first_getters = positions(target, 0, split_axes);
  Grouping groups;
  for (std::size_t part = 0; part < givers.size(); ++part) {
    std::vector<std::int32_t>& group = groups.emplace_back();
    for (const std::size_t getter : positions(target, first_getters[part], copied))
      group.push_back(target.tasks[getter]);
    group.push_back(source.tasks[givers[part]]);
  }
  const auto root = static_cast<std::int32_t>(groups[0].size() - 1);
  const Members members{.grouping = program_.intern(std::move(groups)), .root = root, .guest_root = true};
  return collective(cut, {CollectiveKind::broadcast, Reduce::none, members}, where, layout);
}

std::vector<std::size_t> Converter::matching_axes(PValueId value, WhereId where, const Layout& layout) const {
  const PValue& from = program_.values[value];
  const Where &source = program_.wheres[from.where], &target = program_.wheres[where];
  if (std::ranges::any_of(target.tasks, [&](std::int32_t task) { return source.has(task); })) return {};
  std::vector<std::size_t> chosen, best;
  std::int64_t least = 0;
  Layout there = source.all_replicated();
  const auto choose = [&](const auto& self, std::size_t axis, std::size_t next) -> void {
    while (axis < layout.size() && layout[axis].kind != Kind::split) ++axis;
    if (axis == layout.size()) {
      const std::int64_t cost = conversion_cost(program_, from.type, source, from.layout, there);
      if (chosen.empty() || (!best.empty() && cost >= least)) return;
      best = chosen;
      least = cost;
      return;
    }
    for (; next < source.axes.size(); ++next) {
      if (source.axes[next] != target.axes[axis]) continue;
      there[next] = layout[axis];
      chosen.push_back(next);
      self(self, axis + 1, next + 1);
      chosen.pop_back();
      there[next] = replicated();
    }
  };
  choose(choose, 0, 0);
  return best;
}

PValueId Converter::cut_after_moving(PValueId whole, WhereId where, const Layout& layout) {
  const Layout all(layout.size());
  if (layout == all) return whole;
  return take_part(whole, where, layout);
}

PValueId Converter::to_root(PValueId original, std::int32_t task, WhereId where) {
  const PValue from = program_.values[original];
  const Layout layout = from.layout;
  if (layout == Layout(layout.size()) || made(original, from.where, Layout(layout.size()))) return kNone;
  Axes left(layout.size());
  for (std::size_t axis = 0; axis < layout.size(); ++axis) left[axis] = layout[axis] != replicated();
  PValueId value = original;
  for (const Kind kind : {Kind::partial, Kind::split})
    for (std::size_t axis = layout.size(); axis > 0; --axis) {
      if (layout[axis - 1].kind != kind || !left[axis - 1]) continue;
      Axes joined(layout.size());  // a sum includes the other axes with the same operator
      for (std::size_t other = 0; other < axis; ++other)
        joined[other] = other == axis - 1 || (kind == Kind::partial && layout[other] == layout[axis - 1]);
      for (std::size_t other = 0; other < axis; ++other) left[other] = left[other] && !joined[other];
      const Members members = along(from.where, task, left, joined);
      const bool last = std::find(left.begin(), left.end(), true) == left.end();
      const WhereId at = last ? where : part_at(from.where, task, left);
      value = join(value, layout[axis - 1], members, at,
                   last ? program_.wheres[where].all_replicated() : of(layout, left), axis - 1);
    }
  return value;
}

PValueId Converter::join(PValueId value, const AxisLayout& before, const Members& members, WhereId where,
                         const Layout& layout, std::size_t axis) {
  if (before.kind == Kind::partial)
    return collective(value, {CollectiveKind::reduce, before.reduce, members}, where, layout, axis);
  const auto guests = members.guest_root ? 1 : 0;
  const auto parts = static_cast<std::int64_t>(program_.groupings[members.grouping][0].size()) - guests;
  const ProgramCollective gather{CollectiveKind::gather, Reduce::none, members, before.dim};
  return parts_op(kJoinParts, collective(value, gather, where, layout, axis), before.dim, parts, where, layout);
}

PValueId Converter::convert_axes(PValueId original, const Layout& layout) {
  PValueId value = nearest(original, layout);
  for (const ConversionStep& step : conversion(program_.values[value].layout, layout))
    value = convert_axis(value, step);
  return value;
}

PValueId Converter::nearest(PValueId value, const Layout& layout) const {
  const PValue& v = program_.values[value];
  const auto cost = [&](PValueId from) {
    return conversion_cost(program_, v.type, program_.wheres[v.where], program_.values[from].layout, layout);
  };
  PValueId best = value;
  for (auto it = made_.lower_bound({value, v.where, ""}); it != made_.end(); ++it) {
    const auto& [of, where, text] = it->first;
    if (of != value || where != v.where) break;
    if (const std::int64_t from_here = cost(it->second); from_here >= 0 && from_here < cost(best)) best = it->second;
  }
  return best;
}

PValueId Converter::convert_axis(PValueId value, const ConversionStep& step) {
  const PValue from = program_.values[value];
  const std::size_t axis = step.axes[0];
  const std::uint32_t grouping = program_.wheres[from.where].groupings[axis];
  const std::int64_t members = program_.wheres[from.where].axes[axis];
  Layout layout = from.layout;
  step.apply(layout);
  const bool to_parts = step.after.kind == Kind::split;
  if (step.before.kind == Kind::replicated) return take_part(value, from.where, layout);
  if (step.is_all_reduce())
    return collective(value, {CollectiveKind::all_reduce, step.before.reduce, all_along(from.where, step.axes)},
                      from.where, layout, axis);
  if (step.before.kind == Kind::partial) {
    const PValueId cut = parts_op(kCutParts, value, step.after.dim, members, from.where, from.layout);
    return collective(cut, {CollectiveKind::reduce_scatter, step.before.reduce, {grouping}, step.after.dim}, from.where,
                      layout, axis);
  }
  if (to_parts) return exchange(value, step, layout);
  const PValueId parts = collective(value, {CollectiveKind::all_gather, Reduce::none, {grouping}, step.before.dim},
                                    from.where, layout, axis);
  return parts_op(kJoinParts, parts, step.before.dim, members, from.where, layout);
}

PValueId Converter::exchange(PValueId value, const ConversionStep& step, const Layout& layout) {
  const PValue from = program_.values[value];
  const std::size_t axis = step.axes[0];
  const std::uint32_t grouping = program_.wheres[from.where].groupings[axis];
  const std::int64_t members = program_.wheres[from.where].axes[axis];
  const PValueId cut = parts_op(kCutParts, value, step.after.dim, members, from.where, from.layout);
  const PValueId blocks =
      collective(cut, {CollectiveKind::all_to_all, Reduce::none, {grouping}, step.after.dim}, from.where, layout, axis);
  return parts_op(kJoinParts, blocks, step.before.dim, members, from.where, layout);
}

Node Converter::added(NodeKind kind, PValueId value) const {
  const PValue& v = program_.values[value];
  Node node;
  node.kind = kind;
  node.once = kind == NodeKind::compute && program_.nodes[v.producer].once;
  node.graph = v.graph;
  node.op = v.graph->producer(v.value);
  return node;
}

PValueId Converter::finish(Node node, PValueId value, WhereId where, const Layout& layout) {
  const Type type = program_.values[value].type;
  return finish(node, {&value, 1}, type, where, layout);
}

PValueId Converter::finish(Node node, std::span<const PValueId> inputs, const Type& type, WhereId where,
                           const Layout& layout) {
  node.where = where;
  const ValueId shown = program_.values[inputs[0]].value;
  const NodeId id = program_.add(node, inputs, {&type, 1});
  const PValueId result = program_.nodes[id].outputs[0];
  program_.values[result].value = shown;
  place(result, where, layout);
  emit(id);
  return result;
}

PValueId Converter::halo(PValueId value, const CutAxis& cut, const Halo& halo) {
  if (most_rows_got(halo) == 0) return kNone;
  const Attrs attrs = halo_attrs(halo, cut.dim);
  const auto same = first_rows_.find(value);
  const auto key =
      std::make_tuple(same == first_rows_.end() ? value : same->second, cut.axis, attrs.get<Ints>("reads"));
  if (const auto found = halos_.find(key); found != halos_.end()) return found->second;
  const auto brought = [&](PValueId rows, bool got) {
    program_.values[rows].halo = static_cast<std::uint32_t>(program_.halos.size());
    program_.values[rows].rows = program_.values[value].rows;
    program_.halos.push_back({cut.axis, cut.dim, halo, got});
    return rows;
  };
  const PValue from = program_.values[value];
  const auto bringing = reasons_.bringing(value);
  const PValueId given = brought(computed(kCutHalo, {&value, 1}, from.type, from.where, from.layout, attrs), false);
  const std::uint32_t grouping = program_.wheres[from.where].groupings[cut.axis];
  const ProgramCollective exchange{
      CollectiveKind::all_to_all, Reduce::none, {grouping}, static_cast<std::int16_t>(cut.dim)};
  return halos_[key] = brought(collective(given, exchange, from.where, from.layout, cut.axis), true);
}

PValueId Converter::window(PValueId value, PValueId halo, const WindowOf& window, Attrs attrs) {
  const PValue from = program_.values[value];
  std::vector<std::int64_t> sizes;
  for (const Reads& dim : window.dims) sizes.push_back(dim.size);
  const PValueId inputs[] = {value, halo};
  return computed(kWindow, std::span(inputs).first(halo == kNone ? 1 : 2),
                  {from.type.dtype, Shape(std::span<const std::int64_t>(sizes))}, from.where, from.layout,
                  std::move(attrs));
}

PValueId Converter::rows(PValueId value, PValueId halo, const CutAxis& cut, const Reads& reads) {
  const PValue from = program_.values[value];
  const std::int64_t whole = from.type.shape[static_cast<int>(cut.dim)].size();
  const Halo read{whole, program_.wheres[from.where].axes[cut.axis], {reads}};
  Attrs attrs = rows_attrs(from.type.shape, read, cut.dim);
  const auto same = first_rows_.find(value);
  const auto key =
      std::make_tuple(same == first_rows_.end() ? value : same->second, cut.axis, attrs.get<Ints>("reads"));
  const PValueId inputs[] = {value, halo};
  Layout layout = from.layout;
  layout[cut.axis] = split(static_cast<int>(cut.dim));
  const PValueId made = computed(kWindow, std::span(inputs).first(halo == kNone ? 1 : 2), from.type, from.where, layout,
                                 std::move(attrs));
  std::vector<ProgramRows> rows;
  if (from.rows != kNone) rows = program_.rows[from.rows];
  rows.push_back({cut.axis, cut.dim, read});
  program_.values[made].rows = static_cast<std::uint32_t>(program_.rows.size());
  program_.rows.push_back(std::move(rows));
  if (const auto [at, fresh] = rows_.try_emplace(key, made); !fresh) first_rows_[made] = at->second;
  return made;
}

PValueId Converter::computed(const OpDef& def, std::span<const PValueId> inputs, const Type& type, WhereId where,
                             const Layout& layout, Attrs attrs) {
  Node node = added(NodeKind::compute, inputs[0]);
  node.once =
      std::ranges::all_of(inputs, [&](PValueId input) { return program_.nodes[program_.values[input].producer].once; });
  node.def = &def;
  static const Attrs kNoAttrs;
  node.attrs = attrs.empty() ? &kNoAttrs : &program_.added_attrs.emplace_back(std::move(attrs));
  return finish(node, inputs, type, where, layout);
}

PValueId Converter::collective(PValueId value, const ProgramCollective& what, WhereId where, const Layout& layout,
                               std::size_t axis) {
  Node node = added(NodeKind::collective, value);
  node.detail = static_cast<std::uint32_t>(program_.collectives.size());
  program_.collectives.push_back(what);
  const PValueId result = finish(node, value, where, layout);
  reasons_.added(program_.values[result].producer, axis);
  return result;
}

Members Converter::with_root(std::vector<std::int32_t> group, std::int32_t root) {
  const auto at = std::find(group.begin(), group.end(), root);
  Members members{.root = static_cast<std::int32_t>(at - group.begin()), .guest_root = at == group.end()};
  if (members.guest_root) group.push_back(root);
  members.grouping = program_.intern(Grouping{std::move(group)});
  return members;
}

Members Converter::all_along(WhereId mesh, std::span<const std::size_t> axes) {
  const Where& where = program_.wheres[mesh];
  if (axes.size() == 1) return {where.groupings[axes[0]]};
  const Axes along = only(axes, where.axes.size());
  Axes others = along;
  others.flip();
  return {groups_along(program_, mesh, 0, others, along).grouping};
}

std::size_t Converter::corner(WhereId mesh, std::int32_t task) const {
  const Where& where = program_.wheres[mesh];
  return where.has(task) ? where.position(task) : 0;
}

WhereId Converter::part_at(WhereId mesh, std::int32_t task, const Axes& axes) {
  return part_of_mesh(program_, mesh, corner(mesh, task), axes);
}

Members Converter::along(WhereId mesh, std::int32_t task, const Axes& others, const Axes& axes) {
  const Members members = groups_along(program_, mesh, corner(mesh, task), others, axes);
  const bool alone = std::find(others.begin(), others.end(), true) == others.end();
  return alone ? with_root(program_.groupings[members.grouping][0], task) : members;
}

bool Converter::made(PValueId value, WhereId where, const Layout& layout) const {
  return made_.contains(std::make_tuple(value, where, str(layout)));
}

PValueId Converter::take_part(PValueId value, WhereId where, const Layout& layout) {
  const Type type = program_.values[value].type;
  return computed(kTakePart, {&value, 1}, type, where, layout);
}

PValueId Converter::parts_op(const OpDef& def, PValueId value, int dim, std::int64_t parts, WhereId where,
                             const Layout& layout) {
  const Shape& shape = program_.values[value].type.shape;
  bool contiguous = true;
  for (int d = 0; d < dim; ++d) contiguous = contiguous && shape[d].size() == 1;
  if (contiguous) return value;
  Node node = added(NodeKind::compute, value);
  node.def = &def;
  program_.added_attrs.push_back({{"dim", static_cast<std::int64_t>(dim)}, {"parts", parts}});
  node.attrs = &program_.added_attrs.back();
  return finish(node, value, where, layout);
}

PValueId Converter::copy_constant(PValueId value, WhereId where, const Layout& layout) {
  const PValue from = program_.values[value];
  const Layout whole = program_.wheres[where].all_replicated();
  if (layout != whole) return get_version(get_version(value, where, whole), where, layout);
  Node node = program_.nodes[from.producer];
  node.where = where;
  const NodeId id = program_.add(node, {}, {&from.type, 1});
  const PValueId result = program_.nodes[id].outputs[0];
  program_.values[result].value = from.value;
  place(result, where, whole);
  emit(id);
  return result;
}

}  // namespace ferry
