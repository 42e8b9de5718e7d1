// Models of one node, for tests of nodes that libonnx-testdata has no cases for: newer and older operator sets, random
// numbers, errors.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ops/onnx/import.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry::test {

/// A model of one node. run() gives its outputs for these inputs, "x0", "x1" …; one that is undefined is left out.
struct OneNode {
  std::string op;
  std::int64_t opset = 18;
  std::vector<onnx::Attribute> attributes = {};
  std::size_t outputs = 1;
  std::string domain = {};

  [[nodiscard]] std::vector<Tensor> run(const std::vector<Tensor>& inputs) const;
  /// The first output as text.
  [[nodiscard]] std::string text(const std::vector<Tensor>& inputs) const;
};

/// The text of the error of run(); empty if there is none.
[[nodiscard]] std::string error_of(const OneNode& node, const std::vector<Tensor>& inputs);

[[nodiscard]] Tensor floats(std::vector<std::int64_t> sizes, const std::vector<float>& values);
[[nodiscard]] Tensor longs(std::vector<std::int64_t> sizes, const std::vector<std::int64_t>& values);
[[nodiscard]] onnx::Attribute integer(const char* name, std::int64_t value);
[[nodiscard]] onnx::Attribute text(const char* name, const char* value);

inline const Tensor kSeven = floats({7}, {-3, -1, -0.5F, 0, 0.5F, 1, 3});
inline const Tensor kThree = floats({3}, {-3, 0.5F, 3});

}  // namespace ferry::test
