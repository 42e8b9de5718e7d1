#include "plan/topology/topology.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

/// "worker (tasks 0 to 2), ps (task 0)": the jobs in order of first appearance.
std::string jobs_of(const Topology& topology) {
  std::vector<std::pair<std::string, int>> counts;
  for (const TaskInfo& task : topology.tasks) {
    const auto found =
        std::find_if(counts.begin(), counts.end(), [&](const auto& job) { return job.first == task.job; });
    if (found == counts.end())
      counts.emplace_back(task.job, 1);
    else
      ++found->second;
  }
  std::vector<std::string> texts;
  texts.reserve(counts.size());
  for (const auto& [job, count] : counts)
    texts.push_back(job + (count == 1 ? " (task 0)" : " (tasks 0 to " + std::to_string(count - 1) + ")"));
  return join(texts, ", ");
}

[[noreturn]] void not_there(const Topology& topology, const DeviceSpec& spec, const std::string& hint) {
  throw Error(Code::plan, "device '" + spec.str() + "' is not there: the job has " + plural(topology.size(), "task") +
                              ": " + jobs_of(topology))
      .hint(hint);
}

}  // namespace

int Topology::resolve(const DeviceSpec& spec) const {
  if (spec.all_tasks())
    throw Error(Code::plan, "device '" + spec.str() + "' names all tasks where one is wanted")
        .hint("give a task's number");
  const int wanted = spec.task.value_or(0);
  if (!spec.job) {
    if (wanted < size()) return wanted;
    not_there(*this, spec,
              "start at least " + plural(wanted + 1, "task") + ", for example by --tasks " +
                  std::to_string(wanted + 1) + " or mpirun -np " + std::to_string(wanted + 1));
  }
  bool job_known = false;
  for (int i = 0; i < size(); ++i) {
    const TaskInfo& task = tasks[i];
    job_known = job_known || task.job == *spec.job;
    if (task.job == *spec.job && task.index_in_job == wanted) return i;
  }
  not_there(*this, spec,
            job_known ? "start more tasks, or give the job '" + *spec.job + "' more of them"
                      : "name the job's tasks, for example --jobs " + *spec.job + "=0");
}

std::vector<int> Topology::tasks_of(const DeviceSpec& spec) const {
  if (spec.task && !spec.all_tasks()) return {resolve(spec)};
  std::vector<int> result;
  for (int i = 0; i < size(); ++i)
    if (!spec.job || tasks[i].job == *spec.job) result.push_back(i);
  if (result.empty()) not_there(*this, spec, "name the job's tasks with --jobs");
  return result;
}

bool Topology::on_one_host(std::span<const std::int32_t> group) const {
  const auto host = [&](std::int32_t task) { return tasks[task].host; };
  return std::ranges::all_of(group, [&](std::int32_t task) { return host(task) == host(group.front()); });
}

bool Topology::share_memory(std::span<const std::int32_t> group) const {
  const auto memory = [&](std::int32_t task) { return tasks[task].memory_group; };
  return std::ranges::all_of(
      group, [&](std::int32_t task) { return memory(task) >= 0 && memory(task) == memory(group.front()); });
}

bool Topology::join_gpus(std::span<const std::int32_t> group) const {
  const auto gpus = [&](std::int32_t task) { return tasks[task].gpu_group; };
  return std::ranges::all_of(group,
                             [&](std::int32_t task) { return gpus(task) >= 0 && gpus(task) == gpus(group.front()); });
}

LinkCost Topology::link(DeviceKind kind, bool one_host, bool gpus_join) const {
  const LinkCost& hosts = one_host ? on_host : between_hosts;
  if (kind == DeviceKind::cpu) return hosts;
  if (gpus_join) return one_host ? gpus_on_host : gpus_between_hosts;
  return {hosts.latency_seconds + 2 * host_gpu.latency_seconds,
          1 / (1 / hosts.bytes_per_second + 2 / host_gpu.bytes_per_second)};
}

LinkCost Topology::sums(bool one_host) const {
  return one_host ? sums_on_host.value_or(on_host) : sums_between_hosts.value_or(between_hosts);
}

bool Topology::gpu_regions() const {
  return std::ranges::all_of(tasks, [](const TaskInfo& task) { return task.gpus == 0 || task.gpu_regions; });
}

Topology Topology::local(int tasks, int threads) {
  Topology topology;
  for (int i = 0; i < tasks; ++i) {
    TaskInfo task;
    task.index_in_job = i;
    task.host_name = "localhost";
    task.threads = threads;
    topology.tasks.push_back(std::move(task));
  }
  return topology;
}

}  // namespace ferry
