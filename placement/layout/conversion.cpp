#include "placement/layout/conversion.hpp"

#include <algorithm>
#include <optional>

#include "base/error.hpp"
#include "base/planned_time.hpp"

namespace ferry {
namespace {

using Kind = AxisLayout::Kind;

bool splits(const AxisLayout& axis, std::int16_t dim) {
  return axis.kind == Kind::split && axis.dim == dim;
}

class Conversion {
 public:
  Conversion(const Layout& from, const Layout& to) : now_(from), to_(to) {}

  std::vector<ConversionStep> steps() {
    while (now_ != to_) {
      const auto step = next();
      FERRY_ASSERT(step, "no conversion from " + str(now_) + " to " + str(to_));
      step->apply(now_);
      steps_.push_back(*step);
    }
    return steps_;
  }

 private:
  /// The next step. This order of kinds moves the least: cutting or reducing early makes later steps smaller.
  std::optional<ConversionStep> next() const {
    for (const auto kind :
         {&Conversion::after_local_cut, &Conversion::after_reduce_scatter, &Conversion::after_all_to_all,
          &Conversion::after_all_reduce, &Conversion::after_all_gather})
      for (std::size_t axis = now_.size(); axis > 0; --axis)
        if (const auto after = (this->*kind)(axis - 1)) return step(axis - 1, *after);
    return std::nullopt;
  }

  /// The step of an axis. An all-reduce includes the other axes that need the same all-reduce.
  ConversionStep step(std::size_t axis, const AxisLayout& after) const {
    ConversionStep one{{axis}, now_[axis], after};
    if (!one.is_all_reduce()) return one;
    one.axes.clear();
    for (std::size_t other = 0; other < now_.size(); ++other)
      if (now_[other] == one.before && to_[other] == after) one.axes.push_back(other);
    return one;
  }

  std::optional<AxisLayout> after_local_cut(std::size_t axis) const {
    if (now_[axis].kind == Kind::replicated && may_split(axis)) return to_[axis];
    return std::nullopt;
  }
  std::optional<AxisLayout> after_reduce_scatter(std::size_t axis) const {
    if (now_[axis].kind == Kind::partial && may_split(axis)) return to_[axis];
    return std::nullopt;
  }
  std::optional<AxisLayout> after_all_to_all(std::size_t axis) const {
    if (now_[axis].kind == Kind::split && now_[axis] != to_[axis] && is_last(axis) && may_split(axis)) return to_[axis];
    return std::nullopt;
  }
  std::optional<AxisLayout> after_all_reduce(std::size_t axis) const {
    if (now_[axis].kind == Kind::partial && to_[axis].kind == Kind::replicated) return to_[axis];
    return std::nullopt;
  }
  std::optional<AxisLayout> after_all_gather(std::size_t axis) const {
    if (now_[axis].kind == Kind::split && is_last(axis) && (now_[axis] != to_[axis] || earlier_changes(axis)))
      return replicated();
    return std::nullopt;
  }

  /// Whether the axis can become split as in to_: the other axes that split the dim now must be exactly the earlier
  /// axes that split it in to_.
  bool may_split(std::size_t axis) const {
    if (to_[axis].kind != Kind::split) return false;
    const std::int16_t dim = to_[axis].dim;
    for (std::size_t other = 0; other < now_.size(); ++other) {
      if (other == axis) continue;
      if (splits(now_[other], dim) != (other < axis && splits(to_[other], dim))) return false;
    }
    return true;
  }
  bool is_last(std::size_t axis) const {
    for (std::size_t later = axis + 1; later < now_.size(); ++later)
      if (splits(now_[later], now_[axis].dim)) return false;
    return true;
  }
  bool earlier_changes(std::size_t axis) const {
    const std::int16_t dim = now_[axis].dim;
    for (std::size_t earlier = 0; earlier < axis; ++earlier)
      if (splits(now_[earlier], dim) != splits(to_[earlier], dim)) return true;
    return false;
  }

