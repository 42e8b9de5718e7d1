#include "placement/layout/join_windows.hpp"

#include <algorithm>
#include <optional>

#include "ops/control/comm.hpp"
#include "placement/layout/windows.hpp"
#include "placement/program/replacements.hpp"
#include "placement/program/users.hpp"

namespace ferry {
namespace {

class WindowJoiner {
 public:
  explicit WindowJoiner(Program& program)
      : program_(program), users_(program), replacements_(program), is_result_(region_results(program)) {}

  void run() {
    for (const ProgramRegion& region : program_.regions)
      for (const NodeId id : region.order) join(id);
    replacements_.finish();
  }

 private:
  /// Joins the node with all of its users.
  void join(NodeId id) {
    if (!may_join(id)) return;
    const PValueId made = program_.nodes[id].outputs[0];
    const auto users = users_[made];
    const std::optional<WindowOf> first = window_of(program_, program_.nodes[id]);
    if (!first || is_result_[made] || users.empty()) return;
    std::vector<WindowOf> both;
    for (const NodeId user : users) {
      const std::optional<WindowOf> second = may_join(user) && program_.nodes[user].where == program_.nodes[id].where &&
                                                     program_.inputs(program_.nodes[user])[0] == made
                                                 ? window_of(program_, program_.nodes[user])
                                                 : std::nullopt;
      if (!second || !lies_inside(*second, *first)) return;
      both.push_back(compose(*second, *first));
    }
    const PValueId source = program_.inputs(program_.nodes[id])[0];
    for (std::size_t k = 0; k < users.size(); ++k) replace_by_window(users[k], source, both[k]);
    replacements_.take_out(id, [&] { return "left out: " + program_.name(source) + " is read where it is used"; });
  }

  [[nodiscard]] bool may_join(NodeId id) const {
    const Node& node = program_.nodes[id];
    return node.kind == NodeKind::compute && node.inputs > 0 && node.where != kNone && is_pure(node) &&
           !is_target(program_, node) && program_.annotation_layouts(node).empty();
  }

  /// Whether the second window reads only elements of the first one.
  static bool lies_inside(const WindowOf& second, const WindowOf& first) {
    for (std::size_t d = 0; d < second.dims.size(); ++d) {
      const Reads& reads = second.dims[d];
      if (reads.begin < 0 || (reads.size > 0 && reads.begin + (reads.size - 1) * reads.step >= first.dims[d].size))
        return false;
    }
    return true;
  }

  static WindowOf compose(const WindowOf& second, const WindowOf& first) {
    WindowOf both = first;
    for (std::size_t d = 0; d < both.dims.size(); ++d)
      both.dims[d] = {first.dims[d].begin + second.dims[d].begin * first.dims[d].step,
                      first.dims[d].step * second.dims[d].step, second.dims[d].size};
    return both;
  }

  void replace_by_window(NodeId id, PValueId source, const WindowOf& window) {
    Node& node = program_.nodes[id];
    node.def = &kWindow;
    node.attrs = &program_.added_attrs.emplace_back(window_attrs(window, {}, 0));
    node.inputs = 1;
    program_.inputs(node)[0] = source;
  }

  Program& program_;
  const Users users_;  // before any join: a joined node reads another value, and is not joined again
  Replacements replacements_;
  std::vector<bool> is_result_;
};

}  // namespace

void join_windows(Program& program) {
  WindowJoiner(program).run();
}

}  // namespace ferry
