#include "executor/job/introduction.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/blob.hpp"
#include "base/format.hpp"
#include "base/net/socket.hpp"
#include "base/process/control_group.hpp"
#include "base/system/machine.hpp"
#include "comm/host.hpp"
#include "executor/job/affinity.hpp"
#include "executor/job/build.hpp"
#include "executor/job/cluster_arguments.hpp"
#include "executor/job/launch.hpp"

namespace ferry {
namespace {

/// The options that must be the same on all tasks, as texts.
using Common = std::map<std::string, std::string>;

Common common_of(const ClusterOptions& options) {
  Common common = options.alike;
  common["--jobs"] = options.jobs;
  if (options.invariant != 0) common["--invariant"] = std::to_string(options.invariant);
  return common;
}

/// Calls f(figure) for each figure of `costs`, in a fixed order, to write or read it.
template <class F>
void for_each_figure(PlanningCosts& costs, const F& f) {
  for (LinkCost* const link :
       {&costs.on_host, &costs.between_hosts, &costs.host_gpu, &costs.gpus_on_host, &costs.gpus_between_hosts}) {
    f(link->latency_seconds);
    f(link->bytes_per_second);
  }
  for (double ComputeCosts::*const figure :
       {&ComputeCosts::call, &ComputeCosts::wait, &ComputeCosts::memory_byte, &ComputeCosts::cache_byte,
        &ComputeCosts::cache_bytes, &ComputeCosts::product_flop, &ComputeCosts::convolution_flop,
        &ComputeCosts::reduction_flop, &ComputeCosts::element_flop, &ComputeCosts::parallel_flops,
        &ComputeCosts::parallel_bytes})
    f(costs.compute.*figure);
}

/// Returns an empty text if there are no costs.
std::string packed(std::optional<PlanningCosts> costs) {
  BlobWriter writer;
  if (!costs) return writer.take();
  for_each_figure(*costs, [&](double figure) { writer.add(figure); });
  for (const std::optional<LinkCost>& sums : {costs->sums_on_host, costs->sums_between_hosts}) {
    writer.add(sums.has_value());
    if (sums) writer.add(sums->latency_seconds).add(sums->bytes_per_second);
  }
  return writer.take();
}

std::optional<PlanningCosts> unpacked_costs(std::string_view bytes) {
  if (bytes.empty()) return std::nullopt;
  BlobReader reader(bytes);
  PlanningCosts costs;
  for_each_figure(costs, [&](double& figure) { figure = reader.real(); });
  for (std::optional<LinkCost>* const sums : {&costs.sums_on_host, &costs.sums_between_hosts})
    if (reader.number() != 0) {
      const double latency_seconds = reader.real();
      *sums = LinkCost{latency_seconds, reader.real()};
    }
  return costs;
}

/// The build comes first, and the rest is read only if the builds agree.
std::string packed(const Introduction& task, const ClusterOptions& options) {
  const Common common = common_of(options);
  BlobWriter writer;
  writer.add(build_text())
      .add(static_cast<int>(task.problem ? task.problem->code() : Code::ok))
      .add(task.problem ? task.problem->text() : "")
      .add(task.host_name)
      .add(task.proof)
      .add(task.mask)
      .add(task.whole_machine)
      .add(task.cores)
      .add(task.quota)
      .add(task.quota_group)
      .add(task.threads)
      .add(task.memory_bytes)
      .add(task.host_memory_bytes)
      .add(task.group_memory_bytes)
      .add(task.memory_group)
      .add(task.gpus)
      .add(task.no_gpus)
      .add(task.shares_gpus)
      .add(task.gpu_memory_bytes)
      .add(task.gpu_domain)
      .add(task.no_gpu_group)
      .add(task.gpu_regions)
      .add(task.lends)
      .add(packed(task.costs))
      .add(common.size());
  for (const auto& [name, value] : common) writer.add(name).add(value);
  return writer.take();
}

Introduction unpacked(std::string_view bytes, Common& common) {
  BlobReader reader(bytes);
  static_cast<void>(reader.text());
  Introduction task;
  const auto code = static_cast<Code>(reader.number());
  const std::string_view problem = reader.text();
  if (code != Code::ok) task.problem.emplace(code, std::string(problem));
  task.host_name = reader.text();
  task.proof = reader.text();
  task.mask = reader.text();
  task.whole_machine = reader.number() != 0;
  task.cores = static_cast<int>(reader.number());
  task.quota = static_cast<int>(reader.number());
  task.quota_group = reader.text();
  task.threads = static_cast<int>(reader.number());
  task.memory_bytes = static_cast<std::uint64_t>(reader.number());
  task.host_memory_bytes = static_cast<std::uint64_t>(reader.number());
  task.group_memory_bytes = static_cast<std::uint64_t>(reader.number());
  task.memory_group = reader.text();
  task.gpus = static_cast<int>(reader.number());
  task.no_gpus = reader.text();
  task.shares_gpus = reader.number() != 0;
  task.gpu_memory_bytes = static_cast<std::uint64_t>(reader.number());
  task.gpu_domain = static_cast<std::uint64_t>(reader.number());
  task.no_gpu_group = reader.text();
  task.gpu_regions = reader.number() != 0;
  task.lends = reader.numbers();
  task.costs = unpacked_costs(reader.text());
  for (std::int64_t left = reader.number(); left > 0; --left) {
    std::string name(reader.text());
    common[std::move(name)] = reader.text();
  }
  return task;
}

/// The sender's build, from its introduction. If the bytes are no introduction, a text that says this.
std::string build_of(std::string_view bytes) {
  try {
    return formatted("{:.100}", BlobReader(bytes).text());
  } catch (const Error&) {
    return "something else, of " + std::to_string(bytes.size()) + " bytes";
  }
}

void require_one_build(const std::vector<std::string>& introductions) {
  const std::string first = build_of(introductions[0]);
  for (std::size_t t = 1; t < introductions.size(); ++t)
    if (const std::string other = build_of(introductions[t]); other != first)
      throw Error(Code::plan, "the tasks run different builds of ferry")
          .note("task 0 is " + first)
          .note("task " + std::to_string(t) + " is " + other)
          .hint("start the same build on all hosts");
}

/// Error(usage), the same on all tasks, if task `t` has another option than task 0.
void require_alike(const Common& first, const Common& other, std::size_t t) {
  Common all = first;
  all.insert(other.begin(), other.end());
  for (const auto& [name, _] : all) {
    const auto here = first.find(name), there = other.find(name);
    if (here != first.end() && there != other.end() && here->second == there->second) continue;
    const auto text = [](const auto& found, const Common& of) {
      return found == of.end() || found->second.empty() ? "not given" : formatted("{}", found->second);
    };
    throw Error(Code::usage, name + " differs: " + text(here, first) + " on task 0, " + text(there, other) +
                                 " on task " + std::to_string(t))
        .hint("give all tasks the same options");
  }
}

/// Waits for all tasks before this one leaves the job. Otherwise a task that does not know the reason yet would report
/// this one as lost.
void meet_before_leaving(Transport& end, const Deadline& deadline) {
  try {
    static_cast<void>(end.exchange("", deadline));
  } catch (const Error&) {
  }
}

/// Throws the first problem of a task on all tasks. If the launcher merges the output of the tasks, only the task with
/// the problem prints it.
void require_no_problem(const std::vector<Introduction>& tasks, int self) {
  const auto first = std::ranges::find_if(tasks, [](const Introduction& task) { return task.problem.has_value(); });
  if (first == tasks.end()) return;
  const auto number = static_cast<int>(first - tasks.begin());
  const bool alike = tasks[self].problem && tasks[self].problem->text() == first->problem->text();
  const OutputOfLaunch output = output_of_launch();
  JobProblem problem(alike || output != OutputOfLaunch::apart
                         ? *first->problem
                         : Error(first->problem->code(), "task {} on {} cannot take part: {}", number, first->host_name,
                                 as_is(first->problem->text())));
  if (number != self && output != OutputOfLaunch::apart) problem.told_elsewhere();
  throw JobProblem(problem);
}

/// Limits memory by the control groups of the tasks. If the tasks of a host are in different groups, each task has at
/// most the limit of its group. The host has at most the sum of the groups' limits.
void limit_memory(const std::vector<Introduction>& tasks, Topology& topology) {
  std::map<std::int32_t, std::map<std::string_view, std::uint64_t>>
      limits;  // by host and group; no group: the host's memory
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const Introduction& task = tasks[t];
    const std::uint64_t bytes = task.group_memory_bytes != 0 ? task.group_memory_bytes : task.host_memory_bytes;
    limits[topology.tasks[t].host].try_emplace(task.memory_group, bytes != 0 ? bytes : UINT64_MAX);
  }
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    TaskInfo& info = topology.tasks[t];
    const std::uint64_t own = tasks[t].group_memory_bytes;
    std::uint64_t together = 0;
    for (const auto& [_, bytes] : limits[info.host]) together += std::min(bytes, UINT64_MAX - together);
    if (together != UINT64_MAX && (info.host_memory_bytes == 0 || together < info.host_memory_bytes))
      info.host_memory_bytes = together;
    const bool several = limits[info.host].size() > 1;
    if (several && own != 0) info.memory_bytes = info.memory_bytes == 0 ? own : std::min(info.memory_bytes, own);
  }
}

