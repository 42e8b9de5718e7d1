// Labels the ops of a graph that are work of a microbatch.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph.hpp"
#include "ops/control/microbatch.hpp"

namespace ferry {

/// The microbatch that an op works on.
struct MicrobatchWork {
  enum class Of : std::uint8_t { none, one, several };
  Of of = Of::none;
  bool backward = false;
  std::uint32_t pipeline = 0;  ///< index into LabelledOps::pipelines
  std::int64_t index = 0;      ///< index of the microbatch

  [[nodiscard]] bool is_one() const { return of == Of::one; }
  bool operator==(const MicrobatchWork&) const = default;
};

struct LabelledPipeline {
  std::int64_t microbatches = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  SourceLine line;  ///< line of the call of pipeline()
};

struct LabelledOps {
  std::vector<MicrobatchWork> work;  ///< by op
  std::vector<LabelledPipeline> pipelines;
};

/// Propagates labels from the ops that enter a microbatch to the ops that leave it: an op is work of a microbatch if it
/// depends on that microbatch alone. Its work belongs to the backward pass if it depends on the backward pass, if it is
/// recomputed for the backward pass, or if only the backward pass reads it.
[[nodiscard]] LabelledOps label_ops(const Graph& graph);

}  // namespace ferry
