// Pipelines: a network whose layers lie on several devices, its stages, works on a batch in microbatches, so that all
// stages work at a time (Huang et al., "GPipe", 2019; Narayanan et al., "PipeDream", 2019, and "Megatron-LM", 2021;
// Qi et al., "Zero bubble pipeline parallelism", 2024).
//
//     for (int stage = 0; stage < 4; ++stage) {
//       auto here = g.device("/task:" + std::to_string(stage));
//       x = layers[stage](x);
//     }
//     Value loss = pipeline(mean(softmax_cross_entropy(x, labels)), {.microbatches = 8});
//     for (const Value& update : adam(gradients_of(loss, weights), 0.001)) g.target("train", update);
//
// A stage is what devices or meshes say: nothing else need be annotated. A device that the layers come back to has
// several stages (Megatron's interleaved schedule). Or nothing is annotated, and {.stages = 4} cuts the network into
// stages of about the same time. See docs/microbatches.md.
#pragma once

#include <cstdint>

#include "base/source_location.hpp"
#include "graph/value.hpp"
#include "ops/control/microbatch.hpp"

#pragma GCC visibility push(default)
namespace ferry {

struct PipelineOptions {
  std::int64_t microbatches = 4;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  /// What is cut into microbatches, along dim 0. Empty: the results of batch() that the values depend on; if there are
  /// none, the inputs that they depend on and that are no scalars.
  Values batch = {};
  /// Not 0: so many stages, which planning chooses: the ops between batch and values, none of which may be annotated,
  /// are cut into so many parts of about the same time, on tasks 0, 1, …, with the variables that they read.
  std::int64_t stages = 0;
};

/// The means of the values over the microbatches: what depends on the batch is computed for each microbatch by itself.
/// Microbatch k of m has the rows k, k + m, k + 2 m, … of the batch. Of a mean over the batch, such as a loss, this is
/// the same mean (another order of additions); the gradients of the results are those of the batch. What the original
/// ops give stays, and is not computed where only the results are used. Random numbers for each row of the batch
/// (dropout) are drawn as without microbatches and cut like the batch; random ops that depend on it draw other numbers
/// in each microbatch. Ops with an effect (print) are not repeated.
///
/// The result is a graph like any other, whose ops planning puts into the order of the schedule: sums over microbatches
/// are in the order of their numbers whatever the schedule, so that all schedules give the same bits, and all
/// devices but for weights that are read on several: their gradients are added up on each first.
///
/// Error(plan) with the caller's line when there are no values or no microbatches, when nothing of the batch is used,
/// when there are fewer rows than microbatches, when stages are negative, more than the ops, or asked for where
/// ops are annotated, when a value's shape depends on their number or its dtype is no
/// floating-point one, or when an op on the way has state or takes another batch size for granted.
[[nodiscard]] Values pipeline(const Values& values, const PipelineOptions& options,
                              source_location at = source_location::current());
[[nodiscard]] Value pipeline(const Value& loss, const PipelineOptions& options,
                             source_location at = source_location::current());

/// Cuts the pipelines of a finished graph into other stages: annotates the ops that each microbatch has so that they
/// are `tasks` stages of about the same time, stage s on task s, whatever devices they are annotated with.
/// With a stage go the variables and batches that it reads, its backward pass, and what its variables are updated with;
/// ops outside of the pipelines that read such variables are put beside them. Every process of a job calls it alike,
/// before its Session is made.
///
/// Error(usage) when there is no pipeline or `tasks` is below 1; Error(plan) when a layer is on a mesh, or when there
/// are fewer ops in a microbatch than tasks.
void balance_stages(Graph& graph, int tasks);

}  // namespace ferry
#pragma GCC visibility pop
