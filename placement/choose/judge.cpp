#include "placement/choose/judge.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "placement/choose/message_times.hpp"
#include "placement/choose/model.hpp"
#include "placement/layout/computing_times.hpp"
#include "placement/program/parts.hpp"

namespace ferry {
namespace {

class Judge {
 public:
  explicit Judge(const Program& program)
      : program_(program), times_(program), ready_(program.values.size()), groups_of_(program.wheres.size()) {
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

 private:
  /// The clock of tasks that take part in the same nodes.
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
        return spend(node, often * times_.of(node), &Clock::computing);
      case NodeKind::collective:
        return spend(node, often * time_of_collective(node), &Clock::messages);
      case NodeKind::transfer:
        return spend(node, often * time_of_transfer(node), &Clock::messages);
      case NodeKind::loop:
      case NodeKind::branch:
        enter(node);
        region(node.detail, node.kind == NodeKind::loop ? often * kIterations : often);
        region(node.detail + 1, node.kind == NodeKind::loop ? often * kIterations : often);
        return spend(node, 0, &Clock::computing);
      default:
        return spend(node, 0, &Clock::computing);
    }
  }

  /// The parameters of a node's bodies are there with its inputs.
  void enter(const Node& node) {
    for (const RegionId body : {node.detail, node.detail + 1}) {
      const std::vector<PValueId>& parameters = program_.regions[body].parameters;
      for (std::size_t i = 0; i < parameters.size(); ++i)
        ready_[parameters[i]] = ready_[program_.inputs(node)[program_.argument(node, body, i)]];
    }
  }

  /// Adds the time to the clocks of all tasks of the node, from the time on when they are free and its inputs there.
  void spend(const Node& node, std::int64_t time, std::int64_t Clock::*kind) {
    std::int64_t begin = 0;
    for (const PValueId input : program_.inputs(node)) begin = std::max(begin, ready_[input]);
    std::int64_t end = begin;
    const auto each_clock = [&](const auto& f) {
      if (node.where == kNone) return;
      for (const std::size_t group : groups_of_[node.where]) f(clocks_[group]);
      if (node.kind != NodeKind::collective && node.kind != NodeKind::transfer) return;
      for (const std::size_t group : groups_of_[program_.values[program_.inputs(node)[0]].where]) f(clocks_[group]);
    };
    if (time > 0) {
      each_clock([&](const Clock& clock) { begin = std::max(begin, clock.now); });
      end = begin + time;
      each_clock([&](Clock& clock) {
        if (clock.now == end) return;  // it is among the senders and the receivers
        clock.now = end;
        clock.*kind += time;
      });
    }
    for (const PValueId output : node.outputs) ready_[output] = end;
  }

  /// The bytes that the first task of the value's device set has of it.
  [[nodiscard]] std::int64_t bytes_of(PValueId id) const {
    const PValue& value = program_.values[id];
    std::int64_t bytes = static_cast<std::int64_t>(size_of(value.type.dtype));
    for (const std::int64_t size : local_sizes(program_, value, program_.wheres[value.where].tasks[0])) bytes *= size;
    return bytes;
  }

  [[nodiscard]] std::int64_t time_of_collective(const Node& node) const {
    const ProgramCollective& what = program_.collectives[node.detail];
    const Grouping& groups = program_.groupings[what.members.grouping];
    const auto members = static_cast<std::int64_t>(groups[0].size());
    std::int64_t given = 0, got = 0;
    for (const PValueId input : program_.inputs(node)) given += bytes_of(input);
    for (const PValueId output : node.outputs) got += bytes_of(output);
    const DeviceKind device = program_.wheres[program_.values[program_.inputs(node)[0]].where].kind;
    if (device == DeviceKind::cpu && what.kind == CollectiveKind::all_reduce)
      return sum_picoseconds(*program_.topology, members_of(groups), given).all();
    const bool join =
        std::ranges::all_of(groups, [&](const auto& group) { return program_.topology->join_gpus(group); });
    const bool one_host = !program_.crosses_hosts(groups), is_sum = what.reduce != Reduce::none;
    const LinkCost link = device == DeviceKind::cpu && is_sum ? program_.topology->sums(one_host)
                                                              : program_.topology->link(device, one_host, join);
    return message_picoseconds(*program_.topology, link, sent(what.kind, given, got, members),
                               rounds_of(what.kind, members));
  }

  /// How the members of the groups are spread over hosts; if the hosts have unlike numbers of them, as if each member
  /// had a host of its own.
  [[nodiscard]] SumMembers members_of(const Grouping& groups) const {
    const auto is_apart = [&](const auto& group) { return !program_.topology->on_one_host(group); };
    const auto apart = std::ranges::find_if(groups, is_apart);
    const auto count = static_cast<std::int64_t>(groups[0].size());
    if (apart == groups.end()) return {.on_host = count};
    std::map<std::int32_t, std::int64_t> on_host;
    for (const std::int32_t task : *apart) ++on_host[program_.topology->tasks[static_cast<std::size_t>(task)].host];
    const auto hosts = static_cast<std::int64_t>(on_host.size());
    const bool even = std::ranges::all_of(on_host, [&](const auto& host) { return host.second * hosts == count; });
    return even ? SumMembers{count / hosts, hosts} : SumMembers{1, count};
  }

  /// The bytes that one member sends. `given` and `got` are the bytes of its values before and after.
  static std::int64_t sent(CollectiveKind kind, std::int64_t given, std::int64_t got, std::int64_t members) {
    switch (kind) {
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

  [[nodiscard]] std::int64_t time_of_transfer(const Node& node) const {
    const PValueId given = program_.inputs(node)[0];
    const std::int32_t ends[] = {program_.wheres[program_.values[given].where].tasks[0], program_.where(node).tasks[0]};
    const LinkCost link = program_.topology->link(program_.where(node).kind, program_.topology->on_one_host(ends),
                                                  program_.topology->join_gpus(ends));
    return message_picoseconds(*program_.topology, link, bytes_of(given), 1);
  }

  const Program& program_;
  const ComputingTimes times_;
  std::vector<std::int64_t> ready_;                  // by value: when it is there
  std::vector<std::vector<std::size_t>> groups_of_;  // by device set: the groups of tasks in it
  std::vector<Clock> clocks_;                        // of each group
};

}  // namespace

StepTime judge(const Program& program) {
  return Judge(program).run();
}

}  // namespace ferry
