// Conformance: runs models on stored inputs and compares the results with stored outputs. The folders have the layout
// of ONNX's own tests:
//
//     DIR/model.onnx
//     DIR/test_data_set_0/input_0.pb … output_0.pb …    tensors, in the order of the model's inputs and outputs
//     DIR/data.json                                     optional: {"rtol": 1e-3, "atol": 1e-6}
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ferry {

struct ConformanceCase {
  enum class Result { passed, failed, skipped };
  std::string name;  ///< the folder's name
  Result result = Result::passed;
  std::string reason;  ///< one line: why the case has not passed
};

/// Runs the case of a folder on one task, and compares the results with the expected ones. Then runs it with each op on
/// one of two tasks, drawn at random from `seed`: the results must have the same bits as on one task. Skips a case
/// without data, or with inputs or outputs that are not tensors of ferry's dtypes.
[[nodiscard]] ConformanceCase run_conformance_case(const std::string& folder, std::uint64_t seed);

/// The folders of cases in `given`: a folder that is a case itself, or the cases directly inside of it, sorted by name.
/// Error(usage) for a folder that is not a case and has none.
[[nodiscard]] std::vector<std::string> conformance_folders(std::span<const std::string> given);

}  // namespace ferry
