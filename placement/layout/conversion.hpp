// Conversions: the steps that turn one layout of a value into another, and their costs. Strategies compare these costs,
// and reshard adds a node for each step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "graph/types/layout.hpp"
#include "graph/types/shape.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// Whether a value in this layout is partial along some axis.
[[nodiscard]] bool is_partial(const Layout& layout);

/// One step: replicated -> split is a local cut, partial -> replicated an all-reduce, partial -> split a
/// reduce-scatter, split -> replicated an all-gather, split -> split an all-to-all. An all-reduce works along one axis
/// of the mesh or along several axes at once, every other step along one axis.
struct ConversionStep {
  std::vector<std::size_t> axes;
  AxisLayout before, after;
  bool operator==(const ConversionStep&) const = default;

  [[nodiscard]] bool is_all_reduce() const;
  void apply(Layout& layout) const;
};

/// The steps from one layout to another of the same mesh. To move few bytes, local cuts come as early as possible, and
/// reductions of partial values before gathers. A value that is partial along several axes gets one all-reduce for all
/// of them. If several axes split one dim, the earlier axis cuts first: an axis is cut or gathered only while no later
/// axis splits that dim. `to` may be partial only where `from` is.
[[nodiscard]] std::vector<ConversionStep> conversion(const Layout& from, const Layout& to);

/// The type of the largest part of a value in `layout` on `where`.
[[nodiscard]] Type part_type(const Type& type, const Layout& layout, const Where& where);

/// The bytes of the largest part.
[[nodiscard]] std::int64_t part_bytes(const Type& type, const Layout& layout, const Where& where);

/// The bytes that one task sends in a step that is not an all-reduce, where `now` is the layout before the step.
[[nodiscard]] std::int64_t sent_bytes(const Type& type, const Where& where, const Layout& now,
                                      const ConversionStep& step);

/// The tasks that take part in an all-reduce: `hosts` hosts, with `on_host` tasks each.
struct SumMembers {
  std::int64_t on_host = 1, hosts = 1;
};

/// The members of an all-reduce along these axes. An axis is within hosts or between them.
[[nodiscard]] SumMembers sum_members(const Where& where, std::span<const std::size_t> axes);

/// The bytes that one of `members` tasks sends for the all-reduce of a value of `bytes` bytes: to each other task, it
/// sends a part of the value, and then the sum of its own part.
[[nodiscard]] std::int64_t sum_bytes(std::int64_t bytes, std::int64_t members);

/// The time in picoseconds that one task's messages of the conversion take, with the link that each axis of `where`
/// uses. It is an integer, so that choices do not depend on the compiler. Negative if the conversion is not possible (a
/// value cannot be made partial).
[[nodiscard]] std::int64_t conversion_cost(const Program& program, const Type& type, const Where& where,
                                           const Layout& from, const Layout& to);

/// The latency of a link in picoseconds.
[[nodiscard]] std::int64_t latency_picoseconds(const LinkCost& link);

/// The time in picoseconds in which a link moves `bytes` bytes, without its latency. Rounds the time of all bytes,
/// since fast links take less than a picosecond for one byte.
[[nodiscard]] std::int64_t moving_picoseconds(const LinkCost& link, std::int64_t bytes);

/// The bytes of `rows` rows, along the dim that `axis` splits, in one task's part of the value.
[[nodiscard]] std::int64_t row_bytes(const Type& type, const Layout& layout, const Where& where, std::size_t axis,
                                     std::int64_t rows);

/// The time of messages of `bytes` bytes along an axis, in picoseconds.
[[nodiscard]] std::int64_t message_cost(const Program& program, const Where& where, std::size_t axis,
                                        std::int64_t bytes);

}  // namespace ferry
