#include "ops/onnx/importer/body_constants.hpp"

#include "graph/op/core_ops.hpp"
#include "ops/onnx/importer/names.hpp"

namespace ferry::onnx {

Value BodyConstants::of(Graph& graph, const std::string& name, const Tensor& tensor) {
  Made& made = made_[{&graph.current(), name}];
  const bool same = made.value.defined() && made.tensor.bytes().data() == tensor.bytes().data() &&
                    made.tensor.type() == tensor.type();
  if (same) return made.value;
  const bool free = can_name_op(name) && !graph.current().find(name);
  made.tensor = tensor;
  made.value = graph.add(kConstant, {}, {{"value", tensor}}, SourceLine(), free ? std::string_view(name) : "")[0];
  return made.value;
}

void BodyConstants::forget(const std::function<bool(const Graph*)>& is_gone) {
  std::erase_if(made_, [&](const auto& one) { return is_gone(one.first.first); });
}

}  // namespace ferry::onnx
