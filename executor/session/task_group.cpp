#include "executor/session/task_group.hpp"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>
#include <new>
#include <optional>
#include <thread>

#include "base/files/files.hpp"
#include "base/float_state.hpp"
#include "base/numbers.hpp"
#include "base/system/clock.hpp"
#include "base/system/limits.hpp"
#include "base/system/log.hpp"
#include "base/system/make_threads.hpp"
#include "base/system/monitor.hpp"
#include "base/text.hpp"
#include "executor/observe/gather_flight.hpp"
#include "executor/session/task_session.hpp"
#include "plan/plan.hpp"

namespace ferry {
namespace {

/// The threads of the tasks, which wait for calls of run(). In a call the caller's thread runs the first task, and the
/// other tasks have their own threads. If there is a relay, the caller's thread serves it instead, and every task has
/// its own thread.
class TaskThreads {
 public:
  /// Error(resource) when the system gives no more threads.
  TaskThreads(std::span<const int> tasks, HostRelay* relay) : relay_(relay) {
    failures_.resize(tasks.size());
    const std::size_t first = relay == nullptr ? 1 : 0;
    make_threads(
        threads_, tasks.size() - first, [this, first](std::size_t i) { serve(first + i); }, [this] { end(); },
        [&](std::size_t made, const std::string& why) { return no_threads(tasks.size(), made + 1, why); });
  }
  ~TaskThreads() { end(); }
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  /// Calls body(i) for all local tasks i at once; then throws as rethrow_first(). Error(usage) on a thread that may not
  /// serve the relay; then nothing was called.
  void run(const std::function<void(std::size_t)>& body) {
    if (relay_ != nullptr) relay_->check_thread();
    running_ = threads_.size();  // needs no lock: no thread reads it before the round has begun
    begun_.change([&] {
      body_ = &body;
      ++round_;
    });
    if (relay_ == nullptr)
      failures_[0] = attempt(body, 0);
    else
      relay_->serve([this] {
        const auto lock = done_.lock();
        return running_ == 0;
      });
    auto lock = done_.lock();
    done_.wait(lock, [this] { return running_ == 0; });
    rethrow_first();
  }

  /// The error if the system gives only `most` threads for more tasks; each task needs one.
  static Error no_threads(std::size_t tasks, std::uint64_t most, const std::string& why = "") {
    return Error(Code::resource, std::to_string(tasks) + " tasks in one process need a thread each, the system gives " +
                                     std::to_string(most) + " at most" + (why.empty() ? "" : ": " + why))
        .hint(
            "fewer --tasks, higher limits (ulimit -v, ulimit -u), or several processes (mpirun); "
            "ferry plan and ferry check need no threads");
  }

