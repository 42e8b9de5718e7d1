// PlanKernelFacts: the facts about a kernel of a plan that its op's definition can query. The inputs are types of whole
// values.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/op/op_def.hpp"
#include "plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class PlanKernelFacts final : public OpFacts {
 public:
  /// `attrs` must outlive this object.
  PlanKernelFacts(std::vector<Type> inputs, const Attrs& attrs) : inputs_(std::move(inputs)), attrs_(attrs) {}
  [[nodiscard]] int inputs() const override { return static_cast<int>(inputs_.size()); }
  [[nodiscard]] const Type& input(int i) const override { return inputs_[i]; }
  [[nodiscard]] const Attrs& attrs() const override { return attrs_; }
  [[nodiscard]] const Tensor* constant(int) const override { return nullptr; }
  [[nodiscard]] std::vector<Type> results(std::string_view) const override { fail("is no kernel: it has bodies"); }

 private:
  std::vector<Type> inputs_;
  const Attrs& attrs_;
};

/// The type of values with these sizes. A bounded value has its bound in dim 0.
[[nodiscard]] inline Type type_of(DType dtype, std::span<const std::int64_t> sizes, bool bounded) {
  Shape shape{sizes};
  if (bounded) shape[0] = Dim::at_most(sizes[0]);
  return {dtype, std::move(shape)};
}

/// The type of the whole value. The buffer has all of the value, or a part.
[[nodiscard]] inline Type whole_type(const Plan& plan, const Buffer& b) {
  return type_of(b.dtype, b.window == kNone ? b.sizes.vector() : plan.windows[b.window].sizes, b.bounded);
}

}  // namespace ferry
#pragma GCC visibility pop
