// The work of ops, in flops and bytes of memory traffic: functions for OpDef::flops_of and OpDef::bytes_of, and the
// work on parts of values. op_time.hpp turns work into time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "graph/op/op_def.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The number of elements of a shape. A size that is not known counts as 1, a bounded size as its bound.
[[nodiscard]] double known_count(const Shape& shape);
/// The bytes of a value of the type, with sizes counted as in known_count().
[[nodiscard]] std::int64_t known_bytes(const Type& type);
/// The bytes of all outputs.
[[nodiscard]] double bytes_of_outputs(std::span<const Type> outputs);
/// OpDef::bytes_of for an op that reads as many bytes of its inputs as it writes, such as a slice.
[[nodiscard]] double moved_bytes(const OpFacts& facts, std::span<const Type> outputs);
/// OpDef::bytes_of for an op that reads all of input 1, indices, and as many bytes of input 0 as it writes.
[[nodiscard]] double gathered_bytes(const OpFacts& facts, std::span<const Type> outputs);

/// The types of an op's values as one task has them: parts of the whole values.
struct OpParts {
  std::vector<Type> inputs, outputs;
};

/// The work of a task that has these parts of the values of an op. `facts` and `outputs` have the types of the whole
/// values. If a letter of the index notation is split, the task has its share of the flops. Throws Error(plan) like
/// OpDef::work.
[[nodiscard]] OpWork work_of_parts(const OpDef& def, const OpFacts& facts, std::span<const Type> outputs,
                                   const OpParts& parts);

/// Whether each element of the output depends only on the elements of the inputs at its position: "...,...->...".
[[nodiscard]] bool is_elementwise(const OpDef& def);
/// The kind of the op's arithmetic, which follows from its contracted letters and its windows.
[[nodiscard]] WorkKind kind_of_work(const OpDef& def);
/// "element", "product", "convolution" or "reduction".
[[nodiscard]] std::string_view name_of(WorkKind kind);
/// Whether fusing may keep a value of `maker` in the cache until `user` reads it, if nothing else reads it. `user` is
/// elementwise, and `maker` is elementwise or a sum of products such as a convolution.
[[nodiscard]] bool may_fuse(const OpDef& maker, const OpDef& user);

}  // namespace ferry
#pragma GCC visibility pop
