#include "placement/choose/stage_candidates.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "graph/needed.hpp"
#include "ops/control/label_ops.hpp"
#include "ops/train/stages/cut_stages.hpp"
#include "ops/train/stages/held_bytes.hpp"
#include "ops/train/stages/label_passes.hpp"
#include "ops/train/stages/place_stages.hpp"

namespace ferry {
namespace {

constexpr int kMostStages = 64;

}  // namespace

std::vector<AutoStages> stage_candidates(const Graph& graph, const Signature& signature, const Topology& topology) {
  LabelledOps labelled = label_ops(graph);
  if (labelled.pipelines.empty())
    labelled = label_passes(graph, needed_ops(graph, signature.fetches, signature.targets));
  int count = static_cast<int>(topology.size());
  while (count > kMostStages) count /= 2;
  std::vector<AutoStages> candidates;
  for (; count > 1; count /= 2) try {
      for (const int saved_percent : {0, 50, 100}) {
        const auto cut = [&](std::span<const OpId> ops) {
          return cut_into_stages(graph, ops, static_cast<std::size_t>(count), topology.compute,
                                 {held_bytes(graph, labelled, ops), saved_percent});
        };
        AutoStages stages{count, place_stages(graph, labelled, count, cut)};
        if (std::ranges::find(candidates, stages) == candidates.end()) candidates.push_back(std::move(stages));
      }
    } catch (const Error& error) {
      if (error.code() != Code::plan) throw;
    }
  return candidates;
}

}  // namespace ferry
