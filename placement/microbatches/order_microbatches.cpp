#include "placement/microbatches/order_microbatches.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <queue>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "base/format.hpp"
#include "base/planned_time.hpp"
#include "base/text.hpp"
#include "ops/control/label_ops.hpp"
#include "placement/layout/computing_times.hpp"
#include "placement/microbatches/schedule_work.hpp"

namespace ferry {
namespace {

using Pass = PipelineWork::Pass;

/// Teams of tasks that compute values together; a team counts as one device.
class Teams {
 public:
  explicit Teams(std::size_t tasks) : team_(tasks) { std::iota(team_.begin(), team_.end(), 0U); }

  void join(const std::vector<std::int32_t>& tasks) {
    for (const std::int32_t task : tasks) team_[of(task)] = of(tasks[0]);
  }
  [[nodiscard]] std::uint32_t of(std::int32_t task) {
    auto at = static_cast<std::uint32_t>(task);
    while (team_[at] != at) at = team_[at] = team_[team_[at]];
    return at;
  }

 private:
  std::vector<std::uint32_t> team_;
};

/// Orders the nodes of one region.
class RegionOrder {
 public:
  RegionOrder(Program& program, ProgramRegion& region, const LabelledOps& labelled)
      : program_(program),
        region_(region),
        labelled_(labelled),
        times_(program),
        nodes_(region.order.size()),
        teams_(program.topology->tasks.size()) {
    for (std::size_t at = 0; at < region.order.size(); ++at) place_[region.order[at]] = at;
  }

  void run() {
    find_needs();
    find_work();
    if (work_.empty()) return;
    connect_work();
    std::vector<PipelineSchedule> schedules;
    for (const LabelledPipeline& pipeline : labelled_.pipelines) schedules.push_back(pipeline.schedule);
    const auto sequence = schedule_work(work_, schedules);
    if (sequence && program_.options.reasons)
      for (std::uint32_t pipeline = 0; pipeline < schedules.size(); ++pipeline) chart(pipeline, *sequence);
    if (sequence)
      emit(*sequence);
    else
      program_.warnings.push_back(
          "microbatches are not computed in the order of a pipeline: some work of one needs "
          "results of all of them");
  }

 private:
  /// The facts about the node at one position of the region.
  struct NodeFacts {
    std::vector<std::size_t> needs, users;  // positions
    MicrobatchWork label;
    std::uint32_t team = 0;
    std::int64_t stage = 0;
    bool begins = false;  ///< it needs no value from its own pass
    std::uint32_t work = kNone;
    bool emitted = false;
    bool follows = false;  ///< belongs to no work item and needs one
    std::size_t missing = 0;
  };

  [[nodiscard]] const Node& node(std::size_t at) const { return program_.nodes[region_.order[at]]; }

  // ---- What comes before what ----

  void find_needs() {
    std::unordered_map<OpId, std::size_t> place_of_op;
    std::size_t last_effect = region_.order.size();
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
      for (const PValueId input : program_.inputs(node(at)))
        if (const auto found = place_.find(program_.values[input].producer); found != place_.end())
          need(at, found->second);
      if (node(at).def == nullptr) continue;
      for (const OpId earlier : node(at).graph->op(node(at).op).after())
        if (const auto found = place_of_op.find(earlier); found != place_of_op.end()) need(at, found->second);
      place_of_op[node(at).op] = at;
      if (!node(at).def->is(kEffect)) continue;
      if (last_effect < at) need(at, last_effect);
      last_effect = at;
    }
  }

  void need(std::size_t at, std::size_t earlier) {
    if (earlier >= at) return;  // a value without readers may be missing
    nodes_[at].needs.push_back(earlier);
    nodes_[earlier].users.push_back(at);
  }

  // ---- Work ----

  void find_work() {
    bool any = false;
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
      nodes_[at].label = label_of(at);
      any = any || nodes_[at].label.is_one();
      if (nodes_[at].label.is_one() && computes(at)) teams_.join(program_.where(node(at)).tasks);
    }
    if (!any) return;
    for (std::size_t at = 0; at < nodes_.size(); ++at)
      if (nodes_[at].label.is_one()) place_in_pass(at);
    for (std::size_t at = nodes_.size(); at > 0; --at)
      if (nodes_[at - 1].label.backward && nodes_[at - 1].begins) place_with_users(at - 1);
    std::vector<bool> leads(nodes_.size());  // for each node: its value goes to another device in the same pass
    for (std::size_t at = nodes_.size(); at > 0; --at)
      for (const std::size_t user : nodes_[at - 1].users)
        if (nodes_[user].label == nodes_[at - 1].label && (leads[user] || nodes_[user].team != nodes_[at - 1].team))
          leads[at - 1] = true;
    for (std::size_t at = 0; at < nodes_.size(); ++at)
      if (nodes_[at].label.is_one()) add_to_work(at, leads[at]);
  }

