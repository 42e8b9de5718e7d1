#include "executor/session.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/clock.hpp"
#include "base/files.hpp"
#include "base/hash.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "executor/agreement.hpp"
#include "executor/cluster_state.hpp"
#include "executor/task_session.hpp"
#include "graph/core_ops.hpp"

namespace ferry {
namespace {

/// The threads of the virtual tasks beside the caller's: each runs what all of them are given, and waits.
class TaskThreads {
 public:
  explicit TaskThreads(std::span<const int> tasks) : failures_(tasks.size()) {
    for (std::size_t i = 1; i < tasks.size(); ++i)
      threads_.emplace_back([this, i, task = tasks[i]] { serve(i, task); });
  }
  ~TaskThreads() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    wake_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  TaskThreads(const TaskThreads&) = delete;
  TaskThreads& operator=(const TaskThreads&) = delete;

  /// Calls body(i) for each local task i at once, 0 on this thread; then throws what failed first.
  void run(const std::function<void(std::size_t)>& body) {
    {
      const std::lock_guard lock(mutex_);
      body_ = &body;
      running_ = threads_.size();
      ++round_;
    }
    wake_.notify_all();
    failures_[0] = attempt(body, 0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return running_ == 0; });
    rethrow_first();
  }

 private:
  static std::exception_ptr attempt(const std::function<void(std::size_t)>& body, std::size_t i) {
    try {
      body(i);
      return nullptr;
    } catch (...) {
      return std::current_exception();
    }
  }

  void serve(std::size_t i, int task) {
    log_task(task);
    std::uint64_t seen = 0;
    for (;;) {
      const std::function<void(std::size_t)>* body = nullptr;
      {
        std::unique_lock lock(mutex_);
        wake_.wait(lock, [&] { return ending_ || round_ != seen; });
        if (ending_) return;
        seen = round_;
        body = body_;
      }
      failures_[i] = attempt(*body, i);
      const std::lock_guard lock(mutex_);
      if (--running_ == 0) done_.notify_all();
    }
  }

  /// Of several failures the cause: what is not the echo of another task's.
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

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::vector<std::exception_ptr> failures_;
  const std::function<void(std::size_t)>* body_ = nullptr;
  std::uint64_t round_ = 0;
  std::size_t running_ = 0;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

/// Refuses a second call while one is running.
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

/// A graph that sets the variables of another from feeds at task 0.
class RestoreGraph {
 public:
  RestoreGraph(const Graph& model, const TensorMap& values) {
    for (const Mesh& mesh : model.meshes()) graph_.mesh(mesh);
    for (OpId id : model.variables()) {
      const Op op = model.op(id);
      const Type& type = model.type(op.output(0));
      const SourceLine line = op.line();
      const Value variable =
          graph_.add(kVariable, {}, {{"dtype", type.dtype}, {"shape", type.shape}}, line)[0].named(op.name());
      const std::string feed = std::string(op.name()) + "/restored";
      const Value input = graph_.add(kInput, {}, {{"dtype", type.dtype}, {"shape", type.shape}}, line)[0].named(feed);
      graph_.annotate(variable.op().id(), op.annotation());
      graph_.annotate(input.op().id(), Annotation{DeviceSpec::parse("/task:0"), kNoMesh, {}});
      const Value inputs[] = {variable, input};
      request_.targets.push_back(graph_.add(kAssign, inputs, {}, line)[0]);
      if (const auto found = values.find(op.name()); found != values.end()) request_.feeds[feed] = found->second;
    }
  }
  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] const RunRequest& request() const { return request_; }

 private:
  Graph graph_;
  RunRequest request_;
};

/// What keeps `values` from being the variables of `model`; empty: nothing.
std::string restore_problem(const Graph& model, const TensorMap& values) {
  std::vector<std::string> problems;
  for (OpId id : model.variables()) {
    const Op op = model.op(id);
    const auto found = values.find(op.name());
    const Type& type = model.type(op.output(0));
    if (found == values.end())
      problems.push_back("missing: " + escaped(op.name()) + " " + type.str());
    else if (found->second.type() != type)
      problems.push_back("differs: " + escaped(op.name()) + " is " + type.str() + " in the graph, " +
                         found->second.type().str() + " in the file");
  }
  for (const auto& [name, tensor] : values) {
    const auto op = model.find(name);
    if (!op || &model.op(*op).def() != &kVariable)
      problems.push_back("extra: " + escaped(name) + " " + tensor.type().str());
  }
  if (problems.empty()) return {};
  Error error(Code::file, "the saved variables do not fit the graph");
  for (std::size_t i = 0; i < std::min<std::size_t>(problems.size(), 12); ++i) error.note(problems[i]);
  if (problems.size() > 12) error.note("and " + std::to_string(problems.size() - 12) + " more");
  return error.text();
}

}  // namespace

