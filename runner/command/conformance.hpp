// Conformance: runs models on inputs stored beside them and compares the results with outputs stored there too, in the
// folder layout of ONNX's own tests:
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
  std::string reason;  ///< one line that says why it has not passed
};

/// Runs the case of a folder on one task; results must be as expected. Then runs it with each op on one of two tasks,
/// drawn at random from `seed`; results must equal the results of one task bit for bit. Skips a case without data, or
/// with inputs or outputs that are not tensors of ferry's dtypes.
[[nodiscard]] ConformanceCase run_conformance_case(const std::string& folder, std::uint64_t seed);

/// Case folders: the folders of `given` that are cases, and for the other folders the cases directly inside, sorted by
/// name. Error(usage) for a folder that neither is a case nor has any.
[[nodiscard]] std::vector<std::string> conformance_folders(std::span<const std::string> given);

}  // namespace ferry