/// Makes memory groups: all tasks of a group lend memory to one another.
void find_memory_groups(const std::vector<Introduction>& tasks, Topology& topology) {
  const auto lends = [&](std::size_t from, std::size_t to) {
    return std::ranges::binary_search(tasks[from].lends, static_cast<std::int64_t>(to));
  };
  std::vector<std::vector<std::size_t>> groups;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    if (tasks[task].lends.empty()) continue;
    const auto fits = [&](const std::vector<std::size_t>& group) {
      return std::ranges::all_of(group, [&](std::size_t other) { return lends(task, other) && lends(other, task); });
    };
    auto group = std::ranges::find_if(groups, fits);
    if (group == groups.end()) group = groups.insert(group, std::vector<std::size_t>());
    group->push_back(task);
    topology.tasks[task].memory_group = static_cast<std::int32_t>(group - groups.begin());
  }
}

/// Distributes the GPUs of each host over its tasks, in order: equally many to each task, or one GPU to several tasks.
void share_gpus(const std::vector<Introduction>& tasks, Topology& topology) {
  std::map<std::int32_t, std::vector<std::size_t>> of_host;
  for (std::size_t task = 0; task < tasks.size(); ++task)
    if (tasks[task].shares_gpus && tasks[task].gpus > 0) of_host[topology.tasks[task].host].push_back(task);
  for (const auto& [_, here] : of_host) {
    const auto count = static_cast<std::int32_t>(here.size());
    for (std::int32_t local = 0; local < count; ++local) {
      TaskInfo& info = topology.tasks[here[local]];
      const std::int32_t all = info.gpus;
      info.gpus = std::max(1, all / count);
      info.first_gpu = count <= all ? local * info.gpus : local % all;
      info.gpu_memory_bytes /= static_cast<std::uint64_t>(count <= all ? 1 : (count + all - 1) / all);
    }
  }
}

