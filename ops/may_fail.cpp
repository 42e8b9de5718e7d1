#include "ops/may_fail.hpp"

#include <algorithm>
#include <string_view>

#include "graph/types/dtype.hpp"
#include "ops/op_set.hpp"

namespace ferry {
namespace {

/// The ops that check indices, labels, lengths or counts: their kernels throw BadValue.
constexpr std::string_view kCheckingOps[] = {"Arange",
                                             "CheckRange",
                                             "Gather",
                                             "GatherElements",
                                             "GatherND",
                                             "ReverseSequence",
                                             "RoiAlign",
                                             "ScatterAdd",
                                             "ScatterElements",
                                             "ScatterND",
                                             "SoftmaxCrossEntropy",
                                             "SoftmaxCrossEntropyGrad"};
/// The ops that fail if an integer is divided by zero.
constexpr std::string_view kDividingOps[] = {"Div", "Fmod", "Mod"};

}  // namespace

bool may_fail(const OpDef& def, std::span<const Type* const> inputs) {
  if (def.is(kOnce)) return false;
  if (def.is(kStateful) || default_ops().find(def.name) == nullptr) return true;
  if (std::ranges::find(kCheckingOps, def.name) != std::end(kCheckingOps)) return true;
  if (std::ranges::find(kDividingOps, def.name) != std::end(kDividingOps)) return is_integer(inputs[1]->dtype);
  if (def.reduce == Reduce::sum && inputs.size() == 2 && def.linear == 0b11) return false;
  return std::ranges::any_of(inputs, [](const Type* input) { return input->shape.bounded(); });
}

}  // namespace ferry
