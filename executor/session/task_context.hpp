// TaskContext: the objects of one task that last as long as its session.
#pragma once

#include <optional>

#include "executor/job/job_member.hpp"
#include "executor/observe/flight_recorder.hpp"
#include "executor/observe/trace.hpp"
#include "executor/observe/turn_record.hpp"
#include "executor/run/gpu_groups.hpp"
#include "executor/run/workers.hpp"
#include "executor/session/session_types.hpp"
#include "executor/state/variables.hpp"

namespace ferry {

/// Whether the options ask for a trace.
[[nodiscard]] inline bool traces(const ExecutionOptions& options) {
  return !options.trace_file.empty() || options.on_trace;
}

/// The membership, threads, variables and records of one task. All plans of the session run with them. Used by the
/// task's thread, except Workers::cancel().
struct TaskContext {
  TaskContext(int task, Transport& transport, const JobState& cluster, const SessionOptions& options);
  ~TaskContext();
  TaskContext(const TaskContext&) = delete;
  TaskContext& operator=(const TaskContext&) = delete;

  JobMember member;
  const SessionOptions& options;
  Workers workers;
  VariableStore variables;
  GpuGroups groups;
  std::optional<Trace> trace;              ///< none: nothing is traced
  std::optional<FlightRecorder> recorder;  ///< none: nothing is recorded
  std::optional<TurnRecord> turns;         ///< none: a server's turns are neither recorded nor replayed
};

}  // namespace ferry
