#include "executor/cluster.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/float_state.hpp"
#include "base/process/descriptor.hpp"
#include "base/text.hpp"
#include "comm/backends.hpp"
#include "executor/direct/direct_calls.hpp"
#include "executor/job/cluster_arguments.hpp"
#include "executor/job/form_job.hpp"
#include "executor/job/introduction.hpp"
#include "executor/job/uncaught.hpp"

namespace ferry {
namespace {

constexpr std::chrono::seconds kDeclineTimeout{10};  // for the other tasks to come and learn why there is no job

/// Returns f(), with which this task joins the job.
template <class F>
auto with_task_0_first(F f) {
  try {
    return f();
  } catch (const Error& error) {
    throw let_task_0_print(error);
  }
}

}  // namespace

Cluster::Cluster(std::shared_ptr<JobState> job) : Collectives(group_of_all_tasks(job)), job_(std::move(job)) {}

Cluster Cluster::connect(int& argc, char** argv, ClusterOptions options) {
  end_with_uncaught();
  take_cluster_options(argc, argv, options);
  return connect(std::move(options));
}

Cluster Cluster::connect(ClusterOptions options) {
  open_standard();
  const DefaultFloats floats;  // floating-point modes, also for the threads that are made here
  end_with_uncaught();
  try {
    check_options(options);
  } catch (const Error& error) {
    decline({.transport = options.transport, .interface = options.interface}, error);
  }
  if (options.elsewhere) {
    options.tasks = options.elsewhere->size();
    std::vector<std::unique_ptr<Transport>> ends = inproc_transports(options.tasks);
    return over(std::move(ends), std::move(options));
  }
  Launch launch = with_task_0_first([&] { return launch_of(options); });
  if (launch.by == Launch::By::nobody) {
    release_pmi();
    warn_of_copies(options);
    Cluster cluster = over(inproc_transports(options.invariant > 0 ? options.invariant : std::max(options.tasks, 1)),
                           std::move(options));
    cluster.state().renewable = cluster.state().relay == nullptr;
    return cluster;
  }
  if (options.tasks > 1 && options.tasks != launch.processes)
    decline(options, Error(Code::usage, "--tasks {}, yet the launcher started {}", options.tasks,
                           plural(launch.processes, "task"))
                         .hint("leave --tasks out where a launcher starts the tasks"));
  auto local = with_task_0_first([&] { return launched_transports(std::move(launch), options); });
  return Cluster(form_job(std::move(local), std::move(options)));
}

void Cluster::decline(ClusterOptions options, const Error& error) {
  open_standard();
  end_with_uncaught();
  try {
    options.deadline = std::min<std::chrono::milliseconds>(options.deadline, kDeclineTimeout);
    Launch launch = launch_of(options);
    if (launch.by == Launch::By::nobody || launch.processes == 1) throw JobProblem(error);
    auto local = launched_transports(std::move(launch), options);
    static_cast<void>(form_job(std::move(local), std::move(options), error));
  } catch (const JobProblem& problem) {
    throw Error(problem);
  } catch (const Error&) {  // the other tasks cannot be reached
  }
  throw let_task_0_print(error);
}

Cluster Cluster::over(std::vector<std::unique_ptr<Transport>> local, ClusterOptions options) {
  const DefaultFloats floats;
  check_options(options);
  return Cluster(form_job(std::move(local), std::move(options)));
}

int Cluster::rank() const {
  return job_->local_tasks[0];
}
int Cluster::size() const {
  return job_->topology.size();
}
std::vector<std::string> Cluster::gpus() const {
  const TaskInfo& info = job_->topology.tasks[rank()];
  std::vector<std::string> all;
  for (int gpu = 0; gpu < info.gpus; ++gpu)
    all.emplace_back(job_->devices->table->describe(job_->devices->library.get(), info.first_gpu + gpu));
  return all;
}

int Cluster::local_rank() const {
  const auto& tasks = job_->topology.tasks;
  const auto mine = tasks.begin() + rank();
  return static_cast<int>(
      std::count_if(tasks.begin(), mine, [&](const TaskInfo& task) { return task.host == mine->host; }));
}
int Cluster::local_size() const {
  const auto& tasks = job_->topology.tasks;
  const auto host = tasks[rank()].host;
  return static_cast<int>(
      std::count_if(tasks.begin(), tasks.end(), [&](const TaskInfo& task) { return task.host == host; }));
}
const Topology& Cluster::topology() const {
  return job_->topology;
}
const ClusterOptions& Cluster::options() const {
  return job_->options;
}
std::span<const int> Cluster::local_tasks() const {
  return job_->local_tasks;
}

int Cluster::process_of(int task) const {
  return job_->processes[task];
}

Transport& Cluster::transport(int local_task) const {
  const auto at = std::find(job_->local_tasks.begin(), job_->local_tasks.end(), local_task);
  FERRY_ASSERT(at != job_->local_tasks.end(), "task " + std::to_string(local_task) + " is not in this process");
  return *job_->transports[at - job_->local_tasks.begin()];
}

void Cluster::barrier(source_location at) const {
  if (job_->transports.size() == 1 && !job_->relay)
    wait_for_all(at);
  else
    static_cast<void>(exchange(""));
}

std::vector<std::string> Cluster::exchange(std::string_view mine) const {
  const Deadline deadline(system_clock(), job_->options.deadline);
  if (job_->relay) return job_->relay->exchange(mine, deadline);
  if (job_->transports.size() == 1) {
    Transport& end = *job_->transports[0];
    return run_outside_session(end, [&] { return end.exchange(mine, deadline); });
  }
  return {std::string(mine)};  // all tasks are in this process
}

}  // namespace ferry
