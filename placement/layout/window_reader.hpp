// WindowReader: the part of reshard that adds halos. They bring the rows of other tasks that are read by windows of a
// split value, and by ops that slide windows over a split value.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "placement/layout/converter.hpp"
#include "placement/layout/reasons.hpp"
#include "placement/layout/windows.hpp"
#include "placement/program/program.hpp"
#include "placement/program/users.hpp"

namespace ferry {

/// Whether all inputs of the node are computed once. The result of a collective is not, because collectives run in
/// every step.
[[nodiscard]] bool inputs_once(const Program& program, const Node& node);

/// Changes nodes of the program that read rows of other tasks. `causes` are the nodes with the annotations that caused
/// the layouts, axis by axis.
class WindowReader {
 public:
  /// The program's values must have the same users as in the graph. All arguments must outlive the reader.
  WindowReader(Program& program, Reasons& reasons, Converter& to)
      : program_(program), reasons_(reasons), to_(to), users_(program) {}

  /// Records all windows of a value. Call it before one of them becomes another node.
  void record_windows(PValueId source);
  /// If the node is a window of a value that is split along dims that the window cuts, makes it a window of the task's
  /// own part and a halo. If there are several such dims, an additional node cuts each of them except the last. Call
  /// record_windows(source) before.
  void cut(NodeId id, PValueId source, const Layout& layout, const std::vector<NodeId>& causes);

  /// A split dim of an input, and the rows of it that the node reads. If `here`, each task has all of these rows; else
  /// other tasks have some of them.
  struct SlidingCut {
    CutAxis cut;
    Reads reads;
    bool here = false;
  };
  using SlidingCuts = std::vector<std::vector<SlidingCut>>;  ///< by input; dims with `here` come first

  /// The dims along which some task reads rows outside its part. `numbers` are the split dims, as in Way::slides. Empty
  /// if the node slides no windows along them. `given` are the layouts that the inputs have before the node.
  [[nodiscard]] SlidingCuts sliding_cuts(const Node& node, const std::vector<std::uint32_t>& numbers,
                                         const std::vector<Layout>& given) const;
  /// Replaces each input over which the node slides windows by the rows of it that the node reads.
  void read_rows(NodeId id, const SlidingCuts& cuts, const std::vector<NodeId>& causes);

 private:
  PValueId bring_rows(NodeId id, PValueId value, const SlidingCut& one, const std::vector<NodeId>& causes);
  /// Adds the halos along the first dim that each window of the value cuts, so that all of them are sent before a task
  /// waits for one.
  void bring_halos(NodeId id, PValueId source, PValueId value, const Layout& layout, const std::vector<NodeId>& causes);
  /// The reads of `dim` by the windows of the value, in that layout, that cut this dim first.
  [[nodiscard]] std::vector<Reads> reads_of(PValueId source, const Layout& layout, std::size_t dim) const;
  /// For each window of the value, in that layout, the first dim that it cuts, if any.
  [[nodiscard]] std::vector<std::pair<CutAxis, Reads>> first_cuts(PValueId source, const Layout& layout) const;
  /// The window along `dim` only; it reads other dims as they are in the value.
  [[nodiscard]] WindowOf only(WindowOf window, PValueId value, std::size_t dim) const;
  void become_window(NodeId id, PValueId value, PValueId halo, Attrs attrs);
  /// The halo for a dim of a window's input. It also has the rows that other windows of the value read, if this moves
  /// no more rows than a halo for each window.
  [[nodiscard]] Halo halo_for(PValueId value, const CutAxis& cut, const Reads& reads,
                              const std::vector<Reads>& others) const;

  Program& program_;
  Reasons& reasons_;
  Converter& to_;
  const Users users_;                                  // as in the graph
  std::map<PValueId, std::vector<WindowOf>> windows_;  // by value
};

}  // namespace ferry