  [[nodiscard]] MicrobatchWork label_of(std::size_t at) const {
    const Node& node = this->node(at);
    if (node.kind == NodeKind::fetch || node.once) return {};
    return labelled_.work[node.op];
  }

  /// True if the node computes on its own devices. A message instead belongs to the work item that it continues.
  [[nodiscard]] bool computes(std::size_t at) const { return node(at).def != nullptr && node(at).where != kNone; }

  /// Sets the device and the stage of a node. The nodes before it already have theirs.
  void place_in_pass(std::size_t at) {
    NodeFacts& facts = nodes_[at];
    const auto same_pass = [&](std::size_t earlier) { return nodes_[earlier].label == facts.label; };
    const auto before = std::find_if(facts.needs.begin(), facts.needs.end(), same_pass);
    facts.team = computes(at)                  ? teams_.of(program_.where(node(at)).tasks[0])
                 : before != facts.needs.end() ? nodes_[*before].team
                                               : 0;
    for (const std::size_t earlier : facts.needs)
      if (same_pass(earlier))
        facts.stage = std::max(facts.stage, nodes_[earlier].stage + (nodes_[earlier].team == facts.team ? 0 : 1));
    facts.begins = std::none_of(facts.needs.begin(), facts.needs.end(),
                                [&](std::size_t earlier) { return same_pass(earlier) && !nodes_[earlier].begins; });
  }

  /// Moves a backward node that needs only values of the forward pass to the stage of its users.
  void place_with_users(std::size_t at) {
    std::optional<std::int64_t> stage;
    for (const std::size_t user : nodes_[at].users)
      if (nodes_[user].label == nodes_[at].label) {
        const std::int64_t last = nodes_[user].stage - (nodes_[user].team == nodes_[at].team ? 0 : 1);
        stage = std::min(stage.value_or(last), last);
      }
    nodes_[at].stage = std::max(nodes_[at].stage, stage.value_or(0));
  }

  void add_to_work(std::size_t at, bool leads) {
    NodeFacts& facts = nodes_[at];
    const MicrobatchWork& label = facts.label;
    const bool apart = labelled_.pipelines[label.pipeline].schedule == PipelineSchedule::zero_bubble && !leads;
    const Pass pass = !label.backward ? Pass::forward : apart ? Pass::weights : Pass::backward;
    const auto [found, is_new] = work_of_.try_emplace(
        {label.pipeline, label.index, static_cast<int>(pass), facts.team, facts.stage}, work_.size());
    if (is_new) {
      work_.push_back({pass, label.pipeline, facts.team, label.index, facts.stage, 0, {}});
      places_.emplace_back();
    }
    facts.work = static_cast<std::uint32_t>(found->second);
    places_[facts.work].push_back(at);
    std::int64_t& time = work_[facts.work].time;
    if (node(at).kind == NodeKind::compute) time = add_times(time, times_.of(node(at)));
  }

  /// Finds the needs between work items, also those through nodes that belong to no work item.
  void connect_work() {
    std::vector<bool> is_way(nodes_.size());  // belongs to no work item, and some work item needs it
    for (std::size_t at = nodes_.size(); at > 0; --at)
      is_way[at - 1] = nodes_[at - 1].work == kNone && std::ranges::any_of(nodes_[at - 1].users, [&](std::size_t user) {
                         return nodes_[user].work != kNone || is_way[user];
                       });
    std::vector<std::set<std::uint32_t>> by_way(nodes_.size());
    std::vector<std::set<std::uint32_t>> needs(work_.size());
    for (std::size_t at = 0; at < nodes_.size(); ++at) {
      NodeFacts& facts = nodes_[at];
      for (const std::size_t earlier : facts.needs) {
        const bool is_work = nodes_[earlier].work != kNone;
        if (facts.work == kNone) facts.follows = facts.follows || is_work || nodes_[earlier].follows;
        if (facts.work == kNone && !is_way[at]) continue;
        std::set<std::uint32_t>& all = facts.work == kNone ? by_way[at] : needs[facts.work];
        if (is_work)
          all.insert(nodes_[earlier].work);
        else
          all.insert(by_way[earlier].begin(), by_way[earlier].end());
      }
    }
    for (std::uint32_t w = 0; w < work_.size(); ++w)
      for (const std::uint32_t need : needs[w])
        if (need != w) work_[w].needs.push_back(need);
  }

