#include "ops/train/beside.hpp"

#include <string>
#include <utility>

#include "ops/array/reshape.hpp"
#include "ops/build.hpp"
#include "ops/math/broadcast.hpp"

namespace ferry {

Annotation place_of(const Value& variable) {
  return {variable.op().annotation().device, variable.op().annotation().mesh, {}};
}

Value zeros_beside(const Value& variable, std::string_view name) {
  Graph& graph = variable.graph();
  Value zeros;
  {
    const Scope place = graph.annotated(place_of(variable));
    zeros = broadcast_to(number_constant(graph, 0, variable.dtype(), variable.op().line()), variable.shape().sizes());
  }
  const Scope place = graph.annotated(variable.op().annotation());
  return graph.variable(std::string(variable.op().name()) + "/" + std::string(name), zeros);
}

Value place_gradient(const Value& variable, const Value& gradient) {
  Graph& graph = gradient.graph();
  Annotation annotation = variable.op().annotation();
  if (annotation.mesh != kNoMesh && annotation.layouts.empty())
    annotation.layouts.emplace_back(graph.meshes()[annotation.mesh].axes.size());
  const Scope name = graph.name(variable.op().name());
  const Scope place = graph.annotated(std::move(annotation));
  return identity(gradient);
}

}  // namespace ferry
