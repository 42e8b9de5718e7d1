// Common to benchmarks of ops on one task: ops that do nothing, and a session for them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "executor/session/session.hpp"
#include "graph/graph.hpp"
#include "graph/op/op_def.hpp"
#include "graph/op/op_work.hpp"

namespace ferry::bench {

/// Nothing(x, …): has the shape of x. Planning neither fuses it nor folds it away, and its kernel does nothing.
extern const OpDef kNothing;
/// Sink(x): a scalar. It makes a step compute x without fetching it, and its kernel does nothing.
extern const OpDef kSink;

/// A session of one in-process task with this many threads. Its kernels are the CPU's kernels and the kernels of the
/// ops above. The graph must outlive it.
[[nodiscard]] std::unique_ptr<Session> one_task_session(const Graph& graph, int threads);

/// A session with a step that computes one op, or a few, from variables.
class OneOp {
 public:
  /// `make` gives the op's output from variables of these sizes, which have random contents.
  OneOp(const std::vector<Ints>& sizes, const std::function<Value(const Values&)>& make, int threads, int steps);

  /// Seconds of a step: the mean of `steps` steps.
  double run();
  /// Seconds of the shortest of as many steps as take about `seconds`, at least three.
  double least(double seconds);
  /// The work of a step's kernels, as planning counts it, without kNothing and kSink. `kind` is the kind of the last.
  [[nodiscard]] OpWork work();

 private:
  Graph graph_;
  RunRequest request_;
  std::unique_ptr<Session> session_;
};

/// Runs steps of the request, which all tasks call alike. Returns the seconds of the shortest step on the process of
/// `fetch_to`, the first one excluded, and 0 on other processes.
[[nodiscard]] double least_step(Session& session, RunRequest request, std::int64_t steps);

}  // namespace ferry::bench
