// Cuts the pipelines of a finished graph into new stages.
#include <algorithm>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "graph/op/op_work.hpp"
#include "ops/control/label_ops.hpp"
#include "ops/train/pipeline.hpp"
#include "ops/train/stages.hpp"

namespace ferry {
namespace {

constexpr int kNoStage = -1;

class Balancer {
 public:
  Balancer(Graph& graph, int tasks, const ComputeCosts& costs)
      : graph_(graph),
        tasks_(tasks),
        costs_(costs),
        labelled_(label_ops(graph)),
        stage_(graph.size(), kNoStage),
        of_variables_(graph.size()),
        is_read_backward_(graph.size()) {}

  void run() {
    if (tasks_ < 1) throw Error(Code::usage, "balance: {} tasks", tasks_).hint("1 or more");
    if (labelled_.pipelines.empty())
      throw Error(Code::usage, "balance: the graph has no pipeline()")
          .hint("docs/guide/pipelines.md says how to make one");
    for (std::uint32_t pipeline = 0; pipeline < labelled_.pipelines.size(); ++pipeline) cut(pipeline);
    spread_to_inputs();
    find_of_variables();
    find_read_backward();
    for (OpId id = 0; id < graph_.size(); ++id)
      if (graph_.op(id).def().role == OpRole::assign) place_update(id);
    place_gradients();
    for (OpId id = 0; id < graph_.size(); ++id)
      if (stage_[id] == kNoStage) place_by_inputs(id);
    spread_to_inputs();
    for (OpId id = 0; id < graph_.size(); ++id) annotate(id);
    free_constants();
  }

 private:
  /// Whether the op is on a mesh or on all tasks, rather than on one device.
  static bool is_spread(const Op& op) { return op.annotation().mesh != kNoMesh || op.annotation().device.all_tasks(); }
  [[nodiscard]] bool is_forward(OpId id) const { return labelled_.work[id].is_one() && !labelled_.work[id].backward; }
  [[nodiscard]] bool is_backward(OpId id) const { return labelled_.work[id].is_one() && labelled_.work[id].backward; }

  /// Chooses the stages of a pipeline's forward passes.
  void cut(std::uint32_t pipeline) {
    const SourceLine& line = labelled_.pipelines[pipeline].line;
    std::vector<std::vector<OpId>> of(static_cast<std::size_t>(labelled_.pipelines[pipeline].microbatches));
    for (OpId id = 0; id < graph_.size(); ++id) {
      if (!is_forward(id) || labelled_.work[id].pipeline != pipeline) continue;
      if (is_spread(graph_.op(id)))
        throw Error(Code::plan, "balance: " + graph_.op(id).str() + " is on a mesh, so its stage cannot be chosen")
            .at(line)
            .hint("leave it on the mesh, without balancing, or annotate the layers with devices");
      of[labelled_.work[id].index].push_back(id);
    }
    for (const std::vector<OpId>& ops : of)
      if (ops.size() != of[0].size())
        throw Error(Code::plan, "balance: the microbatches have different ops")
            .at(line)
            .hint("use the graph as pipeline() made it");
    if (of[0].size() < static_cast<std::size_t>(tasks_))
      throw Error(Code::plan, "balance: " + plural(tasks_, "task") + ", and only " + plural(of[0].size(), "op") +
                                  " in a microbatch")
          .at(line)
          .hint("fewer tasks");
    const std::vector<std::size_t> first = cut_into_stages(graph_, of[0], static_cast<std::size_t>(tasks_), costs_);
    for (const std::vector<OpId>& ops : of) {
      for (std::size_t i = 0; i < ops.size(); ++i)
        stage_[ops[i]] = static_cast<int>(std::upper_bound(first.begin(), first.end(), i) - first.begin()) - 1;
      move_entrances(ops);
    }
    for (const OpId id : of[0])
      if (const DeviceSpec& device = graph_.op(id).annotation().device; !device.empty())
        stage_of_.try_emplace(device.str(), stage_[id]);
  }

  /// Puts each microbatch's part of a batch into the first stage that reads it.
  void move_entrances(std::span<const OpId> ops) {
    const auto enters = [&](OpId id) { return graph_.op(id).def().is(kEntersMicrobatch); };
    for (const OpId id : ops)
      if (enters(id)) stage_[id] = tasks_ - 1;
    for (const OpId id : ops)
      for (const ValueId input : graph_.op(id).inputs())
        if (const OpId maker = graph_.producer(input); enters(maker))
          stage_[maker] = std::min(stage_[maker], stage_[id]);
  }

  /// Puts each value that belongs to no microbatch, such as a variable or a batch, into the first stage that reads it.
  void spread_to_inputs() {
    const std::vector<int> before = stage_;
    for (OpId id = graph_.size(); id > 0; --id) {
      const int stage = stage_[id - 1];
      if (stage == kNoStage) continue;
      for (const ValueId input : graph_.op(id - 1).inputs()) {
        const OpId maker = graph_.producer(input);
        const bool is_free = before[maker] == kNoStage && labelled_.work[maker].of == MicrobatchWork::Of::none &&
                             graph_.op(maker).def().role != OpRole::constant;
        if (is_free) stage_[maker] = stage_[maker] == kNoStage ? stage : std::min(stage_[maker], stage);
      }
    }
  }

