#include "placement/program/parts.hpp"

namespace ferry {

std::int64_t coordinate(const Where& where, std::size_t position, std::size_t axis) {
  auto rest = static_cast<std::int64_t>(position);
  for (std::size_t a = where.axes.size(); a > axis + 1; --a) rest /= where.axes[a - 1];
  return rest % where.axes[axis];
}

std::vector<std::int64_t> local_sizes(const Program& program, const PValue& value, std::int32_t task) {
  std::vector<std::int64_t> sizes = value.type.shape.sizes();
  const Where& where = program.wheres[value.where];
  const std::size_t position = where.position(task);
  for (std::size_t axis = 0; axis < value.layout.size(); ++axis) {
    if (value.layout[axis].kind != AxisLayout::Kind::split) continue;
    std::int64_t& size = sizes[value.layout[axis].dim];
    size = part_of(size, where.axes[axis], coordinate(where, position, axis)).size;
  }
  if (value.rows != kNone)
    for (const ProgramRows& rows : program.rows[value.rows])
      sizes[rows.dim] = rows.halo.rows_read(coordinate(where, position, rows.axis)).size;
  if (value.halo != kNone) {
    const ProgramHalo& halo = program.halos[value.halo];
    sizes[halo.dim] = halo.rows(coordinate(where, position, halo.axis));
  }
  return sizes;
}

std::uint32_t held_window(const Program& program, const PValue& value, PlanTables& tables,
                          const std::function<std::uint32_t(std::uint32_t)>& grouping) {
  const Where& where = program.wheres[value.where];
  Window window;
  for (std::size_t axis = 0; axis < value.layout.size(); ++axis)
    if (value.layout[axis].kind == AxisLayout::Kind::split)
      window.splits.push_back({static_cast<std::uint32_t>(value.layout[axis].dim), grouping(where.groupings[axis])});
  if (window.splits.empty()) return kNone;
  window.sizes = value.type.shape.sizes();
  if (value.rows != kNone) {
    window.has = Window::Has::read;
    for (const ProgramRows& rows : program.rows[value.rows])
      window.rows.push_back({static_cast<std::uint32_t>(rows.dim), rows.halo.reads[0]});
  }
  if (value.halo != kNone) {
    const ProgramHalo& halo = program.halos[value.halo];
    window.has = halo.got ? Window::Has::got : Window::Has::given;
    window.halo_dim = static_cast<std::uint32_t>(halo.dim);
    window.reads = halo.halo.reads;
  }
  return tables.window(std::move(window));
}

bool is_even(const Program& program, const PValue& value, std::size_t but) {
  const Where& where = program.wheres[value.where];
  std::vector<std::int64_t> sizes = value.type.shape.sizes();
  if (value.rows != kNone)
    for (const ProgramRows& rows : program.rows[value.rows])
      for (std::int64_t task = 1; task < rows.halo.parts && rows.axis != but; ++task)
        if (rows.halo.rows_read(task).size != rows.halo.rows_read(0).size) return false;
  for (std::size_t axis = 0; axis < value.layout.size(); ++axis) {
    if (value.layout[axis].kind != AxisLayout::Kind::split || axis == but) continue;
    std::int64_t& size = sizes[value.layout[axis].dim];
    if (size % where.axes[axis] != 0) return false;
    size /= where.axes[axis];
  }
  return true;
}

bool is_fed_by_parts(const Program& program, const Node& feed) {
  return program.signature->feeds[feed.detail].by_parts;
}

Layout fed_layout(const Program& program, const Node& feed) {
  const Where& where = program.where(feed);
  return where.laid_out(Layout(where.axes.size(), is_fed_by_parts(program, feed) ? split(0) : replicated()));
}

std::int32_t sender_of(const Program& program, const Node& transfer) {
  return program.wheres[program.values[program.inputs(transfer)[0]].where].tasks[0];
}

bool is_on_gpu(const Program& program, PValueId value) {
  const Node& maker = program.nodes[program.values[program.stored(value)].producer];
  return maker.kind != NodeKind::feed && !program.runs_on_host(maker) &&
         program.wheres[program.values[value].where].kind == DeviceKind::gpu;
}

}  // namespace ferry