/// Makes groups of tasks with GPUs that can take part in the same collectives. A GPU that two tasks share is in no
/// group: the library has no collectives of a GPU with itself.
void find_gpu_groups(const std::vector<Introduction>& tasks, Topology& topology) {
  std::map<std::tuple<std::int32_t, std::int32_t>, int> users;  // by host and first GPU
  for (std::size_t task = 0; task < tasks.size(); ++task)
    if (tasks[task].shares_gpus) ++users[{topology.tasks[task].host, topology.tasks[task].first_gpu}];
  std::vector<std::uint64_t> domains;
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    TaskInfo& info = topology.tasks[task];
    if (info.gpus == 0) continue;
    info.no_gpu_group = tasks[task].no_gpu_group;
    if (tasks[task].shares_gpus && users[{info.host, info.first_gpu}] > 1)
      info.no_gpu_group = "it shares its GPU with another task";
    if (!info.no_gpu_group.empty() || tasks[task].gpu_domain == 0) continue;
    const auto at = std::ranges::find(domains, tasks[task].gpu_domain);
    info.gpu_group = static_cast<std::int32_t>(at - domains.begin());
    if (at == domains.end()) domains.push_back(tasks[task].gpu_domain);
  }
}

}  // namespace

std::vector<Sharers> sharers_of(const std::vector<Introduction>& tasks) {
  std::map<std::pair<std::string_view, std::string_view>, int> masks, quotas;  // by host, and by mask or control group
  std::vector<std::pair<const int*, const int*>> counts;
  for (const Introduction& task : tasks) {
    int &of_mask = masks[{task.proof, task.mask}], &of_quota = quotas[{task.proof, task.quota_group}];
    ++of_mask;
    ++of_quota;
    counts.emplace_back(&of_mask, &of_quota);
  }
  std::vector<Sharers> sharers;
  sharers.reserve(counts.size());
  for (const auto& [of_mask, of_quota] : counts) sharers.push_back({*of_mask, *of_quota});
  return sharers;
}

