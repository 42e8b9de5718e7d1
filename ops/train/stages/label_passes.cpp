#include "ops/train/stages/label_passes.hpp"

#include <algorithm>

#include "ops/train/stages/update_ops.hpp"

namespace ferry {
namespace {

/// Whether each element of the output depends only on the elements of the inputs at its position, also if the op only
/// moves or converts elements.
bool keeps_positions(const OpDef& def) {
  return def.index.find_first_not_of(".,->") == std::string_view::npos && def.index.starts_with("...");
}

class PassLabeller {
 public:
  PassLabeller(const Graph& graph, const std::vector<bool>& needed)
      : graph_(graph), needed_(needed), of_data_(graph.size()), updates_(graph.size()), forward_(graph.size()) {}

  LabelledOps run() {
    find_of_data();
    find_updates();
    find_forward();
    LabelledOps labelled{std::vector<MicrobatchWork>(graph_.size()), {LabelledPipeline{}}};
    std::vector<bool> follows(graph_.size());  // the op is forward, or depends on a forward op
    for (OpId id = 0; id < graph_.size(); ++id) {
      follows[id] = forward_[id] || (needed_[id] && reads(id, follows));
      if (forward_[id] || (follows[id] && !updates_[id])) labelled.work[id] = {MicrobatchWork::Of::one, !forward_[id]};
    }
    return labelled;
  }

 private:
  [[nodiscard]] bool reads(OpId id, const std::vector<bool>& makers) const {
    return std::ranges::any_of(graph_.op(id).inputs(), [&](ValueId input) { return makers[graph_.producer(input)]; });
  }
  [[nodiscard]] bool is_update(OpId id) const { return needed_[id] && graph_.op(id).def().role == OpRole::assign; }

  /// Whether the op makes data: an input, a batch, or another op without inputs that is no variable or constant.
  [[nodiscard]] bool is_source(OpId id) const {
    const Op op = graph_.op(id);
    const bool is_leaf = op.def().role != OpRole::variable && op.def().role != OpRole::constant;
    return op.def().batches != nullptr || (op.inputs().empty() && is_leaf);
  }

  void find_of_data() {
    for (OpId id = 0; id < graph_.size(); ++id) of_data_[id] = needed_[id] && (is_source(id) || reads(id, of_data_));
  }

  /// Finds the ops that compute new values of variables element by element, up to the gradients.
  void find_updates() {
    const LabelledOps none{std::vector<MicrobatchWork>(graph_.size()), {}};
    for (OpId assign = 0; assign < graph_.size(); ++assign) {
      if (!is_update(assign)) continue;
      updates_[assign] = true;
      each_update_op(graph_, none, assign, [&](OpId id) {
        const bool is_new = of_data_[id] && !updates_[id] && keeps_positions(graph_.op(id).def());
        if (is_new) updates_[id] = true;
        return is_new;
      });
    }
  }

  void find_forward() {
    if (std::ranges::find(updates_, true) != updates_.end())
      find_first_readers();
    else
      forward_ = of_data_;
    for (OpId id = graph_.size(); id > 0; --id)
      if (forward_[id - 1])
        for (const ValueId input : graph_.op(id - 1).inputs())
          if (const OpId maker = graph_.producer(input); of_data_[maker]) forward_[maker] = true;
    for (OpId id = 0; id < graph_.size(); ++id) forward_[id] = forward_[id] && !is_source(id);
  }

  /// Marks, for each variable of the network, the first op that depends on data and reads the variable, or a value that
  /// is computed only from variables. The first readers of an optimizer's variables are part of updates.
  void find_first_readers() {
    std::vector<bool> is_read(graph_.size());
    for (OpId id = 0; id < graph_.size(); ++id) {
      if (!of_data_[id]) continue;
      std::vector<OpId> open{id};
      while (!open.empty()) {
        const OpId at = open.back();
        open.pop_back();
        for (const ValueId input : graph_.op(at).inputs()) {
          const OpId maker = graph_.producer(input);
          if (of_data_[maker] || is_read[maker]) continue;
          is_read[maker] = true;
          open.push_back(maker);
          if (graph_.op(maker).def().role == OpRole::variable && !updates_[id]) forward_[id] = true;
        }
      }
    }
  }

  const Graph& graph_;
  const std::vector<bool>& needed_;
  std::vector<bool> of_data_;  // for each op: it is needed, and depends on data
  std::vector<bool> updates_;  // for each op: it is part of the update of a variable
  std::vector<bool> forward_;  // for each op: it is work of the forward pass
};

}  // namespace

LabelledOps label_passes(const Graph& graph, const std::vector<bool>& needed) {
  return PassLabeller(graph, needed).run();
}

}  // namespace ferry