  Layout now_;
  const Layout& to_;
  std::vector<ConversionStep> steps_;
};

/// The time in picoseconds of messages of `bytes` bytes on a link, including the receiver's wait.
std::int64_t time_of(const Program& program, const LinkCost& link, std::int64_t bytes) {
  if (bytes == 0) return 0;
  return add_times(rounded_time(program.topology->compute.wait) + latency_picoseconds(link),
                   moving_picoseconds(link, bytes));
}

/// The time in picoseconds of an all-reduce of a value of `bytes` bytes.
std::int64_t all_reduce_cost(const Program& program, const SumMembers& members, std::int64_t bytes) {
  const LinkCost on_host = program.topology->sums(true), between = program.topology->sums(false);
  const std::int64_t inside = sum_bytes(bytes, members.on_host), outside = sum_bytes(bytes, members.hosts);
  if (outside == 0) return time_of(program, on_host, inside);
  return add_times(time_of(program, between, outside), moving_picoseconds(on_host, inside));
}

/// The time in picoseconds of a reduce-scatter along an axis; each task sends `bytes` bytes.
std::int64_t reduce_scatter_cost(const Program& program, const Where& where, std::size_t axis, std::int64_t bytes) {
  return time_of(program, program.topology->sums(!where.between_hosts[axis]), bytes);
}

/// The bytes that one task sends in a step; `whole`: the bytes of its part if it were not split along the step's axis.
std::int64_t moved_bytes(const ConversionStep& step, std::int64_t whole, std::int64_t members) {
  if (step.before.kind == Kind::replicated) return 0;
  const std::int64_t part = (whole + members - 1) / members;
  switch (step.after.kind) {
    case Kind::replicated:
      return part * (members - 1);
    default:
      return step.before.kind == Kind::partial ? part * (members - 1) : part * (members - 1) / members;
  }
}

/// The sizes of the largest part; a bounded dim has its bound.
std::vector<std::int64_t> part_sizes(const Type& type, const Layout& layout, const Where& where) {
  std::vector<std::int64_t> sizes = type.shape.sizes();
  for (std::size_t axis = 0; axis < layout.size(); ++axis) {
    if (layout[axis].kind != Kind::split) continue;
    std::int64_t& size = sizes[layout[axis].dim];
    size = (size + where.axes[axis] - 1) / where.axes[axis];
  }
  return sizes;
}

std::int64_t step_cost(const Program& program, const Type& type, const Where& where, const Layout& now,
                       const ConversionStep& step) {
  if (step.is_all_reduce())
    return all_reduce_cost(program, sum_members(where, step.axes), part_bytes(type, now, where));
  const std::int64_t bytes = sent_bytes(type, where, now, step);
  return step.before.kind == Kind::partial ? reduce_scatter_cost(program, where, step.axes[0], bytes)
                                           : message_cost(program, where, step.axes[0], bytes);
}

}  // namespace

std::int64_t latency_picoseconds(const LinkCost& link) {
  return rounded_time(link.latency_seconds * 1e12);
}

std::int64_t moving_picoseconds(const LinkCost& link, std::int64_t bytes) {
  return rounded_time(1e12 / link.bytes_per_second * static_cast<double>(bytes));
}

bool is_partial(const Layout& layout) {
  return std::ranges::any_of(layout, [](const AxisLayout& axis) { return axis.kind == Kind::partial; });
}

bool ConversionStep::is_all_reduce() const {
  return before.kind == Kind::partial && after.kind == Kind::replicated;
}

void ConversionStep::apply(Layout& layout) const {
  for (const std::size_t axis : axes) layout[axis] = after;
}

std::vector<ConversionStep> conversion(const Layout& from, const Layout& to) {
  return Conversion(from, to).steps();
}

Type part_type(const Type& type, const Layout& layout, const Where& where) {
  return {type.dtype, Shape(part_sizes(type, layout, where))};
}

std::int64_t part_bytes(const Type& type, const Layout& layout, const Where& where) {
  return checked_count(part_sizes(type, layout, where)) * static_cast<std::int64_t>(size_of(type.dtype));
}

std::int64_t sent_bytes(const Type& type, const Where& where, const Layout& now, const ConversionStep& step) {
  const std::size_t axis = step.axes[0];
  Layout unsplit = now;
  unsplit[axis] = replicated();
  return moved_bytes(step, part_bytes(type, unsplit, where), where.axes[axis]);
}

SumMembers sum_members(const Where& where, std::span<const std::size_t> axes) {
  SumMembers members;
  for (const std::size_t axis : axes) (where.between_hosts[axis] ? members.hosts : members.on_host) *= where.axes[axis];
  return members;
}

std::int64_t sum_bytes(std::int64_t bytes, std::int64_t members) {
  return 2 * ((bytes + members - 1) / members) * (members - 1);
}

std::int64_t conversion_cost(const Program& program, const Type& type, const Where& where, const Layout& from,
                             const Layout& to) {
  if (from == to) return 0;
  for (std::size_t axis = 0; axis < to.size(); ++axis)
    if (to[axis].kind == Kind::partial && from[axis] != to[axis]) return -1;
  std::int64_t cost = 0;
  Layout now = from;
  for (const ConversionStep& step : conversion(from, to)) {
    cost = add_times(cost, step_cost(program, type, where, now, step));
    step.apply(now);
  }
  return cost;
}

std::int64_t row_bytes(const Type& type, const Layout& layout, const Where& where, std::size_t axis,
                       std::int64_t rows) {
  Type brought = type;
  brought.shape[layout[axis].dim] = Dim(rows);
  Layout others = layout;
  others[axis] = replicated();
  return part_bytes(brought, others, where);
}

std::int64_t message_cost(const Program& program, const Where& where, std::size_t axis, std::int64_t bytes) {
  const LinkCost& link = where.between_hosts[axis] ? program.topology->between_hosts : program.topology->on_host;
  return time_of(program, link, bytes);
}

}  // namespace ferry