  /// Finds variables, and values computed only from variables and constants, such as transposes.
  void find_of_variables() {
    for (OpId id = 0; id < graph_.size(); ++id) {
      const Op op = graph_.op(id);
      bool any = op.def().role == OpRole::variable, others = false;
      for (const ValueId input : op.inputs()) {
        const OpId maker = graph_.producer(input);
        any = any || of_variables_[maker];
        others = others || !(of_variables_[maker] || graph_.op(maker).def().role == OpRole::constant);
      }
      of_variables_[id] = any && !others;
    }
  }

  /// Finds the ops of backward passes that other ops of backward passes read.
  void find_read_backward() {
    for (OpId id = 0; id < graph_.size(); ++id)
      for (const ValueId input : graph_.op(id).inputs())
        if (const OpId maker = graph_.producer(input); is_backward(id) && is_backward(maker))
          is_read_backward_[maker] = true;
  }

  /// Puts the ops that compute a variable's new value into the variable's stage, if their results have the variable's
  /// shape. They are its gradient in each microbatch, the sum of these gradients, and the optimizer's variables.
  void place_update(OpId assign) {
    const ValueId set = graph_.op(assign).inputs()[0];
    const int stage = stage_[graph_.producer(set)];
    if (stage == kNoStage) return;
    std::vector<OpId> open{assign};
    while (!open.empty()) {
      const OpId id = open.back();
      open.pop_back();
      stage_[id] = stage;
      if (labelled_.work[id].is_one()) continue;
      for (const ValueId input : graph_.op(id).inputs()) {
        const OpId maker = graph_.producer(input);
        if (stage_[maker] == kNoStage && graph_.op(maker).def().role != OpRole::constant &&
            graph_.type(input).shape == graph_.type(set).shape)
          open.push_back(maker);
      }
    }
  }

  /// The stages of the values that an op reads.
  struct Read {
    int variable = kNoStage;                ///< of the first variable that it reads
    int made = kNoStage;                    ///< the last stage of inputs from forward passes
    int first = kNoStage, last = kNoStage;  ///< the first stage of inputs from backward passes; the last of all
    int largest = kNoStage;                 ///< of the input with the most bytes; of several, the last one
  };
  [[nodiscard]] Read read_by(OpId id) const {
    Read read;
    std::int64_t most = 0;
    for (const ValueId input : graph_.op(id).inputs()) {
      const OpId maker = graph_.producer(input);
      const int stage = stage_[maker];
      if (stage == kNoStage) continue;
      if (of_variables_[maker] && read.variable == kNoStage) read.variable = stage;
      if (is_forward(maker)) read.made = std::max(read.made, stage);
      if (is_backward(maker)) read.first = read.first == kNoStage ? stage : std::min(read.first, stage);
      read.last = std::max(read.last, stage);
      if (const std::int64_t bytes = known_bytes(graph_.type(input)); bytes >= most) {
        most = bytes;
        read.largest = stage;
      }
    }
    return read;
  }

  /// Puts a backward op into the stage of all ops that read it, if this is a single stage: it computes only gradients
  /// of the stage's variables. The op must not read variables, or forward values of later stages.
  void place_gradients() {
    constexpr int kUnread = -2;
    std::vector<int> read_in(graph_.size(), kUnread);  // the stage of all readers; kNoStage: several, or not placed
    for (OpId id = graph_.size(); id > 0; --id) {
      const int stage = read_in[id - 1];
      if (is_backward(id - 1) && stage_[id - 1] == kNoStage && stage >= 0)
        if (const Read read = read_by(id - 1); read.variable == kNoStage && read.made <= stage) stage_[id - 1] = stage;
      for (const ValueId input : graph_.op(id - 1).inputs()) {
        int& at = read_in[graph_.producer(input)];
        at = at == kUnread || at == stage_[id - 1] ? stage_[id - 1] : kNoStage;
      }
    }
  }

  /// Places an op by the stages of its inputs. An op that reads variables is placed with them. A backward op that no
  /// other backward op reads is placed in the last stage of its inputs. Any other backward op is placed in the stage in
  /// which the forward pass made its inputs, else in the first stage of its backward inputs. An op outside backward
  /// passes is placed with its largest input, so that a sum over all variables follows the stages.
  void place_by_inputs(OpId id) {
    const Read read = read_by(id);
    stage_[id] = read.variable != kNoStage ? read.variable
                 : !is_backward(id)        ? read.largest
                 : !is_read_backward_[id]  ? read.last
                 : read.made != kNoStage   ? read.made
                 : read.first != kNoStage  ? read.first
                                           : read.last;
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
  const int tasks_;
  const ComputeCosts& costs_;
  const LabelledOps labelled_;
  std::vector<int> stage_;  // of each op
  std::vector<bool> of_variables_, is_read_backward_;
  // By annotated device: the new stage of the pipeline's first op there. Ops without a stage move with their device.
  std::map<std::string, int> stage_of_;
};

}  // namespace

void balance_stages(Graph& graph, int tasks, const ComputeCosts& costs) {
  Balancer(graph, tasks, costs).run();
}

}  // namespace ferry