Introduction introduce(const ClusterOptions& options, const std::optional<DeviceLibrary>& devices) {
  const HostId host = host_id();
  const Cores cores = allowed_cores();
  const GroupLimits limits = group_limits();
  Introduction me{.host_name = host.name,
                  .proof = host.proof,
                  .mask = cores.str(),
                  .whole_machine = cores.whole_machine,
                  .cores = cores.count(),
                  .quota = cores.quota,
                  .quota_group = limits.processor.group(),
                  .threads = options.threads,
                  .memory_bytes = options.memory_bytes,
                  .host_memory_bytes = installed_memory_bytes(),
                  .lends = {},
                  .costs = options.costs,
                  .problem = {}};
  if (limits.memory.most < (me.host_memory_bytes != 0 ? me.host_memory_bytes : UINT64_MAX)) {
    me.group_memory_bytes = limits.memory.most;
    me.memory_group = limits.memory.group();
  }
  if (devices) {
    check_device_table(*devices->table);
    const char* why = "";
    me.gpus = devices->table->count(devices->library.get(), &why);
    me.no_gpus = why;
    me.shares_gpus = devices->table->shared != 0;
    me.gpu_memory_bytes = devices->table->memory_bytes(devices->library.get());
    if (const std::uint64_t limit = options.gpu_memory_bytes; limit != 0)
      me.gpu_memory_bytes = me.gpu_memory_bytes == 0 ? limit : std::min(limit, me.gpu_memory_bytes);
    me.gpu_domain = devices->table->group_domain(devices->library.get(), &why);
    if (me.gpu_domain == 0) me.no_gpu_group = why;
    me.gpu_regions = static_cast<bool>(devices->fuse);
  }
  return me;
}

std::optional<Error> problem_of(const ClusterOptions& options) {
  try {
    if (!options.interface.empty()) static_cast<void>(net::interface_address(options.interface));
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  }
}

std::vector<Introduction> introductions(Transport& end, const Introduction& me, const ClusterOptions& options) {
  const Deadline deadline(system_clock(), options.deadline);
  const auto all = end.exchange(packed(me, options), deadline);
  std::vector<Introduction> tasks;
  std::vector<Common> commons(all.size());
  bool one_build = false;
  try {
    require_one_build(all);
    one_build = true;
    for (std::size_t t = 0; t < all.size(); ++t) tasks.push_back(unpacked(all[t], commons[t]));
    require_no_problem(tasks, end.task());
    for (std::size_t t = 1; t < all.size(); ++t) require_alike(commons[0], commons[t], t);
  } catch (Error& error) {
    if (one_build) meet_before_leaving(end, deadline);  // a task of another build may not call it
    const bool own_words = dynamic_cast<const JobProblem*>(&error) != nullptr;  // else all have the same error
    if (!own_words && end.task() != 0 && output_of_launch() != OutputOfLaunch::apart) error.told_elsewhere();
    throw;
  }
  return tasks;
}

Topology topology_of(const std::vector<Introduction>& tasks, const ClusterOptions& options) {
  Topology topology;
  if (tasks[0].costs) static_cast<PlanningCosts&>(topology) = *tasks[0].costs;
  std::map<std::string, std::int32_t> hosts;
  const std::vector<Sharers> sharers = sharers_of(tasks);
  topology.tasks.reserve(tasks.size());
  for (const Introduction& task : tasks) {
    TaskInfo info;
    info.host = hosts.try_emplace(task.proof, static_cast<std::int32_t>(hosts.size())).first->second;
    info.host_name = task.host_name;
    info.memory_bytes = task.memory_bytes;
    info.host_memory_bytes = task.host_memory_bytes;
    info.gpus = task.gpus;
    info.no_gpus = task.no_gpus;
    info.gpu_memory_bytes = task.gpu_memory_bytes;
    info.gpu_regions = task.gpu_regions;
    Cores cores;
    cores.cpus.resize(static_cast<std::size_t>(task.cores));
    cores.whole_machine = task.whole_machine;
    cores.quota = task.quota;
    info.threads = choose_threads(task.threads, cores, sharers[topology.tasks.size()]).threads;
    topology.tasks.push_back(std::move(info));
  }
  apply_jobs(options.jobs, topology.tasks);
  limit_memory(tasks, topology);
  find_memory_groups(tasks, topology);
  share_gpus(tasks, topology);
  find_gpu_groups(tasks, topology);
  return topology;
}

}  // namespace ferry
