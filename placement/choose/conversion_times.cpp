#include "placement/choose/conversion_times.hpp"

#include <algorithm>
#include <cmath>

#include "graph/op/op_time.hpp"
#include "graph/op/op_work.hpp"
#include "placement/messages/fuse_messages.hpp"
#include "placement/solve/problem.hpp"

namespace ferry {
namespace {

using Kind = AxisLayout::Kind;

}  // namespace

ConversionTimes::Number ConversionTimes::number(const Layout& layout) {
  const auto [found, fresh] = number_of_.try_emplace(str(layout), static_cast<Number>(layouts_.size()));
  if (fresh) layouts_.push_back(layout);
  return found->second;
}

ConversionTimes::Number ConversionTimes::number_of_type(PValueId value) {
  const auto [found, fresh] = type_of_.try_emplace(value);
  if (fresh)
    found->second =
        types_.try_emplace(program_.values[value].type.str(), static_cast<Number>(types_.size())).first->second;
  return found->second;
}

std::int64_t ConversionTimes::of(PValueId value, bool shares, Number from, Number to) {
  if (from == to) return 0;
  const bool once = program_.nodes[program_.values[value].producer].once;
  const std::uint64_t key = static_cast<std::uint64_t>(number_of_type(value)) << 34U |
                            static_cast<std::uint64_t>(once) << 33U | static_cast<std::uint64_t>(shares) << 32U |
                            static_cast<std::uint64_t>(from) << 16U | to;
  const auto [found, fresh] = times_.try_emplace(key);
  if (fresh) found->second = compute_time(program_.values[value].type, shares, once, layouts_[from], layouts_[to]);
  return found->second;
}

std::int64_t ConversionTimes::compute_time(const Type& type, bool shares, bool once, const Layout& from,
                                           const Layout& to) const {
  for (std::size_t axis = 0; axis < to.size(); ++axis)
    if (to[axis].kind == Kind::partial && from[axis] != to[axis]) return kImpossible;
  std::int64_t time = 0;
  Layout now = from;
  for (const ConversionStep& step : conversion(from, to)) {
    const std::int64_t messages = message_time(type, shares, now, step);
    time = add_costs(time, messages);
    Layout after = now;
    step.apply(after);
    if (!once) time = add_costs(time, copy_time(type, step, now, after));
    now = std::move(after);
    once = once && messages == 0;
  }
  return time;
}

std::int64_t ConversionTimes::message_time(const Type& type, bool shares, const Layout& now,
                                           const ConversionStep& step) const {
  if (step.is_all_reduce()) {
    const SumMembers members = sum_members(where_, step.axes);
    const SumTime time = sum_picoseconds(*program_.topology, members, part_bytes(type, now, where_));
    return shares ? shared_sum_time(type, members.hosts == 1, time) : time.all();
  }
  const std::size_t axis = step.axes[0];
  const bool one_host = !where_.between_hosts[axis];
  const LinkCost link = step.before.kind == Kind::partial ? program_.topology->sums(one_host)
                        : one_host                        ? program_.topology->on_host
                                                          : program_.topology->between_hosts;
  return message_picoseconds(*program_.topology, link, sent_bytes(type, where_, now, step),
                             rounds_of(CollectiveKind::all_gather, where_.axes[axis]));
}

std::int64_t ConversionTimes::copy_time(const Type& type, const ConversionStep& step, const Layout& now,
                                        const Layout& after) const {
  const auto lies_apart = [&](const AxisLayout& axis) {
    if (axis.kind != Kind::split) return false;
    for (int d = 0; d < axis.dim; ++d)
      if (type.shape[d].size() != 1) return true;
    return false;
  };
  const auto time_of = [&](const Layout& layout) {
    const double bytes = 2 * static_cast<double>(part_bytes(type, layout, where_));
    return kernel_picoseconds(DeviceKind::cpu, program_.topology->compute, {.flops = 0, .bytes = bytes},
                              program_.threads(where_));
  };
  if (step.before.kind == Kind::replicated) return time_of(after);
  return (lies_apart(step.after) ? time_of(now) : 0) + (lies_apart(step.before) ? time_of(after) : 0);
}

std::int64_t ConversionTimes::shared_sum_time(const Type& type, bool one_host, const SumTime& time) const {
  const auto bucket = static_cast<double>(full_bucket_bytes(program_, one_host));
  const double share = bucket > 0 ? std::min(1.0, static_cast<double>(known_bytes(type)) / bucket) : 1;
  return time.moving + std::llround(static_cast<double>(time.waiting) * share);
}

}  // namespace ferry
