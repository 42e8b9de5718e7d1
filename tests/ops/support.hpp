// What the tests of ops share: example tensors, ops in a graph as text, and errors as text.
#pragma once

#include <cmath>
#include <functional>
#include <string>

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "graph/graph_facts.hpp"
#include "graph/op/index_notation.hpp"

namespace ferry::test {

/// A tensor of these sizes with different numbers from -1 to 1.
inline Tensor some(const Ints& sizes, double seed = 0.37) {
  Tensor tensor(DType::float64, sizes);
  for (double& x : tensor.mutable_data<double>()) x = (seed = std::fmod(seed * 7.31 + 0.113, 2.0)) - 1;
  return tensor;
}

/// A tensor of these sizes with different numbers from -0.7 to 1.3; the first 200 are at least 0.01 away from 0.
inline Tensor numbers(Ints sizes) {
  Tensor tensor(DType::float64, std::move(sizes));
  auto data = tensor.mutable_data<double>();
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = 0.3 + std::sin(static_cast<double>(i) * 1.7 + 0.4);
  return tensor;
}

inline std::string notation(const Value& value) {
  return notation_of(value.op().def(), GraphFacts(value.op()));
}

/// The op that makes a value, with the names of its inputs: "MatMul(x, w)".
inline std::string call(const Value& value) {
  std::string text(value.op().def().name);
  std::string separator = "(";
  for (ValueId input : value.op().inputs()) {
    text += separator + value.graph().value_name(input);
    separator = ", ";
  }
  return separator == "(" ? text : text + ")";
}

/// The text of the Error(plan) that `build` throws, with this file's directory cut off; "" when it throws none.
inline std::string error_of(const std::function<void()>& build) {
  try {
    build();
  } catch (const Error& error) {
    CHECK(error.code() == Code::plan);
    std::string text = error.text();
    for (const std::string folder = "tests/ops/";;) {
      const std::size_t end = text.find(folder);
      if (end == std::string::npos) return text;
      const std::size_t begin = text.rfind(' ', end) + 1;
      text.erase(begin, end + folder.size() - begin);
    }
  }
  return "";
}

}  // namespace ferry::test