 private:
  void end() {
    begun_.change([this] { ending_ = true; });
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  static std::exception_ptr attempt(const std::function<void(std::size_t)>& body, std::size_t i) {
    try {
      body(i);
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  void serve(std::size_t i) {
    std::uint64_t seen = 0;
    for (;;) {
      const std::function<void(std::size_t)>* body = nullptr;
      {
        auto lock = begun_.lock();
        begun_.wait(lock, [&] { return ending_ || round_ != seen; });
        if (ending_) return;
        seen = round_;
        body = body_;
      }
      failures_[i] = attempt(*body, i);
      const auto lock = done_.lock();
      if (--running_ > 0) continue;
      done_.notify();
      if (relay_ != nullptr) relay_->wake();
    }
  }

  /// Throws the likely cause among several failures: the first failure that is not peer_lost, since peer_lost only
  /// reports the failure of another task.
  void rethrow_first() {
    std::exception_ptr first;
    for (const std::exception_ptr& failure : failures_) {
      if (!failure) continue;
      if (!first) first = failure;
      try {
        std::rethrow_exception(failure);
      } catch (const Error& error) {
        if (error.code() == Code::peer_lost) continue;
      } catch (...) {
      }
      first = failure;
      break;
    }
    if (first) std::rethrow_exception(first);
  }

  HostRelay* const relay_;
  std::vector<std::exception_ptr> failures_;
  Monitor begun_;  // guards body_, round_ and ending_
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::uint64_t round_ = 0;
  bool ending_ = false;
  Monitor done_;  // guards running_; separate from begun_, so that a finished task does not wake waiting threads
  std::size_t running_ = 0;
  std::vector<std::thread> threads_;
};

/// Throws Error(usage) for a second call while one is running.
class Exclusive {
 public:
  explicit Exclusive(std::atomic<bool>& busy) : busy_(busy) {
    if (busy_.exchange(true))
      throw Error(Code::usage, "this session is running already").hint("one run at a time; use a session each");
  }
  ~Exclusive() { busy_ = false; }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  std::atomic<bool>& busy_;
};

}  // namespace

struct TaskGroup::State {
  State(const Cluster& c, SessionOptions o) : cluster(c), options(std::move(o)), plans(cluster, options) {
    cluster.state().require_own_process();
    check_options();
  }

  void check_options() const {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    require_range("PlanningOptions::bucket_bytes", options.plan.bucket_bytes.value_or(0), std::int64_t{0}, kMost);
    require_range("PlanningOptions::fuse_from", options.plan.fuse_from, std::int64_t{0}, kMost);
    require_range("ExecutionOptions::check_replicas", options.run.check_replicas, std::int64_t{0}, kMost);
    require_folder_of(options.run.flight_recorder);
    if (!options.run.record_turns.empty() && !options.run.replay_turns.empty())
      throw Error(Code::usage, "turns are to be recorded and replayed at once")
          .hint("give ExecutionOptions::record_turns or replay_turns, not both");
  }

  /// The agreement on the request's planned step for the tasks of a topology, made by this process alone: all tasks are
  /// here, the cluster is only described, or nothing will run.
  [[nodiscard]] Agreed agreed(const Graph& graph, const RunRequest& request, const Topology& topology) const {
    Agreed all = agree_alone(graph, request, cluster.options().invariant == 0, topology);
    all.uneven = uneven_batches(graph, all.signature);
    return all.at(request.planned_step);
  }

  /// Error(file) if the file's folder does not exist. When the file is written, it would be too late to report this.
  static void require_folder_of(const std::string& file) {
    const std::size_t slash = file.rfind('/');
    if (slash == std::string::npos || local_files().is_folder(file.substr(0, slash + 1))) return;
    throw Error(Code::file, "{:?}, for what the tasks did last: its folder is not there", file)
        .hint("make the folder on all hosts; the first task that continues writes the file");
  }

  /// Makes the tasks and their threads, at the first call that needs them: planning needs neither.
  void begin(std::span<const std::int32_t> requesters) {
    if (begun) return;
    if (cluster.options().elsewhere)
      throw Error(Code::plan, "this cluster is described, it is not here: there is nothing to run on")
          .hint("ferry plan, ferry check and ferry explain take --cluster; to run, start as many tasks");
    cluster.state().renew(requesters);
    const JobState& job = cluster.state();
    const std::size_t here = job.local_tasks.size();  // a single task needs no thread, so no check of limits
    if (const std::uint64_t most = here > 1 ? most_threads() : 0; most != 0 && here > most)
      throw TaskThreads::no_threads(here, most);
    if (!job.watch && job.topology.size() > 1) cluster.state().watch_own_tasks();
    const std::lock_guard lock(tasks_mutex);
    tasks.clear();
    for (std::size_t t = 0; t < job.local_tasks.size(); ++t)
      tasks.push_back(std::make_unique<TaskSession>(job.local_tasks[t], *job.transports[t], job, plans, options));
    threads.emplace(job.local_tasks, job.relay.get());
    begun = true;
  }
  void fail(const Error& error) {
    failure = error.text();
    if (options.run.flight_recorder.empty()) return;
    std::map<int, FlightRecord> own;
    for (const auto& task : tasks) own[task->member().task()] = task->recorder()->record(system_clock().now());
    write_flight(options.run.flight_recorder, error, cluster.state().watch.get(), own);
  }
  void cancel() {
    const std::lock_guard lock(tasks_mutex);
    for (const auto& task : tasks) task->cancel();
  }

  Cluster cluster;
  SessionOptions options;
  SessionPlans::ProcessPlans plans;
  std::mutex tasks_mutex;
  std::vector<std::unique_ptr<TaskSession>> tasks;  ///< none before the first call
  std::atomic<bool> busy{false}, begun{false};
  bool closed = false;
  SharedPlan shown;  ///< the plan that plan() returned last
  std::string failure;
  std::optional<TaskThreads> threads;
};

TaskGroup::TaskGroup(const Cluster& cluster, SessionOptions options)
    : state_(std::make_unique<State>(cluster, std::move(options))) {}

TaskGroup::~TaskGroup() {
  if (!state_->cluster.state().in_own_process()) {  // a child of fork() has no threads to join
    static_cast<void>(state_.release());
    return;
  }
  while (state_->busy) {
    state_->cancel();
    for (int task : state_->cluster.local_tasks()) {
      Transport& transport = state_->cluster.transport(task);
      if (transport.any_thread()) transport.abort({task, Code::interrupted, "the session was destroyed during a run"});
    }
    system_clock().sleep(std::chrono::milliseconds(1));
  }
  try {
    close();
  } catch (const std::exception& error) {
    log_error(error.what());
  }
}

const Cluster& TaskGroup::cluster() const {
  return state_->cluster;
}

const SessionOptions& TaskGroup::options() const {
  return state_->options;
}

bool TaskGroup::is_first(const TaskSession& task) const {
  return &task == state_->tasks[0].get();
}

void TaskGroup::require_usable() const {
  const State& s = *state_;
  s.cluster.state().require_own_process();
  if (s.closed) throw Error(Code::usage, "this session is closed").hint("make a new session");
  if (!s.failure.empty())
    throw Error(Code::usage, "this session has failed; its variables may be torn")
        .note(s.failure)
        .hint("make a new session and restore a checkpoint");
}

const PlanResult& TaskGroup::plan(const Graph& graph, const RunRequest& request) {
  State& s = *state_;
  const JobState& job = s.cluster.state();
  if (s.begun || !job.all_here())
    return (s.shown = of_first<SharedPlan>([&](TaskSession& task) {
              task.compare_graphs(graph);
              return task.plan(graph, request);
            }))
        ->result;
  require_usable();
  const Exclusive exclusive(s.busy);
  return (s.shown = s.plans.get(graph, s.agreed(graph, request, job.topology), s.options.plan.bucket_bytes))->result;
}

Signature TaskGroup::signature(const Graph& graph, const RunRequest& request, const Topology& topology) const {
  return state_->agreed(graph, request, topology).signature;
}

Equality TaskGroup::compare(const Graph& graph, const Signature& signature, const Plan& plan) {
  State& s = *state_;
  require_usable();
  const Exclusive exclusive(s.busy);
  return s.plans.compare(graph, signature, plan);
}

SharedPlan TaskGroup::given(Plan plan) const {
  return state_->plans.given(std::move(plan));
}

void TaskGroup::on_all(const std::function<void(TaskSession&)>& body, std::span<const std::int32_t> requesters) {
  State& s = *state_;
  require_usable();
  const Exclusive exclusive(s.busy);
  const DefaultFloats floats;  // floating-point modes, which new threads inherit
  s.begin(requesters);
  try {
    s.threads->run([&](std::size_t i) {
      try {
        const Position::Call call(s.tasks[i]->member().position(), "a call of the session", requesters);
        body(*s.tasks[i]);
      } catch (const std::bad_alloc&) {  // the other tasks do not know of it yet
        throw s.tasks[i]->member().out_of_memory();
      }
    });
  } catch (const Error& error) {
    if (std::any_of(s.tasks.begin(), s.tasks.end(), [](const auto& task) { return task->member().failed(); }))
      s.fail(error);
    throw;
  } catch (...) {
    s.fail(as_error(std::current_exception(), Code::program, "a callback"));
    throw;
  }
}

std::vector<Tensor> TaskGroup::tensors(std::span<const std::int32_t> tasks, std::int32_t requester,
                                       const std::function<std::vector<Tensor>(TaskSession&)>& f) {
  const std::vector<int>& here = state_->cluster.state().local_tasks;
  std::vector<std::size_t> places;  // index of the first tensor of each task
  std::size_t size = 0;
  for (const std::int32_t task : tasks) {
    places.push_back(size);
    size += task == PlanPort::kEachTask ? here.size() : 1;
  }
  std::vector<Tensor> result(size);
  const std::int32_t requesters[] = {0, requester};
  on_all(
      [&](TaskSession& task) {
        std::vector<Tensor> mine = f(task);
        for (std::size_t i = 0; i < mine.size(); ++i)
          if (mine[i].defined())
            result[places[i] + (tasks[i] == PlanPort::kEachTask ? task.member().local_index() : 0)] =
                std::move(mine[i]);
      },
      requesters);
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i] != PlanPort::kEachTask && std::ranges::find(here, tasks[i]) == here.end())
      result[places[i]] = Tensor::fetched_to(tasks[i]);
  return result;
}

void TaskGroup::close() {
  State& s = *state_;
  if (s.closed || !s.cluster.state().in_own_process()) return;
  if (s.busy)
    throw Error(Code::usage, "this session is running: it cannot be closed by its own callback")
        .hint("close it after run() has returned");
  std::string trace;
  if (traces(s.options.run) && s.failure.empty())
    trace = of_first<std::string>([](TaskSession& task) { return task.trace(); });
  s.closed = true;
  JobState& job = s.cluster.state();
  if (!s.failure.empty() && !job.renewable)
    job.failed_sessions.push_back(std::make_shared<decltype(s.tasks)>(std::move(s.tasks)));
  s.tasks.clear();
  if (trace.empty()) return;
  if (!s.options.run.trace_file.empty()) local_files().write(s.options.run.trace_file, trace);
  if (s.options.run.on_trace) s.options.run.on_trace(trace);
}

}  // namespace ferry
