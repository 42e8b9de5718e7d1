// Helpers for benchmarks of ops on one task: ops that do nothing, and sessions.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/system/clock.hpp"
#include "executor/session/session.hpp"
#include "graph/graph.hpp"
#include "graph/op/op_def.hpp"
#include "graph/op/op_work.hpp"

namespace ferry::bench {

/// Nothing(x, …): has the shape of x. Planning neither fuses it nor folds it away, and its kernel does nothing.
extern const OpDef kNothing;
/// Sink(x): a scalar. It makes a step compute x without fetching it, and its kernel does nothing.
extern const OpDef kSink;

/// A session of one in-process task with `threads` threads. Its kernels are the CPU's kernels and the kernels of
/// kNothing and kSink. The graph must outlive the session.
[[nodiscard]] std::unique_ptr<Session> one_task_session(const Graph& graph, int threads);

/// A session with a step that computes one op, or a few, from variables.
class OneOp {
 public:
  /// `make` returns the op's output for variables of these sizes. The variables have random contents.
  OneOp(const std::vector<Ints>& sizes, const std::function<Value(const Values&)>& make, int threads, int steps);

  /// Seconds of a step: the mean of `steps` steps.
  double run();
  /// Runs steps for about `seconds` seconds. Returns the seconds of the shortest step.
  double least(double seconds);
  /// The work of a step's kernels, as planning counts it, without kNothing and kSink. OpWork::kind is the kind of the
  /// last kernel.
  [[nodiscard]] OpWork work();

 private:
  Graph graph_;
  RunRequest request_;
  std::unique_ptr<Session> session_;
};

/// Runs steps of the request; all tasks make the same call. In the process of RunRequest::fetch_to, returns the seconds
/// of the shortest step except the first; in other processes, returns 0.
[[nodiscard]] double least_step(Session& session, RunRequest request, std::int64_t steps);

/// Runs of steps that are measured.
struct MeasuredRuns {
  std::function<double(std::int64_t)> run;  ///< runs some steps and one more; returns the seconds of the shortest
  /// Returns the largest of the numbers that the processes of the job pass.
  std::function<double(double)> agree = [](double own) { return own; };
};

/// Runs steps for about `seconds` seconds, and at least two steps. Returns the seconds of the shortest step. The number
/// of steps follows from their mean time, which may be much longer than the shortest.
[[nodiscard]] double shortest_within(Clock& clock, double seconds, const MeasuredRuns& runs);

}  // namespace ferry::bench
