// Which ops of a graph are work of a microbatch.
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
  std::int64_t index = 0;      ///< of the microbatch

  [[nodiscard]] bool is_one() const { return of == Of::one; }
  bool operator==(const MicrobatchWork&) const = default;
};

struct LabelledPipeline {
  std::int64_t microbatches = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  SourceLine line;  ///< of the call of pipeline()
};

struct LabelledOps {
  std::vector<MicrobatchWork> work;  ///< of each op
  std::vector<LabelledPipeline> pipelines;
};

/// Labels are carried along from ops that enter a microbatch to those that leave it: an op is work of a microbatch if
/// it depends on that one alone. It is of the backward pass if it depends on that, if it is computed again for that, or
/// if nothing but that reads it.
[[nodiscard]] LabelledOps label_ops(const Graph& graph);

}  // namespace ferry