  /// Records the order and the times of the work on each device of a pipeline.
  void chart(std::uint32_t pipeline, const std::vector<ScheduledWork>& sequence) {
    std::map<std::uint32_t, std::set<std::int64_t>> stages;
    for (const PipelineWork& w : work_)
      if (w.pipeline == pipeline && w.pass == Pass::forward) stages[w.device].insert(w.stage);
    if (stages.empty()) return;  // the pipeline is in another entry
    const LabelledPipeline& of = labelled_.pipelines[pipeline];
    PipelineChart chart;
    chart.title =
        formatted("pipeline of {} microbatches, {}  at {}", of.microbatches, name_of(of.schedule), of.line.str());
    std::map<std::uint32_t, PipelineChart::Row> rows;
    for (const ScheduledWork& scheduled : sequence) {
      const PipelineWork& w = work_[scheduled.work];
      if (w.pipeline != pipeline) continue;
      const bool several = stages[w.device].size() > 1;
      rows[w.device].work.push_back(
          {"FBW"[static_cast<int>(w.pass)], w.microbatch, several ? w.stage : -1, scheduled.begin, w.time});
      chart.length = std::max(chart.length, scheduled.begin + w.time);
    }
    for (auto& [device, row] : rows) {
      row.who = tasks_of(device);
      chart.rows.push_back(std::move(row));
    }
    program_.pipelines.push_back(std::move(chart));
  }

  /// "task 0", "tasks 2, 3".
  std::string tasks_of(std::uint32_t device) {
    std::vector<std::string> tasks;
    for (std::size_t task = 0; task < program_.topology->tasks.size(); ++task)
      if (teams_.of(static_cast<std::int32_t>(task)) == device) tasks.push_back(std::to_string(task));
    return (tasks.size() == 1 ? "task " : "tasks ") + join(tasks, ", ");
  }

  // ---- The new order ----

  void emit(const std::vector<ScheduledWork>& sequence) {
    for (NodeFacts& facts : nodes_) facts.missing = facts.needs.size();
    order_.reserve(nodes_.size());
    for (const ScheduledWork& next : sequence) {
      for (const std::size_t at : places_[next.work]) emit(at);
      emit_followers();
    }
    for (std::size_t at = 0; at < nodes_.size(); ++at) emit(at);
    FERRY_ASSERT(order_.size() == region_.order.size(), "a node was lost");
    region_.order = std::move(order_);
  }

  /// Appends the node, after its inputs that are not emitted yet.
  void emit(std::size_t wanted) {
    std::vector<std::size_t> open{wanted};
    while (!open.empty()) {
      const std::size_t at = open.back();
      NodeFacts& facts = nodes_[at];
      const auto missing = std::find_if(facts.needs.begin(), facts.needs.end(),
                                        [&](std::size_t earlier) { return !nodes_[earlier].emitted; });
      if (!facts.emitted && missing != facts.needs.end()) {
        open.push_back(*missing);
        continue;
      }
      open.pop_back();
      if (facts.emitted) continue;
      facts.emitted = true;
      order_.push_back(region_.order[at]);
      for (const std::size_t user : facts.users)
        if (--nodes_[user].missing == 0 && nodes_[user].follows) followers_.push(user);
    }
  }

  void emit_followers() {
    while (!followers_.empty()) {
      const std::size_t at = followers_.top();
      followers_.pop();
      emit(at);
    }
  }

  Program& program_;
  ProgramRegion& region_;
  const LabelledOps& labelled_;
  const ComputingTimes times_;
  std::vector<NodeFacts> nodes_;  // for each position
  std::unordered_map<NodeId, std::size_t> place_;
  Teams teams_;
  std::map<std::tuple<std::uint32_t, std::int64_t, int, std::uint32_t, std::int64_t>, std::size_t> work_of_;
  std::vector<PipelineWork> work_;
  std::vector<std::vector<std::size_t>> places_;  // for each work item
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> followers_;
  std::vector<NodeId> order_;
};

}  // namespace

void order_microbatches(Program& program) {
  std::map<const Graph*, LabelledOps> labelled;
  for (ProgramRegion& region : program.regions) {
    const auto with_op = std::find_if(region.order.begin(), region.order.end(),
                                      [&](NodeId id) { return program.nodes[id].def != nullptr; });
    if (with_op == region.order.end()) continue;
    const Graph* graph = program.nodes[*with_op].graph;
    const auto [found, is_new] = labelled.try_emplace(graph);
    if (is_new) found->second = label_ops(*graph);
    if (!found->second.pipelines.empty()) RegionOrder(program, region, found->second).run();
  }
}

}  // namespace ferry
