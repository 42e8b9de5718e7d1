#include "placement/choose/judge.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "placement/choose/message_times.hpp"
#include "placement/choose/model.hpp"
#include "placement/layout/computing_times.hpp"
#include "placement/program/parts.hpp"

namespace ferry {
namespace {

class StepSimulator {
 public:
  /// `work`, if given, receives the work of the step.
  explicit StepSimulator(const Program& program, std::vector<StepWork>* work = nullptr)
      : program_(program),
        times_(program),
        ready_(program.values.size()),
        groups_of_(program.wheres.size()),
        work_(work) {
    if (work_ != nullptr) makers_.assign(program.values.size(), kNone);
    group_tasks();
  }

  StepTime run() {
    region(0, 1);
    StepTime time;
    for (const Clock& clock : clocks_) {
      time.step = std::max(time.step, clock.now);
      time.computing = std::max(time.computing, clock.computing);
      time.messages = std::max(time.messages, clock.messages);
    }
    return time;
  }

  /// The tasks of each group, ascending.
  [[nodiscard]] std::vector<std::vector<std::int32_t>> groups() const {
    std::vector<std::vector<std::int32_t>> groups(clocks_.size());
    for (std::size_t task = 0; task < group_of_.size(); ++task)
      groups[group_of_[task]].push_back(static_cast<std::int32_t>(task));
    return groups;
  }

 private:
  /// The clock, in picoseconds, of tasks that take part in the same nodes.
  struct Clock {
    std::int64_t now = 0, computing = 0, messages = 0;
  };

  /// Finds the groups of tasks that are in the same device sets.
  void group_tasks() {
    std::vector<std::vector<WhereId>> of_task(program_.topology->tasks.size());
    for (WhereId where = 0; where < program_.wheres.size(); ++where)
      for (const std::int32_t task : program_.wheres[where].tasks)
        of_task[static_cast<std::size_t>(task)].push_back(where);
    std::map<std::vector<WhereId>, std::size_t> groups;
    for (std::vector<WhereId>& wheres : of_task) {
      const auto [found, fresh] = groups.try_emplace(std::move(wheres), groups.size());
      group_of_.push_back(found->second);
      if (!fresh) continue;
      for (const WhereId where : found->first) groups_of_[where].push_back(found->second);
    }
    clocks_.resize(groups.size());
  }

  void region(RegionId id, std::int64_t often) {
    for (const NodeId node : program_.regions[id].order) visit(program_.nodes[node], often);
  }

  void visit(const Node& node, std::int64_t often) {
    switch (node.kind) {
      case NodeKind::compute:
        if (node.where == kNone || node.once) return;
        return advance_clocks(node, often, node.def->is(kView) ? StepWork::Part() : times_.kernel(node));
      case NodeKind::collective:
        return advance_clocks(node, often, collective(node));
      case NodeKind::transfer:
        return advance_clocks(node, often, transfer(node));
      case NodeKind::loop:
      case NodeKind::branch:
        mark_parameters_ready(node);
        region(node.detail, node.kind == NodeKind::loop ? often * kIterations : often);
        region(node.detail + 1, node.kind == NodeKind::loop ? often * kIterations : often);
        return advance_clocks(node, often, {});
      default:
        return advance_clocks(node, often, {});
    }
  }

  /// Makes the parameters of a node's bodies ready when its inputs are ready.
  void mark_parameters_ready(const Node& node) {
    for (const RegionId body : {node.detail, node.detail + 1}) {
      const std::vector<PValueId>& parameters = program_.regions[body].parameters;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const PValueId argument = program_.inputs(node)[program_.argument(node, body, i)];
        ready_[parameters[i]] = ready_[argument];
        if (work_ != nullptr) makers_[parameters[i]] = makers_[argument];
      }
    }
  }

  /// The groups of tasks that take part in the node, ascending.
  [[nodiscard]] std::vector<std::size_t> groups_in(const Node& node) const {
    if (node.where == kNone) return {};
    const std::vector<std::size_t>& own = groups_of_[node.where];
    if (node.kind != NodeKind::collective && node.kind != NodeKind::transfer) return own;
    std::vector<std::size_t> groups;
    std::ranges::set_union(own, groups_of_[program_.values[program_.inputs(node)[0]].where],
                           std::back_inserter(groups));
    return groups;
  }

  /// Adds the time of the node to the clocks of all its tasks. The node begins when all of them are free and its inputs
  /// are ready.
  void advance_clocks(const Node& node, std::int64_t often, const StepWork::Part& part) {
    const std::int64_t time = often * picoseconds_of(part);
    std::int64_t begin = 0;
    for (const PValueId input : program_.inputs(node)) begin = std::max(begin, ready_[input]);
    std::int64_t end = begin;
    if (time > 0) {
      const std::vector<std::size_t> groups = groups_in(node);
      for (const std::size_t group : groups) begin = std::max(begin, clocks_[group].now);
      end = begin + time;
      for (const std::size_t group : groups) {
        clocks_[group].now = end;
        (std::holds_alternative<StepWork::Kernel>(part) ? clocks_[group].computing : clocks_[group].messages) += time;
      }
    }
    for (const PValueId output : node.outputs) ready_[output] = end;
    if (work_ != nullptr) record(node, often, part, time);
  }

  void record(const Node& node, std::int64_t often, const StepWork::Part& part, std::int64_t time) {
    StepWork work{program_.name(node),
                  what(node),
                  program_.line(node),
                  {},
                  {},
                  often,
                  part,
                  seconds_of(static_cast<double>(time))};
    for (const std::size_t group : groups_in(node)) work.groups.push_back(static_cast<std::uint32_t>(group));
    for (const PValueId input : program_.inputs(node))
      if (makers_[input] != kNone) work.after.push_back(makers_[input]);
    std::ranges::sort(work.after);
    work.after.erase(std::unique(work.after.begin(), work.after.end()), work.after.end());
    for (const PValueId output : node.outputs) makers_[output] = static_cast<std::uint32_t>(work_->size());
    work_->push_back(std::move(work));
  }

