// Borders of microbatches: ops that return their input and mark the begin or end of the work of a microbatch.
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

/// The order in which the stages of a pipeline work on its microbatches (ops/train/pipeline.hpp).
enum class PipelineSchedule : std::uint8_t {
  gpipe,        ///< all forward passes, then all backward passes
  one_f_one_b,  ///< a backward pass as soon as possible, after as few forward passes as keep the stages busy
  zero_bubble   ///< like one_f_one_b, but the gradients of weights are computed when a stage would idle
};

/// The name of a schedule: "gpipe", "1f1b" or "zero_bubble".
[[nodiscard]] std::string_view name_of(PipelineSchedule schedule);

/// The schedule with this name; nothing if no schedule has it.
///
///     pipeline_schedule("1f1b") == PipelineSchedule::one_f_one_b;  // true
[[nodiscard]] std::optional<PipelineSchedule> pipeline_schedule(std::string_view name);

/// The microbatch that a border op enters or leaves.
struct Microbatch {
  std::int64_t index = 0;                                     ///< its number, from 0
  std::int64_t of = 1;                                        ///< number of microbatches
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;  ///< order of the stages' work
  bool backward = false;                                      ///< whether its backward pass is entered or left
  std::int64_t pipeline = 0;                                  ///< the pipeline's number in the graph
  bool uneven = false;                                        ///< the number of rows need not be a multiple of `of`
};

/// Returns `part`; ops that read the result are work of microbatch `which`. `whole` is the value that is cut into the
/// microbatches. Its dim 0 must be a multiple of their number unless `which` is uneven.
///
///     enter_microbatch(slice(x, 0, 0, 1), x, {.index = 0, .of = 2}, {});  // float32[1,3]
[[nodiscard]] Value enter_microbatch(const Value& part, const Value& whole, const Microbatch& which,
                                     const SourceLine& line);

/// Returns x, which is a result of microbatch `which`. The gradient of x enters the microbatch's backward pass.
///
///     Value part = enter_microbatch(slice(x, 0, 1, 2), x, {.index = 1, .of = 2}, {});
///     leave_microbatch(sum(part), {.index = 1, .of = 2}, {});  // float32[]
[[nodiscard]] Value leave_microbatch(const Value& x, const Microbatch& which, const SourceLine& line);

/// Reads the attributes of an EnterMicrobatch or LeaveMicrobatch. Error(plan) if they are invalid.
///
///     Value part = enter_microbatch(slice(x, 0, 1, 2), x, {.index = 1, .of = 2}, {});
///     microbatch_of(part.op().attrs()).index;  // 1
[[nodiscard]] Microbatch microbatch_of(const Attrs& attrs);

/// The ops, with their attributes in braces: EnterMicrobatch, LeaveMicrobatch {backward, index, of, pipeline, schedule,
/// uneven}.
[[nodiscard]] std::span<const OpDef* const> microbatch_ops();

}  // namespace ferry
#pragma GCC visibility pop
