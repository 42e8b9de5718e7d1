// Types of an op's outputs, from its definition and the types of its inputs.
#pragma once

#include <vector>

#include "graph/op/op_def.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The limit of the dims of a value. Graphs, files of graphs and kernels have the same limit, so that everything that
/// is written can be read.
inline constexpr int kMaxRank = 32;

/// Checks the attributes and dtypes of `facts` against `def` and returns the type of each output. Throws Error(plan)
/// with the fault; the caller adds the op's name, inputs and line.
[[nodiscard]] std::vector<Type> infer_types(const OpDef& def, const OpFacts& facts);

/// infer_types() with a cache, for graphs with many similar ops. The cache keeps results that depend only on the
/// definition and the types of the inputs. It is a table of fixed size, where a new result may replace an old one. Not
/// thread-safe.
class InferCache {
 public:
  InferCache();
  /// The types of the outputs, valid until the next call.
  [[nodiscard]] const std::vector<Type>& infer(const OpDef& def, const OpFacts& facts);

 private:
  struct Case {
    const OpDef* def = nullptr;
    std::vector<Type> inputs, outputs;
  };
  std::vector<Case> cases_;  // indexed by hash; a collision replaces the older case
  std::vector<Type> last_;
};

}  // namespace ferry
#pragma GCC visibility pop