  [[nodiscard]] std::string what(const Node& node) const {
    if (node.kind == NodeKind::collective) return std::string(name_of(program_.collectives[node.detail].kind));
    return std::string(node.def != nullptr ? node.def->name : name_of(node.kind));
  }

  /// The time of one run of the node.
  [[nodiscard]] std::int64_t picoseconds_of(const StepWork::Part& part) const {
    if (const auto* kernel = std::get_if<StepWork::Kernel>(&part)) return times_.of(*kernel);
    const auto* message = std::get_if<StepWork::Message>(&part);
    if (message == nullptr) return 0;
    if (message->hosts > 1)
      return sum_picoseconds(*program_.topology, {message->members / message->hosts, message->hosts}, message->given)
          .all();
    return message_picoseconds(*program_.topology, message->link, bytes_sent(*message), rounds(*message));
  }

  /// The bytes that the first task of the value's device set has of it.
  [[nodiscard]] std::int64_t bytes_of(PValueId id) const {
    const PValue& value = program_.values[id];
    std::int64_t bytes = static_cast<std::int64_t>(size_of(value.type.dtype));
    for (const std::int64_t size : local_sizes(program_, value, program_.wheres[value.where].tasks[0])) bytes *= size;
    return bytes;
  }

  [[nodiscard]] StepWork::Message collective(const Node& node) const {
    const ProgramCollective& what = program_.collectives[node.detail];
    const Grouping& groups = program_.groupings[what.members.grouping];
    StepWork::Message message{.is_collective = true, .kind = what.kind};
    message.members = static_cast<std::int64_t>(groups[0].size());
    for (const PValueId input : program_.inputs(node)) message.given += bytes_of(input);
    for (const PValueId output : node.outputs) message.got += bytes_of(output);
    const DeviceKind device = program_.wheres[program_.values[program_.inputs(node)[0]].where].kind;
    if (device == DeviceKind::cpu && what.kind == CollectiveKind::all_reduce) message.hosts = even_hosts(groups);
    if (message.hosts > 1) message.within_host = program_.topology->sums(true);
    const bool join =
        std::ranges::all_of(groups, [&](const auto& group) { return program_.topology->join_gpus(group); });
    message.between_hosts = program_.crosses_hosts(groups);
    message.link = device == DeviceKind::cpu && what.reduce != Reduce::none
                       ? program_.topology->sums(!message.between_hosts)
                       : program_.topology->link(device, !message.between_hosts, join);
    return message;
  }

  /// The number of hosts of each group if all hosts have the same number of its members; else 1.
  [[nodiscard]] std::int64_t even_hosts(const Grouping& groups) const {
    std::map<std::int32_t, std::int64_t> on_host;
    for (const std::int32_t task : groups[0]) ++on_host[program_.topology->tasks[static_cast<std::size_t>(task)].host];
    const auto hosts = static_cast<std::int64_t>(on_host.size()), members = static_cast<std::int64_t>(groups[0].size());
    return std::ranges::all_of(on_host, [&](const auto& host) { return host.second * hosts == members; }) ? hosts : 1;
  }

  [[nodiscard]] StepWork::Message transfer(const Node& node) const {
    const PValueId given = program_.inputs(node)[0];
    const std::int32_t ends[] = {program_.wheres[program_.values[given].where].tasks[0], program_.where(node).tasks[0]};
    StepWork::Message message;
    message.given = message.got = bytes_of(given);
    message.between_hosts = !program_.topology->on_one_host(ends);
    message.link =
        program_.topology->link(program_.where(node).kind, !message.between_hosts, program_.topology->join_gpus(ends));
    return message;
  }

  /// The bytes that one member sends.
  static std::int64_t bytes_sent(const StepWork::Message& message) {
    const std::int64_t given = message.given, got = message.got, members = message.members;
    if (!message.is_collective) return given;
    switch (message.kind) {
      case CollectiveKind::all_reduce:
        return sum_bytes(given, members);
      case CollectiveKind::reduce_scatter:
      case CollectiveKind::all_to_all:
      case CollectiveKind::scatter:
        return given - given / members;
      case CollectiveKind::all_gather:
      case CollectiveKind::gather:
        return got - got / members;
      default:
        return std::max(given, got);
    }
  }

  static std::int64_t rounds(const StepWork::Message& message) {
    return message.is_collective ? rounds_of(message.kind, message.members) : 1;
  }

  const Program& program_;
  const ComputingTimes times_;
  std::vector<std::int64_t> ready_;                  // by value: the time when it is ready
  std::vector<std::vector<std::size_t>> groups_of_;  // by device set: the groups of tasks in it, ascending
  std::vector<std::size_t> group_of_;                // by task
  std::vector<Clock> clocks_;                        // of each group
  std::vector<StepWork>* const work_;                // null: the work is not recorded
  std::vector<std::uint32_t> makers_;                // by value: the recorded work that makes it; kNone: none does
};

}  // namespace

StepTime judge(const Program& program) {
  return StepSimulator(program).run();
}

StepEstimate estimate_step(const Program& program) {
  StepEstimate made;
  StepSimulator judge(program, &made.work);
  const StepTime time = judge.run();
  made.step_seconds = seconds_of(static_cast<double>(time.step));
  made.computing_seconds = seconds_of(static_cast<double>(time.computing));
  made.message_seconds = seconds_of(static_cast<double>(time.messages));
  made.groups = judge.groups();
  return made;
}

}  // namespace ferry
