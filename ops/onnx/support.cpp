#include "ops/onnx/support.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "ops/onnx/converters.hpp"

namespace ferry::onnx {
namespace {

struct Unsupported {
  std::int64_t times = 0;
  std::string first;
};

/// Walks the nodes of a model, including the nodes of bodies and of called functions.
class Walk {
 public:
  explicit Walk(const Model& model) : model_(model) {}

  void graph(const GraphDef& graph, const Opsets& opsets) {
    for (const ModelNode& node : graph.nodes) this->node(node, opsets);
  }

  /// Checks inputs or outputs of the model itself. Inputs and outputs of bodies may be sequences and are not checked.
  void values(const std::vector<ValueDef>& values) {
    for (const ValueDef& value : values)
      if (!value.refused.empty()) add_unsupported(value.refused, formatted("value {:?}", value.name));
  }

  void add_unsupported(const std::string& what, const std::string& where) {
    Unsupported& lack = unsupported_[what];
    if (++lack.times == 1) lack.first = where;
  }

  void report() const {
    if (unsupported_.empty()) return;
    Error error(Code::file, "{:.300}: {} that ferry does not import", model_.source,
                plural(unsupported_.size(), "thing"));
    for (const auto& [what, lack] : unsupported_)
      error.note("{:.200}: {}{}{}", what, plural(lack.times, "time"), lack.times == 1 ? ", " : ", first ",
                 as_is(lack.first));
    // The size of an image is known only when its bytes are read, and a plan needs it before.
    if (unsupported_.contains("op ImageDecoder"))
      error.hint(
          "remove the ImageDecoder, and feed the decoded pixels, uint8 [height,width,channels]; in a graph, "
          "read_images() reads folders of JPEG and PNG files");
    throw error;
  }

 private:
  void node(const ModelNode& node, const Opsets& opsets) {
    if (const Function* function = function_of(model_, node)) {
      if (!seen_.insert(function).second) return;
      for (const ModelNode& inner : function->nodes) this->node(inner, function->opsets);
      return;
    }
    const auto version = opsets.find(node.domain);
    const std::string op = node.full_op();
    if (!has_converter(op))
      add_unsupported("op " + op, node.str());
    else if (version == opsets.end())
      add_unsupported("op " + op + " without a version of its operator set", node.str());
    else if (find_converter(op, version->second) == nullptr)
      add_unsupported("op " + op + " of operator set " + std::to_string(version->second), node.str());
    for (const GraphDef* body : node.bodies()) graph(*body, opsets);
  }

  const Model& model_;
  std::map<std::string, Unsupported> unsupported_;
  std::set<const Function*> seen_;
};

}  // namespace

const Function* function_of(const Model& model, const ModelNode& node) {
  for (const Function& function : model.functions)
    if (function.name == node.op && function.domain == node.domain && function.overload == node.overload)
      return &function;
  return nullptr;
}

void check_supported(const Model& model) {
  Walk walk(model);
  walk.graph(model.graph, model.opsets);
  walk.values(model.graph.inputs);
  walk.values(model.graph.outputs);
  for (const Refused& refused : model.refused) walk.add_unsupported(refused.what, refused.where);
  walk.report();
}

}  // namespace ferry::onnx
