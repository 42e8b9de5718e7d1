// The borders of microbatches: ops that return their input and mark where the work of one microbatch begins or ends.
// ops/train/pipeline.hpp adds them. Planning orders the work between them (placement/microbatches).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// In which order the stages of a pipeline work on its microbatches (ops/train/pipeline.hpp).
enum class PipelineSchedule : std::uint8_t {
  gpipe,        ///< all forward passes, then all backward passes
  one_f_one_b,  ///< a backward pass as soon as there is one, after as few forward passes as keep the stages busy
  zero_bubble   ///< the same, with the gradients of weights computed where a stage would have nothing to do
};

/// "gpipe", "1f1b", "zero_bubble".
[[nodiscard]] std::string_view name_of(PipelineSchedule schedule);
[[nodiscard]] std::optional<PipelineSchedule> pipeline_schedule(std::string_view name);

/// The microbatch of this border.
struct Microbatch {
  std::int64_t index = 0;
  std::int64_t of = 1;  ///< how many there are
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  bool backward = false;      ///< of its backward pass
  std::int64_t pipeline = 0;  ///< the pipeline's number in the graph
  bool uneven = false;        ///< the number of rows need not be a multiple of `of`
};

/// `part`, from which on it is work of that microbatch. Dim 0 of `whole`, which is cut into the microbatches, must be a
/// multiple of their number unless `which` is uneven.
[[nodiscard]] Value enter_microbatch(const Value& part, const Value& whole, const Microbatch& which,
                                     const SourceLine& line);
/// x, which is a result of that microbatch. Its gradient enters the microbatch's backward pass.
[[nodiscard]] Value leave_microbatch(const Value& x, const Microbatch& which, const SourceLine& line);

/// What the attributes of an EnterMicrobatch or LeaveMicrobatch say. Error(plan) when they say nothing that there is.
[[nodiscard]] Microbatch microbatch_of(const Attrs& attrs);

/// EnterMicrobatch, LeaveMicrobatch {backward, index, of, pipeline, schedule, uneven}.
[[nodiscard]] std::span<const OpDef* const> microbatch_ops();

}  // namespace ferry
#pragma GCC visibility pop
