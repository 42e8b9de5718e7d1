#include "placement/program/replacements.hpp"

#include <algorithm>
#include <numeric>

#include "base/format.hpp"

namespace ferry {

bool is_pure(const Node& node) {
  constexpr std::uint32_t kImpure = kStateful | kRandom | kEffect | kControlFlow | kLocal | kAsynchronous;
  if (node.kind != NodeKind::compute || node.outputs.count == 0) return false;
  if (node.role() == OpRole::constant) return true;
  if ((node.def->flags & (kImpure | kOnce)) != 0 || node.role() != OpRole::function) return false;
  const Op op = node.graph->op(node.op);
  return op.after().empty() && !op.recomputed();
}

bool is_target(const Program& program, const Node& node) {
  const std::vector<OpId>& targets = program.signature->targets;
  return node.graph == program.graph && std::binary_search(targets.begin(), targets.end(), node.op);
}

void Replacements::update(NodeId id) {
  if (instead_.empty()) return;
  for (PValueId& input : program_.inputs(program_.nodes[id])) input = latest(input);
}

void Replacements::replace(NodeId id, std::uint32_t k, PValueId other) {
  if (instead_.empty()) {
    instead_.resize(program_.values.size());
    std::iota(instead_.begin(), instead_.end(), PValueId{0});
  }
  instead_[program_.nodes[id].outputs[k]] = latest(other);
}

std::string Replacements::at_line(const Node& node) const {
  const SourceLine line = program_.line(node);
  return line.known() ? formatted(" at {}", line.str()) : "";
}

void Replacements::finish() {
  if (!changed_) return;
  gone_.resize(program_.nodes.size());
  for (ProgramRegion& region : program_.regions) {
    for (const NodeId id : region.order) update(id);
    for (PValueId& result : region.results) result = latest(result);
  }
  std::vector<std::uint32_t> reads = count_reads();
  const auto is_read = [&](const Node& node) {
    for (const PValueId output : node.outputs)
      if (reads[output] > 0) return true;
    return false;
  };
  for (ProgramRegion& region : program_.regions)
    for (std::size_t i = region.order.size(); i > 0; --i) {
      const NodeId id = region.order[i - 1];
      const Node& node = program_.nodes[id];
      if (gone_[id] || !is_pure(node) || is_target(program_, node) || is_read(node)) continue;
      for (const PValueId input : program_.inputs(node)) --reads[input];
      take_out(id, [] { return "left out: nothing reads it any more"; });
    }
  for (ProgramRegion& region : program_.regions) std::erase_if(region.order, [&](NodeId id) { return gone_[id]; });
}

std::vector<std::uint32_t> Replacements::count_reads() const {
  std::vector<std::uint32_t> reads(program_.values.size());
  for (const ProgramRegion& region : program_.regions) {
    for (const NodeId id : region.order)
      for (const PValueId input : program_.inputs(program_.nodes[id])) ++reads[input];
    for (const PValueId result : region.results) ++reads[result];
  }
  return reads;
}

}  // namespace ferry
