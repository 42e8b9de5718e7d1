// Names of values of the model as names of ops.
#pragma once

#include <cstddef>
#include <string>

namespace ferry::onnx {

/// Whether an op can have the name of a value: a file may have absurdly long ones.
[[nodiscard]] inline bool can_name_op(const std::string& name) {
  constexpr std::size_t kLongest = 1000;
  return !name.empty() && name.size() <= kLongest;
}

}  // namespace ferry::onnx
