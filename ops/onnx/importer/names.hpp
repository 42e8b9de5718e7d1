// can_name_op(): whether the name of a model's value can be the name of an op.
#pragma once

#include <cstddef>
#include <string>

namespace ferry::onnx {

/// Whether an op can have the name of a value. Files may have absurdly long names.
[[nodiscard]] inline bool can_name_op(const std::string& name) {
  constexpr std::size_t kLongest = 1000;
  return !name.empty() && name.size() <= kLongest;
}

}  // namespace ferry::onnx
