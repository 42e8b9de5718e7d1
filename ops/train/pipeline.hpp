// Pipelines: a network with layers on several devices, its stages, processes a batch in microbatches, so that all
// stages work at the same time (Huang et al., "GPipe", 2019; Narayanan et al., "PipeDream", 2019, and "Megatron-LM",
// 2021; Qi et al., "Zero bubble pipeline parallelism", 2024).
//
//     nn::Parameters parameters(g);
//     Value h = g.input("x", {32, 64});
//     for (int stage = 0; stage < 4; ++stage) {
//       auto here = g.device("/task:" + std::to_string(stage));
//       h = relu(nn::Dense(parameters, "layer" + std::to_string(stage), 64, 64)(h));
//     }
//     Value loss = pipeline(mean(square(h)), {.microbatches = 8});
//     for (const Value& update : adam(loss, parameters.trained(), 0.001)) g.target("train", update);
//
// The devices or meshes of the layers define the stages; no other annotation is needed. A device to which later layers
// return has several stages (Megatron's interleaved schedule). Instead of annotations, {.stages = 4} cuts the network
// into stages of about the same time. See docs/guide/pipelines.md.
#pragma once

#include <cstdint>

#include "base/source_location.hpp"
#include "graph/op/compute_costs.hpp"
#include "graph/value.hpp"
#include "ops/control/microbatch.hpp"

#pragma GCC visibility push(default)
namespace ferry {

struct PipelineOptions {
  std::int64_t microbatches = 4;                              ///< number of parts of the batch
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;  ///< order of their work
  /// The values that are cut into microbatches, along dim 0. Empty: the results of batch() that the pipeline's values
  /// depend on or, if there are none, the inputs that they depend on, except scalars.
  Values batch = {};
  /// If not 0, the number of stages; planning then chooses the stages. It cuts the ops between batch and values into
  /// `stages` parts of about the same time and places the parts, with the variables that they read, on tasks 0, 1, ….
  /// None of these ops may be annotated.
  std::int64_t stages = 0;
};

/// Returns the same values, computed from microbatches. Ops that depend on the batch run once for each microbatch, up
/// to sums and means over the rows. These are added up over the microbatches, and the ops after them run once.
/// Microbatch k of m has the rows k, k + m, k + 2 m, … of the batch. The results and their gradients are the same as
/// for the whole batch, except for the order of additions. The original ops remain in the graph, but are not computed
/// if only the results are used. Random numbers for each row of the batch (dropout) are drawn as without microbatches
/// and cut like the batch. Random ops that depend on the batch draw different numbers in each microbatch. Ops with an
/// effect (print) are not repeated.
///
/// The result is a graph like any other. Planning puts its ops into the order of the schedule. Sums over microbatches
/// are added in the order of the microbatches' numbers, so all schedules give the same bits. All placements give the
/// same bits, too, except for weights that are read on several devices: their gradients are added up on each device
/// first.
///
/// Throws Error(plan) with the caller's line if there are no values or no microbatches, if no value depends on the
/// batch, or if there are fewer rows than microbatches. It also throws if `stages` is negative, above the number of
/// ops, or set although ops are annotated. It also throws if a value's shape depends on the number of rows, if its
/// dtype is not floating-point, or if an op between batch and values has state or requires another batch size. If a
/// value depends on the rows other than by sums and means, the error has the line of that op.
///
///     Value mean_loss = mean(softmax_cross_entropy(logits, labels));
///     Value pipelined = pipeline(mean_loss, {.microbatches = 4, .batch = {logits, labels}});
[[nodiscard]] Values pipeline(const Values& values, const PipelineOptions& options,
                              source_location at = source_location::current());
[[nodiscard]] Value pipeline(const Value& loss, const PipelineOptions& options,
                             source_location at = source_location::current());

/// Cuts the pipelines of a finished graph into new stages: annotates the ops of each microbatch as `tasks` stages of
/// about the same time, stage s on task s. It ignores their old annotations. The variables and batches that a stage
/// reads, its backward pass, and the updates of its variables are placed with the stage. Ops outside of the pipelines
/// that read such variables are placed with the variables. `costs` are the costs of the tasks' hosts
/// (Topology::compute). Every process of a job must call it with the same arguments, before it makes its Session.
///
/// Throws Error(usage) if there is no pipeline or `tasks` is below 1. Throws Error(plan) if a layer is on a mesh, or if
/// a microbatch has fewer ops than there are tasks.
///
///     Value mean_loss = mean(softmax_cross_entropy(logits, labels));
///     Value pipelined = pipeline(mean_loss, {.microbatches = 4, .batch = {logits, labels}});
///     balance_stages(g, 2);
void balance_stages(Graph& graph, int tasks, const ComputeCosts& costs = {});

}  // namespace ferry
#pragma GCC visibility pop
