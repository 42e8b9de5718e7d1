#include "executor/job/cluster.hpp"

#include <unistd.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "base/blob.hpp"
#include "base/float_state.hpp"
#include "base/net/socket.hpp"
#include "base/process/descriptor.hpp"
#include "base/system/limits.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "comm/backends.hpp"
#include "comm/failure.hpp"
#include "comm/host.hpp"
#include "executor/job/affinity.hpp"
#include "executor/job/build.hpp"
#include "executor/job/cluster_state.hpp"
#include "executor/job/direct.hpp"
#include "executor/job/introduction.hpp"
#include "executor/job/launch.hpp"
#include "executor/job/uncaught.hpp"

namespace ferry {
namespace {

constexpr std::chrono::seconds kDeclineTimeout{10};  // for the other tasks to come and learn why there is no job

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
    Introduction share = processes[static_cast<std::size_t>(process)];
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

/// Returns f(), in which this task waits for the others outside of a session. If another task failed before all had
/// met, and prints the reason, this task does not print it again.
template <class F>
auto run_outside_session(Transport& end, F f) {
  try {
    return f();
  } catch (Error& error) {
    const std::optional<Failure> failure = end.failure();
    const bool said = failure && failure->said && failure->task != end.task();
    if (said && output_of_launch() != OutputOfLaunch::apart) error.told_elsewhere();
    throw;
  }
}

/// Makes the tasks look as if they were spread over `hosts` hosts.
void spread(std::vector<Introduction>& tasks, int hosts) {
  const auto count = static_cast<int>(tasks.size());
  if (hosts > count)
    throw Error(Code::usage, "--hosts {}: the job has {}", hosts, plural(count, "task")).hint("--tasks {}", hosts);
  for (int task = 0; task < count; ++task) {
    Introduction& it = tasks[static_cast<std::size_t>(task)];
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

/// Makes this process's transport in the job that a launcher started.
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

/// Forms the job. With a `problem`, this task cannot take part: it joins only to report the problem, and all tasks
/// throw it.
std::shared_ptr<Cluster::State> form_cluster(std::vector<std::unique_ptr<Transport>> local, ClusterOptions options,
                                             std::optional<Error> problem = {}) {
  FERRY_ASSERT(!local.empty(), "a cluster has a local task");
  auto state = std::make_shared<Cluster::State>();
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
  if (processes > 1) prefix_log_with_task(local[0]->task());
  state->processes = processes_of(static_cast<int>(tasks.size()), processes);
  state->topology = options.elsewhere ? *options.elsewhere : topology_of(tasks, options);
  for (auto& transport : local) state->local_tasks.push_back(transport->task());
  state->transports = std::move(local);
  const auto& mine = state->topology.tasks[static_cast<std::size_t>(state->local_tasks[0])];
  int threads_here = 0;
  for (const TaskInfo& task : state->topology.tasks)
    if (task.host == mine.host) threads_here += task.threads;
  const Cores cores = allowed_cores();
  state->crowded = is_crowded(mine.threads, threads_here) || mine.threads > cores.count();
  const Sharers sharers = sharers_of(tasks)[static_cast<std::size_t>(state->local_tasks[0])];
  const ThreadChoice choice = choose_threads(options.threads, cores, sharers);
  if (may_pin(choice.threads, cores, sharers.cores)) state->pins = cores;
  if (!choice.warning.empty())
    log_warn(choice.warning +
             (mpi_launch() ? "\n  try: mpirun --bind-to none (mpirun binds each rank to one core by default)" : ""));
  state->options = std::move(options);
  return state;
}

/// The job's clock, except that a verdict of the watch does not end its deadlines, since the verdict may be about the
/// previous job.
class ClockWithoutVerdict final : public Clock {
 public:
  explicit ClockWithoutVerdict(Watch* watch) : watch_(watch) {}
  [[nodiscard]] TimePoint now() override {
    return system_clock().now() - (watch_ == nullptr ? Duration::zero() : watch_->clock().excluded_time());
  }

 private:
  Watch* const watch_;
};

}  // namespace

Error Cluster::State::found_by_all(Error error) const {
  const bool of_all = error.code() == Code::usage || error.code() == Code::file || error.code() == Code::plan;
  if (of_all && local_tasks[0] != 0 && output_of_launch() != OutputOfLaunch::apart) error.told_elsewhere();
  return error;
}

void Cluster::State::renew(std::span<const std::int32_t> requesters) {
  require_own_process();
  if (!transports[0]->any_thread()) require_own_thread("a call of a session");
  if (watch && watch->over()) watch->restart();
  const bool alone = transports.size() == 1 && relay == nullptr;
  if (!renewable && alone) return wait_for_tasks(requesters);
  const std::optional<Failure> failure = transports[0]->failure();
  if (!failure) return;
  if (renewable) return replace_by(inproc_transports(static_cast<int>(transports.size())));
  throw Error(Code::usage, "the job of this cluster has failed, and cannot begin anew")
      .note(error_of(*failure).text())
      .hint("start the program again, or have one task in each process");
}

void Cluster::State::watch_own_tasks() {
  watch = std::make_unique<Watch>(Watch::Job{.processes = processes, .self = 0, .deadline = options.deadline});
}

/// Waits for the other tasks, in a new job if this one has failed. A task that finished the failed run before the
/// failure may not know of it, and waits in the failed job. Its wait fails, because the tasks that know of the failure
/// do not come there; then it continues with the new job. Before the first call of a session there was no run, so a
/// failure then is a failure of this job.
void Cluster::State::wait_for_tasks(std::span<const std::int32_t> requesters) {
  const Position::Call call(watch ? &watch->position(local_tasks[0]) : nullptr, "a call of the session", requesters);
  const bool first = !std::exchange(first_call_made_, true);
  const auto failed_here = [this] { return transports[0]->failure().has_value(); };
  ClockWithoutVerdict patient(watch.get());
  const auto come = [&] { static_cast<void>(transports[0]->exchange("", Deadline(patient, options.deadline))); };
  for (;;) {
    try {
      if (first || !failed_here()) return come();
    } catch (const Error& error) {
      if (!failed_here()) throw;
      if (first) throw watch ? watch->explained(error, local_tasks[0], transports[0]->failure()) : error;
    }
    std::vector<std::unique_ptr<Transport>> fresh;
    fresh.push_back(transports[0]->renewed(options.deadline));
    if (fresh[0] == nullptr) return come();  // throws the failure
    replace_by(std::move(fresh));
  }
}

void Cluster::State::replace_by(std::vector<std::unique_ptr<Transport>> fresh) {
  std::ranges::move(transports, std::back_inserter(failed));
  transports = std::move(fresh);
  failed_sessions.clear();
}

Cluster::State::State() : process(getpid()), thread(std::this_thread::get_id()) {}

bool Cluster::State::in_own_process() const {
  return process == getpid();
}

void Cluster::State::require_own_process() const {
  if (in_own_process()) return;
  throw Error(Code::usage,
              "this process was forked from process {}, whose job does not go on here: no thread and no message does",
              process)
      .hint("connect and make sessions after fork(), in the process that runs them");
}

void Cluster::State::require_own_thread(const std::string& call) const {
  if (std::this_thread::get_id() == thread) return;
  throw Error(Code::usage, call + " from another thread than the one that made the Cluster")
      .hint("make all calls of a Cluster, of its groups and of its sessions on the thread that called connect()");
}

Cluster::State::~State() {
  if (!in_own_process()) {  // the parent process still uses what destructors would close
    for (auto* ends : {&transports, &failed})
      for (auto& end : *ends) static_cast<void>(end.release());
    static_cast<void>(relay.release());
    static_cast<void>(all.release());
    static_cast<void>(direct.release());
    static_cast<void>(watch.release());
    return;
  }
  if (std::uncaught_exceptions() > 0) return;
  try {
    for (const auto* ends : {&failed, &transports})
      for (const auto& end : *ends) end->close();
  } catch (const std::exception&) {  // the others notice when the connection is gone
  }
  failed_sessions.clear();  // before the transports, which the kept sessions use
}

namespace {

/// The group of all tasks, which the job makes with its first Cluster.
std::shared_ptr<DirectGroup> all_tasks_of(const std::shared_ptr<Cluster::State>& state) {
  if (!state->all) {
    std::vector<std::int32_t> tasks(state->topology.tasks.size());
    std::iota(tasks.begin(), tasks.end(), 0);
    state->direct = std::make_unique<DirectJob>(*state);
    state->all = std::make_unique<DirectGroup>(*state->direct, 0, std::move(tasks), state->local_tasks[0]);
  }
  return {state, state->all.get()};
}

}  // namespace

Cluster::Cluster(std::shared_ptr<State> state) : Collectives(all_tasks_of(state)), state_(std::move(state)) {}

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
  Launch launch = launch_of(options);
  if (launch.by == Launch::By::nobody) {
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
  return Cluster(form_cluster(launched_transports(std::move(launch), options), std::move(options)));
}

void Cluster::decline(ClusterOptions options, const Error& error) {
  open_standard();
  end_with_uncaught();
  try {
    options.deadline = std::min<std::chrono::milliseconds>(options.deadline, kDeclineTimeout);
    Launch launch = launch_of(options);
    if (launch.by == Launch::By::nobody || launch.processes == 1) throw JobProblem(error);
    auto local = launched_transports(std::move(launch), options);
    static_cast<void>(form_cluster(std::move(local), std::move(options), error));
  } catch (const JobProblem& problem) {
    throw Error(problem);
  } catch (const Error&) {  // the other tasks cannot be reached
  }
  throw Error(error);
}

Cluster Cluster::over(std::vector<std::unique_ptr<Transport>> local, ClusterOptions options) {
  const DefaultFloats floats;
  check_options(options);
  return Cluster(form_cluster(std::move(local), std::move(options)));
}

int Cluster::rank() const {
  return state_->local_tasks[0];
}
int Cluster::size() const {
  return state_->topology.size();
}
std::vector<std::string> Cluster::gpus() const {
  const TaskInfo& info = state_->topology.tasks[static_cast<std::size_t>(rank())];
  std::vector<std::string> all;
  for (int gpu = 0; gpu < info.gpus; ++gpu)
    all.emplace_back(state_->devices->table->describe(state_->devices->library.get(), info.first_gpu + gpu));
  return all;
}

int Cluster::local_rank() const {
  const auto& tasks = state_->topology.tasks;
  const auto mine = tasks.begin() + rank();
  return static_cast<int>(
      std::count_if(tasks.begin(), mine, [&](const TaskInfo& task) { return task.host == mine->host; }));
}
int Cluster::local_size() const {
  const auto& tasks = state_->topology.tasks;
  const auto host = tasks[static_cast<std::size_t>(rank())].host;
  return static_cast<int>(
      std::count_if(tasks.begin(), tasks.end(), [&](const TaskInfo& task) { return task.host == host; }));
}
const Topology& Cluster::topology() const {
  return state_->topology;
}
const ClusterOptions& Cluster::options() const {
  return state_->options;
}
std::span<const int> Cluster::local_tasks() const {
  return state_->local_tasks;
}

int Cluster::process_of(int task) const {
  return state_->processes[static_cast<std::size_t>(task)];
}

Transport& Cluster::transport(int local_task) const {
  const auto at = std::find(state_->local_tasks.begin(), state_->local_tasks.end(), local_task);
  FERRY_ASSERT(at != state_->local_tasks.end(), "task " + std::to_string(local_task) + " is not in this process");
  return *state_->transports[static_cast<std::size_t>(at - state_->local_tasks.begin())];
}

void Cluster::barrier(source_location at) const {
  if (state_->transports.size() == 1 && !state_->relay)
    wait_for_all(at);
  else
    static_cast<void>(exchange(""));
}

std::vector<std::string> Cluster::exchange(std::string_view mine) const {
  const Deadline deadline(system_clock(), state_->options.deadline);
  if (state_->relay) return state_->relay->exchange(mine, deadline);
  if (state_->transports.size() == 1) {
    Transport& end = *state_->transports[0];
    return run_outside_session(end, [&] { return end.exchange(mine, deadline); });
  }
  return {std::string(mine)};  // all tasks are in this process
}

}  // namespace ferry
