#include "placement/program/drop_identities.hpp"

#include <optional>

#include "placement/program/replacements.hpp"

namespace ferry {
namespace {

class Dropper {
 public:
  explicit Dropper(Program& program) : program_(program), replacements_(program) {}

  void run() {
    for (const ProgramRegion& region : program_.regions)
      for (const NodeId id : region.order) visit(id);
    replacements_.finish();
  }

 private:
  void visit(NodeId id) {
    replacements_.update(id);
    const Node& node = program_.nodes[id];
    if (node.inputs == 0 || node.outputs.count != 1 || !is_pure(node)) return;
    if (!program_.annotation_layouts(node).empty()) return;
    const std::optional<PValueId> equal = equal_value(node);
    if (!equal || !may_stand_for(*equal, node)) return;
    replacements_.replace(id, 0, *equal);
    replacements_.take_out(id, [&] { return "left out: it has the value of " + program_.name(*equal); });
  }

  /// The value that the op returns unchanged, provided that the types of both are equal. Nothing if the op changes its
  /// inputs.
  [[nodiscard]] std::optional<PValueId> equal_value(const Node& node) const {
    const auto inputs = program_.inputs(node);
    if (node.def->is(kView)) return inputs[0];
    if (node.def->same != nullptr) {
      const int input = node.def->same(ProgramFacts(program_, inputs, *node.attrs));
      if (input >= 0) return inputs[input];
    }
    const Node& before = program_.nodes[program_.values[inputs[0]].producer];
    if (node.def->undoes != nullptr && before.kind == NodeKind::compute && before.def == node.def &&
        node.def->undoes(*node.attrs, *before.attrs))
      return program_.inputs(before)[0];
    return std::nullopt;
  }

  [[nodiscard]] bool may_stand_for(PValueId value, const Node& node) const {
    const WhereId at = program_.nodes[program_.values[value].producer].where;
    return program_.values[value].type == program_.values[node.outputs[0]].type && (at == kNone || at == node.where);
  }

  Program& program_;
  Replacements replacements_;
};

}  // namespace

void drop_identities(Program& program) {
  Dropper(program).run();
}

}  // namespace ferry
