#include "ops/train/stages/place_stages.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/text.hpp"
#include "graph/op/op_work.hpp"
#include "ops/train/stages/update_ops.hpp"

namespace ferry {
namespace {

class StagePlacer {
 public:
  StagePlacer(const Graph& graph, const LabelledOps& labelled, int stages, const StageCut& cut)
      : graph_(graph),
        labelled_(labelled),
        stages_(stages),
        cut_(cut),
        stage_(graph.size(), kNoStage),
        of_variables_(graph.size()),
        is_read_backward_(graph.size()) {}

  std::vector<int> run() {
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
    return std::move(stage_);
  }

 private:
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
    if (of[0].size() < static_cast<std::size_t>(stages_))
      throw Error(Code::plan, "balance: " + plural(stages_, "task") + ", and only " + plural(of[0].size(), "op") +
                                  " in a microbatch")
          .at(line)
          .hint("fewer tasks");
    const std::vector<std::size_t> first = cut_(of[0]);
    for (const std::vector<OpId>& ops : of) {
      for (std::size_t i = 0; i < ops.size(); ++i)
        stage_[ops[i]] = static_cast<int>(std::upper_bound(first.begin(), first.end(), i) - first.begin()) - 1;
      move_entrances(ops);
    }
  }

  /// Puts each microbatch's part of a batch into the first stage that reads it.
  void move_entrances(std::span<const OpId> ops) {
    const auto enters = [&](OpId id) { return graph_.op(id).def().is(kEntersMicrobatch); };
    for (const OpId id : ops)
      if (enters(id)) stage_[id] = stages_ - 1;
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

  /// Puts the ops that compute a variable's new value (update_ops.hpp) into the variable's stage.
  void place_update(OpId assign) {
    const int stage = stage_[graph_.producer(graph_.op(assign).inputs()[0])];
    if (stage == kNoStage) return;
    stage_[assign] = stage;
    each_update_op(graph_, labelled_, assign, [&](OpId id) {
      const bool is_free = stage_[id] == kNoStage;
      if (is_free) stage_[id] = stage;
      return is_free;
    });
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

  const Graph& graph_;
  const LabelledOps& labelled_;
  const int stages_;
  const StageCut& cut_;
  std::vector<int> stage_;  // of each op
  std::vector<bool> of_variables_, is_read_backward_;
};

}  // namespace

std::vector<int> place_stages(const Graph& graph, const LabelledOps& labelled, int stages, const StageCut& cut) {
  return StagePlacer(graph, labelled, stages, cut).run();
}

}  // namespace ferry
