#include "placement/program/check_program.hpp"

#include <string>
#include <vector>

#include "base/error.hpp"

namespace ferry {
namespace {

class ProgramChecker {
 public:
  explicit ProgramChecker(const Program& program)
      : program_(program), made_(program.values.size(), false), seen_(program.nodes.size(), false) {}

  void region(ProgramRegionId id) {
    if (id >= program_.regions.size()) throw Error(Code::bug, "region {} is not there", id);
    const ProgramRegion& region = program_.regions[id];
    for (const PValueId parameter : region.parameters) made_[parameter] = true;
    for (const NodeId node : region.order) visit(node);
    for (const PValueId result : region.results)
      if (!made_[result]) throw Error(Code::bug, "result %{} is not made in its region", result);
  }

 private:
  void visit(NodeId id) {
    const auto require = [&](bool holds, const char* what) {
      if (!holds) throw Error(Code::bug, program_.name(program_.nodes[id]) + ": " + what);
    };
    const Node& node = program_.nodes[id];
    require(!seen_[id], "stands in two places");
    seen_[id] = true;
    require(std::size_t{node.first_input} + node.inputs <= program_.operands.size(), "has operands that are not there");
    // A value that gives only its size need not be made. An example is a constant that each of its users makes
    // itself.
    for (std::uint32_t i = 0; i < node.inputs; ++i)
      require(made_[program_.inputs(node)[i]] || is_unread(program_, node, i), "is used before it is made");
    require(node.where == kNone || node.where < program_.wheres.size(), "is on devices that are not there");
    require(!program_.placed || node.where != kNone || may_lack_devices(node), "has no devices");
    if (node.kind == NodeKind::loop || node.kind == NodeKind::branch) {
      region(node.detail);
      region(node.detail + 1);
    }
    for (const PValueId output : node.outputs) {
      const PValue& value = program_.values[output];
      require(value.producer == id, "gives a value that says another made it");
      require(value.layout.empty() || value.where != kNone, "gives a value that is laid out nowhere");
      require(value.layout.empty() || value.layout.size() == program_.wheres[value.where].axes.size(),
              "gives a value with a layout for another mesh");
      made_[output] = true;
    }
  }

  /// True if the node may have no devices. It may be a constant, which is made where it is used, or a loop or branch,
  /// because the nodes of its bodies have devices.
  static bool may_lack_devices(const Node& node) {
    return (node.kind == NodeKind::compute && node.inputs == 0) || node.kind == NodeKind::loop ||
           node.kind == NodeKind::branch;
  }

  const Program& program_;
  std::vector<bool> made_;  // for each value: an earlier node makes it
  std::vector<bool> seen_;  // for each node: it was visited
};

}  // namespace

void check_program(const Program& program) {
  ProgramChecker(program).region(0);
}

}  // namespace ferry
