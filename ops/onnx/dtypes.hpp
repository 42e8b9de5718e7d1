// The numbers that dtypes have in ONNX's files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "graph/types/dtype.hpp"

#pragma GCC visibility push(default)
namespace ferry::onnx {

/// The name of ONNX's dtype with that number: "float16", "string"; "number 99" if there is none.
[[nodiscard]] std::string dtype_name(std::int64_t number);

/// The dtype with that number in ONNX's files; nothing if ferry does not support it.
[[nodiscard]] std::optional<DType> dtype_of_number(std::int64_t number);

}  // namespace ferry::onnx
#pragma GCC visibility pop
