#include "placement/program/fold.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "graph/op/core_ops.hpp"
#include "placement/program/replacements.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kSmallBytes = 4096, kMostBytes = 1 << 20;

bool is_finite(const Tensor& tensor) {
  if (!is_float(tensor.dtype())) return true;
  for (std::int64_t i = 0; i < tensor.count(); ++i)
    if (!std::isfinite(tensor.number(i))) return false;
  return true;
}

class ConstantFolder {
 public:
  explicit ConstantFolder(Program& program) : program_(program), replacements_(program) {}

  void run() {
    for (const ProgramRegion& region : program_.regions)
      for (const NodeId id : region.order) visit(id);
    replacements_.finish();
  }

 private:
  void visit(NodeId id) {
    Node& node = program_.nodes[id];
    if (node.inputs == 0 || node.outputs.count != 1 || !is_pure(node) ||
        (node.def->flags & (kMoves | kView | kExact)) == 0)
      return;
    const PValue& output = program_.values[node.outputs[0]];
    if (!read_inputs(node) || !fits(output.type)) return;
    const std::optional<Tensor> value = value_of(node, output.type);
    if (!value || !is_finite(*value)) return;
    node.def = &kConstant;
    node.attrs = &program_.added_attrs.emplace_back(Attrs{{"value", *value}});
    node.once = true;
    const bool placed = placed_ || !node.graph->op(node.op).annotation().empty();
    if (!placed) node.where = kNone;
    replacements_.forget_inputs(id);
    replacements_.tell(id, [&] {
      return "a constant, computed from constants when planning; " +
             (placed ? "on " + program_.where(node).str() : std::string("made wherever it is used"));
    });
  }

  /// Fills inputs_. Returns false if an input that is read is no constant, is a constant that the user has placed on
  /// other devices, or if the inputs exceed kMostBytes.
  bool read_inputs(const Node& node) {
    const auto inputs = program_.inputs(node);
    const ProgramFacts facts(program_, inputs, *node.attrs);
    inputs_.clear();
    types_.clear();
    bytes_ = 0;
    placed_ = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      types_.push_back(program_.values[inputs[i]].type);
      if (is_unread(program_, node, i)) {
        inputs_.emplace_back();
        continue;
      }
      const Tensor* const value = facts.constant(static_cast<int>(i));
      const WhereId at = program_.nodes[program_.values[inputs[i]].producer].where;
      if (value == nullptr || (at != kNone && at != node.where)) return false;
      placed_ = placed_ || at != kNone;
      bytes_ += static_cast<std::int64_t>(value->bytes().size());
      inputs_.push_back(*value);
    }
    return bytes_ <= kMostBytes;
  }

  [[nodiscard]] bool fits(const Type& type) const {
    return !type.shape.bounded() && type.bytes() <= std::max(kSmallBytes, bytes_);
  }

  [[nodiscard]] std::optional<Tensor> value_of(const Node& node, const Type& type) const {
    if (node.def->is(kView)) return Tensor::copy_of(type.dtype, type.shape.sizes(), inputs_[0].bytes());
    std::vector<Tensor> values = program_.options.evaluate({*node.def, *node.attrs, types_, {&type, 1}, inputs_});
    return values.empty() ? std::nullopt : std::optional(std::move(values[0]));
  }

  Program& program_;
  Replacements replacements_;
  std::vector<Tensor> inputs_;  // inputs of the current node; not defined if only their sizes are read
  std::vector<Type> types_;     // types of these inputs
  std::int64_t bytes_ = 0;      // bytes of the defined inputs
  bool placed_ = false;         // the user has placed an input
};

}  // namespace

void fold(Program& program) {
  if (program.options.evaluate) ConstantFolder(program).run();
}

}  // namespace ferry
