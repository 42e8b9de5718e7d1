#include "placement/choose/judge.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/planned_time.hpp"
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
      for (const std::int32_t task : program_.wheres[where].tasks) of_task[task].push_back(where);
    std::map<std::vector<WhereId>, std::size_t> groups;
    for (std::vector<WhereId>& wheres : of_task) {
      const auto [found, fresh] = groups.try_emplace(std::move(wheres), groups.size());
      group_of_.push_back(found->second);
      if (!fresh) continue;
      for (const WhereId where : found->first) groups_of_[where].push_back(found->second);
    }
    clocks_.resize(groups.size());
  }

  void region(ProgramRegionId id, std::int64_t often) {
    std::set<PValueId> outer = std::exchange(copied_, {});
    for (const NodeId node : program_.regions[id].order) visit(program_.nodes[node], often);
    copied_ = std::move(outer);
  }

  void visit(const Node& node, std::int64_t often) {
    copy_inputs(node, often);
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
        bodies(node, node.kind == NodeKind::loop ? repeat_time(kIterations, often) : often);
        return advance_clocks(node, often, {});
      case NodeKind::copy:
        return advance_clocks(node, often, copy(node));
      default:
        return advance_clocks(node, often, {});
    }
  }

  /// The bodies of a loop or branch, which run `often` times.
  void bodies(const Node& owner, std::int64_t often) {
    region(owner.detail, often);
    if (owner.kind == NodeKind::loop) copy_to(false, program_.regions[owner.detail].results[0], owner, often);
    region(owner.detail + 1, often);
  }

  /// Makes the parameters of a node's bodies ready when its inputs are ready.
  void mark_parameters_ready(const Node& node) {
    for (const ProgramRegionId body : {node.detail, node.detail + 1}) {
      const std::vector<PValueId>& parameters = program_.regions[body].parameters;
      for (std::size_t i = 0; i < parameters.size(); ++i) {
        const PValueId argument = program_.inputs(node)[program_.argument(node, body, i)];
        ready_[parameters[i]] = ready_[argument];
        if (work_ != nullptr) makers_[parameters[i]] = makers_[argument];
      }
    }
  }

  // ---- Copies between devices ----

  /// Adds the copies of inputs that the node needs on the host or on the GPU, where they are not yet.
  void copy_inputs(const Node& node, std::int64_t often) {
    if (node.where == kNone || node.once) return;
    const std::span<const PValueId> inputs = program_.inputs(node);
    switch (node.kind) {
      case NodeKind::compute:
        if (node.def->is(kView)) return;
        for (std::size_t i = 0; i < inputs.size(); ++i)
          if (!is_unread(program_, node, i))
            copy_to(is_gpu(node) && !program_.runs_on_host(node), inputs[i], node, often);
        return;
      case NodeKind::assign:
        return copy_to(is_gpu(node), inputs[1], node, often);
      case NodeKind::fetch:
      case NodeKind::branch:
        return copy_to(false, inputs[0], node, often);
      default:
        return;
    }
  }

  [[nodiscard]] bool is_gpu(const Node& node) const { return program_.where(node).kind == DeviceKind::gpu; }

  /// Adds a copy of the value to the GPU, or to the host, if the value is on the other one. Values that are computed
  /// once per session are copied in the setup.
  void copy_to(bool gpu, PValueId value, const Node& user, std::int64_t often) {
    const PValueId stored = program_.stored(value);
    const Node& maker = program_.nodes[program_.values[stored].producer];
    if (is_on_gpu(program_, value) == gpu || maker.once || maker.where == kNone || !copied_.insert(stored).second)
      return;
    const StepWork::Copy copy{bytes_of(stored), program_.topology->host_gpu};
    const std::int64_t time = repeat_time(picoseconds_of(copy), often);
    const std::vector<std::size_t>& groups = groups_of_[program_.values[stored].where];
    occupy(groups, ready_[stored], time, false);
    if (work_ == nullptr) return;
    StepWork work;
    work.name = program_.name(stored);
    work.what = gpu ? "copy to the GPU" : "copy to the host";
    work.line = program_.line(user);
    if (makers_[stored] != kNone) work.after.push_back(makers_[stored]);
    record(std::move(work), groups, often, copy, time);
  }

  /// The copy of a node that moves a value to another device; nothing if it stays on its device.
  [[nodiscard]] StepWork::Part copy(const Node& node) const {
    const PValueId input = program_.inputs(node)[0];
    const Where &from = program_.wheres[program_.values[input].where], &to = program_.where(node);
    const bool from_gpu = is_on_gpu(program_, input), to_gpu = to.kind == DeviceKind::gpu;
    if (from_gpu == to_gpu && (!to_gpu || from.index == to.index)) return {};
    return StepWork::Copy{bytes_of(node.outputs[0]), program_.topology->host_gpu};
  }

  // ---- Clocks ----

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
    const std::int64_t time = repeat_time(picoseconds_of(part), often);
    std::int64_t begin = 0;
    for (const PValueId input : program_.inputs(node)) begin = std::max(begin, ready_[input]);
    const std::vector<std::size_t> groups = groups_in(node);
    const std::int64_t end = occupy(groups, begin, time, std::holds_alternative<StepWork::Kernel>(part));
    for (const PValueId output : node.outputs) ready_[output] = end;
    if (work_ == nullptr) return;
    StepWork work;
    work.name = program_.name(node);
    work.what = what(node);
    work.line = program_.line(node);
    for (const PValueId input : program_.inputs(node))
      if (makers_[input] != kNone) work.after.push_back(makers_[input]);
    std::ranges::sort(work.after);
    work.after.erase(std::unique(work.after.begin(), work.after.end()), work.after.end());
    for (const PValueId output : node.outputs) makers_[output] = static_cast<std::uint32_t>(work_->size());
    record(std::move(work), groups, often, part, time);
  }

  /// Adds `time` to the clocks of these groups, from `begin` on, as soon as all are free. Returns the end.
  std::int64_t occupy(const std::vector<std::size_t>& groups, std::int64_t begin, std::int64_t time, bool computes) {
    if (time == 0) return begin;
    for (const std::size_t group : groups) begin = std::max(begin, clocks_[group].now);
    for (const std::size_t group : groups) {
      Clock& clock = clocks_[group];
      clock.now = add_times(begin, time);
      std::int64_t& part = computes ? clock.computing : clock.messages;
      part = add_times(part, time);
    }
    return add_times(begin, time);
  }

  /// Records work of these groups, which has a name, a line and the work that it needs.
  void record(StepWork work, const std::vector<std::size_t>& groups, std::int64_t often, const StepWork::Part& part,
              std::int64_t time) {
    for (const std::size_t group : groups) work.groups.push_back(static_cast<std::uint32_t>(group));
    work.runs = often;
    work.part = part;
    work.seconds = seconds_of(static_cast<double>(time));
    work_->push_back(std::move(work));
  }

  [[nodiscard]] std::string what(const Node& node) const {
    if (node.kind == NodeKind::copy) return is_gpu(node) ? "copy to the GPU" : "copy to the host";
    if (node.kind == NodeKind::collective) return std::string(name_of(program_.collectives[node.detail].kind));
    return std::string(node.def != nullptr ? node.def->name : name_of(node.kind));
  }

  /// The time of one run of the node.
  [[nodiscard]] std::int64_t picoseconds_of(const StepWork::Part& part) const {
    if (const auto* kernel = std::get_if<StepWork::Kernel>(&part)) return times_.of(*kernel);
    if (const auto* copy = std::get_if<StepWork::Copy>(&part))
      return add_times(latency_picoseconds(copy->link), moving_picoseconds(copy->link, copy->bytes));
    const auto* message = std::get_if<StepWork::Message>(&part);
    if (message == nullptr) return 0;
    if (message->hosts > 1) return picoseconds_by_hosts(*message);
    return message_picoseconds(*program_.topology, message->link, bytes_sent(*message), rounds(*message));
  }

  /// The time of a collective that works first within each host, then between the hosts.
  [[nodiscard]] std::int64_t picoseconds_by_hosts(const StepWork::Message& message) const {
    const SumMembers members{message.members / message.hosts, message.hosts};
    if (message.kind == CollectiveKind::all_reduce)
      return sum_picoseconds(*program_.topology, members, message.given).all();
    return tree_picoseconds(*program_.topology, message.within_host, message.link, members, bytes_sent(message));
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
    if (device == DeviceKind::cpu && works_by_hosts(what.kind)) message.hosts = even_hosts(groups);
    const bool join =
        std::ranges::all_of(groups, [&](const auto& group) { return program_.topology->join_gpus(group); });
    const auto link = [&](bool one_host) {
      return device == DeviceKind::cpu && what.reduce != Reduce::none ? program_.topology->sums(one_host)
                                                                      : program_.topology->link(device, one_host, join);
    };
    message.between_hosts = program_.crosses_hosts(groups);
    message.link = link(!message.between_hosts);
    if (message.hosts > 1) message.within_host = link(true);
    return message;
  }

  /// Whether collectives of this kind have a schedule that works first within each host, then between the hosts.
  static bool works_by_hosts(CollectiveKind kind) {
    return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce || kind == CollectiveKind::broadcast;
  }

  /// The number of hosts of each group if all hosts have the same number of its members; else 1.
  [[nodiscard]] std::int64_t even_hosts(const Grouping& groups) const {
    std::map<std::int32_t, std::int64_t> on_host;
    for (const std::int32_t task : groups[0]) ++on_host[program_.topology->tasks[task].host];
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
  std::set<PValueId> copied_;                        // values on both the host and the GPU, in the present region
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
