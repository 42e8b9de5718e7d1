// Cuts the pipelines of a finished graph into new stages.
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "ops/control/label_ops.hpp"
#include "ops/train/pipeline.hpp"
#include "ops/train/stages/cut_stages.hpp"
#include "ops/train/stages/place_stages.hpp"

namespace ferry {
namespace {

/// Annotates the ops of a graph with their stages.
class StageAnnotator {
 public:
  StageAnnotator(Graph& graph, const LabelledOps& labelled, std::vector<int> stages)
      : graph_(graph), stage_(std::move(stages)) {
    for (std::uint32_t pipeline = 0; pipeline < labelled.pipelines.size(); ++pipeline)
      find_moved_devices(labelled, pipeline);
  }

  void run() {
    for (OpId id = 0; id < graph_.size(); ++id) annotate(id);
    free_constants();
  }

 private:
  /// Finds the new stages of the devices of a pipeline's first microbatch.
  void find_moved_devices(const LabelledOps& labelled, std::uint32_t pipeline) {
    for (OpId id = 0; id < graph_.size(); ++id) {
      const MicrobatchWork& work = labelled.work[id];
      if (!work.is_one() || work.backward || work.pipeline != pipeline || work.index != 0) continue;
      if (const DeviceSpec& device = graph_.op(id).annotation().device; !device.empty())
        stage_of_.try_emplace(device.str(), stage_[id]);
    }
  }

  /// Removes the annotation of values that are computed only from constants and are used in a stage, so that they are
  /// computed where they are used.
  void free_constants() {
    std::vector<bool> constant(graph_.size()), used(graph_.size());
    for (OpId id = 0; id < graph_.size(); ++id) {
      const Op op = graph_.op(id);
      const auto inputs = op.inputs();
      constant[id] = stage_[id] == kNoStage && !is_spread(op) &&
                     (op.def().role == OpRole::constant ||
                      (!inputs.empty() && std::all_of(inputs.begin(), inputs.end(), [&](ValueId input) {
                        return constant[graph_.producer(input)];
                      })));
    }
    for (OpId id = graph_.size(); id > 0; --id) {
      if (constant[id - 1] && used[id - 1]) graph_.annotate(id - 1, {});
      if (stage_[id - 1] == kNoStage && !used[id - 1]) continue;
      for (const ValueId input : graph_.op(id - 1).inputs())
        if (const OpId maker = graph_.producer(input); constant[maker]) used[maker] = true;
    }
  }

  /// Whether the op must keep its place: it is not on one device, or each task has its own value of it.
  static bool is_fixed(const Op& op) { return is_spread(op) || op.def().is(kLocal); }

  void annotate(OpId id) {
    const Op op = graph_.op(id);
    if (stage_[id] != kNoStage) return annotate(graph_, id, stage_[id]);
    const auto moved = stage_of_.find(op.annotation().device.str());
    if (moved != stage_of_.end()) annotate(graph_, id, moved->second);
  }

  void annotate(Graph& graph, OpId id, int stage) {
    const Op op = graph.op(id);
    if (is_fixed(op)) return;
    const DeviceSpec& before = op.annotation().device;
    graph.annotate(id, {DeviceSpec{{}, stage, before.kind, before.index}, kNoMesh, {}});
    for (const auto& [name, value] : op.attrs())
      if (const auto* ref = std::get_if<SubgraphRef>(&value)) {
        Graph& body = graph.subgraph(*ref);
        for (OpId inner = 0; inner < body.size(); ++inner) annotate(body, inner, stage);
      }
  }

  Graph& graph_;
  const std::vector<int> stage_;  // of each op
  // By annotated device: the new stage of the pipeline's first op there. Ops without a stage move with their device.
  std::map<std::string, int> stage_of_;
};

}  // namespace

void balance_stages(Graph& graph, int tasks, const ComputeCosts& costs) {
  if (tasks < 1) throw Error(Code::usage, "balance: {} tasks", tasks).hint("1 or more");
  const LabelledOps labelled = label_ops(graph);
  if (labelled.pipelines.empty())
    throw Error(Code::usage, "balance: the graph has no pipeline()")
        .hint("docs/guide/pipelines.md says how to make one");
  const auto cut = [&](std::span<const OpId> ops) {
    return cut_into_stages(graph, ops, static_cast<std::size_t>(tasks), costs);
  };
  StageAnnotator(graph, labelled, place_stages(graph, labelled, tasks, cut)).run();
}

}  // namespace ferry