struct Session::State {
  State(const Graph& g, const Cluster& c, SessionOptions o)
      : graph(g), cluster(c), options(std::move(o)), plans(c.topology(), options), threads(c.local_tasks()) {
    for (int task : cluster.local_tasks())
      tasks.push_back(std::make_unique<TaskSession>(task, cluster.transport(task), cluster.state(), plans, options));
  }

  /// Runs `body` on all local tasks; a failure while running ends the job and this session.
  void on_all(const std::function<void(TaskSession&)>& body) {
    if (closed) throw Error(Code::usage, "this session is closed");
    if (!failure.empty())
      throw Error(Code::usage, "this session has failed; its variables may be torn")
          .note(failure)
          .hint("make a new session and restore a checkpoint");
    const Exclusive exclusive(busy);
    try {
      threads.run([&](std::size_t i) { body(*tasks[i]); });
    } catch (const Error& error) {
      if (std::any_of(tasks.begin(), tasks.end(), [](const auto& task) { return task->failed(); }))
        failure = error.text();
      throw;
    } catch (...) {
      failure = "a callback threw";
      throw;
    }
  }

  std::vector<Tensor> run(const Graph& g, const RunRequest& request) {
    std::vector<Tensor> fetched(request.fetches.size());
    on_all([&](TaskSession& task) {
      task.compare_graphs(graph);
      std::vector<Tensor> mine = task.run(g, request);
      for (std::size_t i = 0; i < mine.size(); ++i)
        if (mine[i].defined()) fetched[i] = std::move(mine[i]);
    });
    return fetched;
  }

  const Graph& graph;
  Cluster cluster;
  SessionOptions options;
  PlanCache plans;
  std::vector<std::unique_ptr<TaskSession>> tasks;
  std::atomic<bool> busy{false};
  bool closed = false;
  std::string failure;
  TaskThreads threads;
};

Session::Session(const Graph& graph, const Cluster& cluster, SessionOptions options)
    : state_(std::make_unique<State>(graph, cluster, std::move(options))) {}

/// A run in another thread ends with an error, and is waited for.
Session::~Session() {
  while (state_->busy) {
    for (int task : state_->cluster.local_tasks()) {
      Transport& transport = state_->cluster.transport(task);
      if (transport.any_thread()) transport.abort({task, Code::interrupted, "the session was destroyed during a run"});
    }
    system_clock().sleep_for(std::chrono::milliseconds(1));
  }
  try {
    close();
  } catch (const Error& error) {
    log_error(error.text());
  }
}

std::vector<Tensor> Session::run(const std::vector<Value>& fetches, const TensorMap& feeds) {
  RunRequest request;
  request.fetches = fetches;
  request.feeds = feeds;
  return run(request);
}

std::vector<Tensor> Session::run(const RunRequest& request) {
  return state_->run(state_->graph, request);
}

TensorMap Session::variables() {
  // Reading a variable is a fetch like any other; the handles only name values of the graph, which stays as it is.
  auto& graph = const_cast<Graph&>(state_->graph);
  RunRequest request;
  for (OpId id : graph.variables()) request.fetches.push_back(graph.value(graph.op(id).output(0)));
  TensorMap result;
  if (request.fetches.empty()) return result;
  std::vector<Tensor> fetched = state_->run(graph, request);
  for (std::size_t i = 0; i < fetched.size(); ++i) result[request.fetches[i].name()] = std::move(fetched[i]);
  return result;
}

void Session::restore(const TensorMap& variables) {
  if (state_->graph.variables().empty()) return;
  const std::string problem = state_->cluster.rank() == 0 ? restore_problem(state_->graph, variables) : std::string();
  state_->on_all([&](TaskSession& task) { task.agree_on_problem(problem, Code::file); });
  const RestoreGraph restore(state_->graph, variables);
  state_->run(restore.graph(), restore.request());
}

RunStats Session::stats() {
  RunStats result;
  state_->on_all([&](TaskSession& task) {
    RunStats stats = task.stats();
    if (&task == state_->tasks[0].get()) result = std::move(stats);
  });
  return result;
}

const PlanResult& Session::plan(const RunRequest& request) {
  const PlanResult* result = nullptr;
  state_->on_all([&](TaskSession& task) {
    task.compare_graphs(state_->graph);
    const PlanResult& plan = task.plan(state_->graph, request);
    if (&task == state_->tasks[0].get()) result = &plan;
  });
  return *result;
}

void Session::close() {
  if (state_->closed) return;
  std::string trace;
  if (!state_->options.trace_file.empty() && state_->failure.empty()) {
    state_->on_all([&](TaskSession& task) {
      std::string whole = task.trace();
      if (!whole.empty()) trace = std::move(whole);
    });
  }
  state_->closed = true;
  state_->tasks.clear();
  if (!trace.empty()) local_files().write(state_->options.trace_file, trace);
}

}  // namespace ferry
