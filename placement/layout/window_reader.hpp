// WindowReader: brings the rows of other tasks that windows of a split value read, and that ops read which slide
// windows over one. The part of reshard that adds halos.
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

/// Whether all inputs of the node are computed once. The result of a collective is not, since that runs in every step.
[[nodiscard]] bool inputs_once(const Program& program, const Node& node);

/// Changes nodes of the program that read rows of other tasks. `causes` are the nodes with the annotations that caused
/// the layouts, axis by axis.
class WindowReader {
 public:
  /// The program must have the users that the graph gives its values; all three must outlive the reader.
  WindowReader(Program& program, Reasons& reasons, Converter& to)
      : program_(program), reasons_(reasons), to_(to), users_(program) {}

  /// Notes all windows of a value, before one of them becomes another node.
  void note(PValueId source);
  /// If the node is a window of a value that is split along dims that the window cuts, it becomes one of the own part
  /// and a halo. Of several such dims, each but the last is cut by a node of its own. note(source) was called before.
  void cut(NodeId id, PValueId source, const Layout& layout, const std::vector<NodeId>& causes);

  /// A dim of an input that is split, and what the node reads of it: rows that others have, unless all are here.
  struct SlidCut {
    CutAxis cut;
    Reads reads;
    bool here = false;
  };
  using SlidCuts = std::vector<std::vector<SlidCut>>;  ///< by input; rows that are here come first

  /// The dims along which some task reads rows outside its part, where `numbers` are the split dims, as in Way::slides;
  /// none if the node slides no windows. `given` are the layouts that the inputs have before the node.
  [[nodiscard]] SlidCuts slid_cuts(const Node& node, const std::vector<std::uint32_t>& numbers,
                                   const std::vector<Layout>& given) const;
  /// The inputs over which the node slides windows are replaced by the rows of them that it reads.
  void read_rows(NodeId id, const SlidCuts& cuts, const std::vector<NodeId>& causes);

 private:
  PValueId rows_brought(NodeId id, PValueId value, const SlidCut& one, const std::vector<NodeId>& causes);
  /// Adds the halos along the dims that windows of the value cut first, so that all travel before one is waited for.
  void bring_halos(NodeId id, PValueId source, PValueId value, const Layout& layout, const std::vector<NodeId>& causes);
  /// The reads of the dim by all windows of the value, laid out like that.
  [[nodiscard]] std::vector<Reads> reads_of(PValueId source, const Layout& layout, std::size_t dim) const;
  /// Of each window of the value, laid out like that: the dim that it cuts first.
  [[nodiscard]] std::vector<std::pair<CutAxis, Reads>> first_cuts(PValueId source, const Layout& layout) const;
  /// The window along this dim alone: others stay as they are in the value.
  [[nodiscard]] WindowOf only(WindowOf window, PValueId value, std::size_t dim) const;
  void become_window(NodeId id, PValueId value, PValueId halo, Attrs attrs);
  /// The halo for a dim of a window's input. It has the rows that other windows read of that value, too, if that moves
  /// no more rows than halos of their own.
  [[nodiscard]] Halo halo_for(PValueId value, const CutAxis& cut, const Reads& reads,
                              const std::vector<Reads>& others) const;

  Program& program_;
  Reasons& reasons_;
  Converter& to_;
  const Users users_;                                  // as the graph has them
  std::map<PValueId, std::vector<WindowOf>> windows_;  // of a value
};

}  // namespace ferry
