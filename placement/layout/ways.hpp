// Ways: the layouts that an op may have on a mesh by its index notation, its window and the dims along which it slides
// windows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "graph/op/index_notation.hpp"
#include "graph/op/op_work.hpp"
#include "placement/layout/windows.hpp"
#include "placement/program/program.hpp"

namespace ferry {

/// One way to lay out an op along one axis of its mesh.
struct AxisWay {
  std::vector<AxisLayout> inputs, outputs;
  bool parallel = false;         ///< whether each task computes only its part
  int letter = -1;               ///< the letter that is split, if its sizes differ (IndexSpace::divisor); -1: none
  std::uint32_t slides = kNone;  ///< the number in sliding_dims() of the dim that is split; kNone: none
};

/// The ways of one compute node on a mesh. The program must outlive it. Thread-safe.
class Ways {
 public:
  Ways(const Program& program, const Node& node);

  /// The ways along one axis, in this order: partial sums pass through; each letter is split; each dim of a window is
  /// split; each dim along which the op slides windows is split; all values are replicated. An axis with one task has
  /// only the last way.
  [[nodiscard]] std::vector<AxisWay> along(std::size_t axis) const;

  /// The ways along all axes, each once. Two axes do not split the same letter if its sizes differ.
  [[nodiscard]] std::vector<Way> combined() const;

  /// The time in picoseconds of the messages that bring rows of other tasks for windows. Nothing if the way is not
  /// possible, because two axes split the same dim that is read through windows. `given` are the layouts that the
  /// inputs have before the op. An input that is replicated there needs no rows.
  [[nodiscard]] std::optional<std::int64_t> halo_cost(const Way& way, const std::vector<Layout>& given) const;

  /// The work of a task in this way; `parts` is the number of tasks that share the points of the index space.
  [[nodiscard]] OpWork work(const Way& way, double parts) const;

 private:
  [[nodiscard]] AxisWay replicated_way() const;
  [[nodiscard]] std::optional<AxisWay> linear_way() const;
  [[nodiscard]] std::optional<AxisWay> split_way(std::size_t axis, int letter) const;
  [[nodiscard]] std::optional<AxisWay> window_way(int dim) const;
  [[nodiscard]] std::optional<AxisWay> sliding_way(std::uint32_t number) const;
  [[nodiscard]] AxisLayout output_layout(int letter, std::size_t output) const;
  [[nodiscard]] bool is_linear_in(std::uint32_t input) const;
  [[nodiscard]] std::optional<std::int64_t> window_halos(const Layout& layout) const;
  [[nodiscard]] std::optional<std::int64_t> sliding_halos(const Way& way, const std::vector<Layout>& given) const;
  [[nodiscard]] OpWork work_of_types(const Way& way) const;
  [[nodiscard]] const Type& input_type(std::size_t input) const;

  const Program& program_;
  const Node& node_;
  const Where& where_;
  const std::optional<IndexSpace> space_;
  const std::optional<WindowOf> window_;
  const std::vector<SlidingDim> slides_;
};

}  // namespace ferry
