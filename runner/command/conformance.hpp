// Conformance: runs models on inputs that lie beside them, and compares what comes out with outputs that lie there too,
// in the layout of ONNX's own tests:
//
//     DIR/model.onnx
//     DIR/test_data_set_0/input_0.pb … output_0.pb …    tensors, in the order of the model's inputs and outputs
//     DIR/data.json                                     optional: {"rtol": 1e-3, "atol": 1e-6}
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/types/tensor.hpp"

namespace ferry {

struct ConformanceCase {
  enum class Result { passed, failed, skipped };
  std::string name;  ///< of the folder
  Result result = Result::passed;
  std::string reason;  ///< why not passed: one line
};

/// How far a result may lie from what is expected: |result - expected| <= atol + rtol * |expected|, with an rtol of two
/// units in the last place at least: those who write cases in 16 bits round each step in ways of their own. Numbers
/// that are not floating-point are equal.
struct Tolerance {
  double rtol = 1e-3;
  double atol = 1e-6;
};

/// Why `result` is not what is expected, NaN being equal to NaN; empty when it is.
[[nodiscard]] std::string difference(const Tensor& result, const Tensor& expected, const Tolerance& tolerance);

/// Runs a folder on one task, then with each op on one of two tasks, drawn at random from `seed`: the results must be
/// as expected, and those of two tasks equal to the bit to those of one. A case whose inputs or outputs are no tensors
/// of ferry's dtypes is skipped.
[[nodiscard]] ConformanceCase run_conformance_case(const std::string& folder, std::uint64_t seed);

/// The folders of cases that these are, or hold; sorted by name within each. Error(usage) for one without any.
[[nodiscard]] std::vector<std::string> conformance_folders(std::span<const std::string> given);

}  // namespace ferry
