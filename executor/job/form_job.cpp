#include "executor/job/form_job.hpp"

#include <algorithm>
#include <utility>

#include "base/system/limits.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "comm/backends.hpp"
#include "comm/host.hpp"
#include "executor/job/affinity.hpp"
#include "executor/job/introduction.hpp"

namespace ferry {
namespace {

/// Returns the introductions of the tasks of --invariant. Each task has a share of the threads and memory of its
/// process.
std::vector<Introduction> split_resources(const std::vector<Introduction>& processes, int tasks) {
  const auto count = static_cast<int>(processes.size());
  if (count > tasks)
    throw Error(Code::usage, "--invariant={}: there are {} tasks to run it, more than its {} shards", tasks, count,
                tasks)
        .hint("fewer tasks, or --invariant={}, which gives other bits", count);
  std::vector<Introduction> result;
  for (int task = 0; task < tasks; ++task) {
    const int process = process_of_task(task, tasks, count);
    const int here = first_task_of(process + 1, tasks, count) - first_task_of(process, tasks, count);
    Introduction share = processes[process];
    if (count < tasks) share.lends.clear();  // tasks that share a process communicate through a relay
    if (share.threads > 0) share.threads = std::max(1, std::min(share.threads, share.cores) / here);
    if (share.memory_bytes > 0)
      share.memory_bytes = std::max<std::uint64_t>(1, share.memory_bytes / static_cast<std::uint64_t>(here));
    result.push_back(std::move(share));
  }
  return result;
}

/// Finds which tasks lend memory to one another, if all tasks are in this process. Stops if the first task lends to
/// none, since then no task does, and checking each pair of very many tasks would take long.
void find_lends(const std::vector<std::unique_ptr<Transport>>& local, std::vector<Introduction>& tasks) {
  for (std::size_t task = 0; task < tasks.size(); ++task) {
    for (std::size_t other = 0; other < tasks.size(); ++other)
      if (other != task && local[task]->lends(static_cast<int>(other)))
        tasks[task].lends.push_back(static_cast<std::int64_t>(other));
    if (task == 0 && tasks[0].lends.empty()) return;
  }
}

/// Makes the tasks look as if they were spread over `hosts` hosts.
void spread(std::vector<Introduction>& tasks, int hosts) {
  const auto count = static_cast<int>(tasks.size());
  if (hosts > count)
    throw Error(Code::usage, "--hosts {}: the job has {}", hosts, plural(count, "task")).hint("--tasks {}", hosts);
  for (int task = 0; task < count; ++task) {
    Introduction& it = tasks[task];
    it.host_name = it.proof = "host " + std::to_string(process_of_task(task, count, hosts));
  }
}

/// The process of each task.
std::vector<int> processes_of(int tasks, int processes) {
  std::vector<int> result;
  result.reserve(static_cast<std::size_t>(tasks));
  for (int task = 0; task < tasks; ++task) result.push_back(process_of_task(task, tasks, processes));
  return result;
}

/// Puts the task's number before each line of the log, unless the launcher does.
void prefix_log_with_task(int task) {
  if (output_of_launch() != OutputOfLaunch::numbered) log_task(task);
}

}  // namespace

std::vector<std::unique_ptr<Transport>> launched_transports(Launch launch, const ClusterOptions& options) {
  if (launch.processes > 1) prefix_log_with_task(launch.task);  // also for messages printed while the job is formed
  const int relay_and_tasks = options.invariant > launch.processes ? 2 + (options.invariant - 1) / launch.processes : 1;
  const int threads = std::max(options.threads, relay_and_tasks);
  launch.tcp.threads = threads;
  auto between = launch.by == Launch::By::tcp ? tcp_transport(launch.tcp)
                                              : mpi_transport({.threads = threads, .deadline = options.deadline});
  std::vector<std::unique_ptr<Transport>> local;
  local.push_back(shared_memory_transport(std::move(between), threads, options.deadline));
  return local;
}

std::shared_ptr<JobState> form_job(std::vector<std::unique_ptr<Transport>> local, ClusterOptions options,
                                   std::optional<Error> problem) {
  FERRY_ASSERT(!local.empty(), "a cluster has a local task");
  auto state = std::make_shared<JobState>();
  std::string no_gpus;
  state->devices = devices_of(options, no_gpus);
  Introduction me = introduce(options, state->devices);
  if (!state->devices) me.no_gpus = std::move(no_gpus);
  const int processes = static_cast<int>(local.size()) == local[0]->tasks() ? 1 : local[0]->tasks();
  std::vector<Introduction> tasks;
  if (processes == 1) {
    tasks.assign(options.invariant > 0 ? static_cast<std::size_t>(std::max(options.tasks, 1)) : local.size(), me);
    if (options.hosts > 0) spread(tasks, options.hosts);
    if (options.invariant == 0) find_lends(local, tasks);
  } else {
    FERRY_ASSERT(local.size() == 1, "a process has one task of a job, or all");
    for (int task = 0; task < processes; ++task)
      if (task != local[0]->task() && local[0]->lends(task)) me.lends.push_back(task);
    prefix_log_with_task(local[0]->task());
    me.problem = problem ? std::move(problem) : problem_of(options);
    tasks = run_outside_session(*local[0], [&] { return introductions(*local[0], me, options); });
  }
  if (options.invariant > 0) tasks = split_resources(tasks, options.invariant);
  if (processes > 1)
    state->watch = run_outside_session(*local[0], [&] {
      return std::make_unique<Watch>(Watch::Job{.processes = processes_of(static_cast<int>(tasks.size()), processes),
                                                .self = local[0]->task(),
                                                .deadline = options.deadline,
                                                .interface = options.interface,
                                                .gathered = output_of_launch() != OutputOfLaunch::apart},
                                     *local[0], Deadline(system_clock(), options.deadline));
    });
  FERRY_ASSERT(local.size() == 1 || local.size() == tasks.size(), "a process has one task of a job, or all");
  if (local.size() == 1 && local[0]->tasks() < static_cast<int>(tasks.size())) {
    HostedTasks hosted = host_tasks(std::move(local[0]), options.invariant);
    local = std::move(hosted.ends);
    state->relay = std::move(hosted.relay);
  }
  state->processes = processes_of(static_cast<int>(tasks.size()), processes);
  state->topology = options.elsewhere ? *options.elsewhere : topology_of(tasks, options);
  for (auto& transport : local) state->local_tasks.push_back(transport->task());
  state->transports = std::move(local);
  const auto& mine = state->topology.tasks[state->local_tasks[0]];
  int threads_here = 0;
  for (const TaskInfo& task : state->topology.tasks)
    if (task.host == mine.host) threads_here += task.threads;
  const Cores cores = allowed_cores();
  state->crowded = is_crowded(mine.threads, threads_here) || mine.threads > cores.count();
  const Sharers sharers = sharers_of(tasks)[state->local_tasks[0]];
  const ThreadChoice choice = choose_threads(options.threads, cores, sharers);
  if (may_pin(choice.threads, cores, sharers.cores)) state->pins = cores;
  if (!choice.warning.empty())
    log_warn(choice.warning +
             (mpi_launch() ? "\n  try: mpirun --bind-to none (mpirun binds each rank to one core by default)" : ""));
  state->options = std::move(options);
  return state;
}

}  // namespace ferry
