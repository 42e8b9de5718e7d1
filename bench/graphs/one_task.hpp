// Common to benchmarks of ops on one task: ops that do nothing, and a session for them.
#pragma once

#include <memory>

#include "executor/session/session.hpp"
#include "graph/op/op_def.hpp"

namespace ferry::bench {

/// Nothing(x, …): has the shape of x. Planning neither fuses it nor folds it away, and its kernel does nothing.
extern const OpDef kNothing;
/// Sink(x): a scalar. It makes a step compute x without fetching it, and its kernel does nothing.
extern const OpDef kSink;

/// A session of one in-process task with this many threads. Its kernels are the CPU's kernels and the kernels of the
/// ops above. The graph must outlive it.
[[nodiscard]] std::unique_ptr<Session> one_task_session(const Graph& graph, int threads);

}  // namespace ferry::bench
