// form_job: makes the state of a job that this process has joined.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "comm/failure.hpp"
#include "comm/transport.hpp"
#include "executor/job/job_state.hpp"
#include "executor/job/launch.hpp"

namespace ferry {

/// Makes this process's transport in the job that a launcher started.
[[nodiscard]] std::vector<std::unique_ptr<Transport>> launched_transports(Launch launch, const ClusterOptions& options);

/// Forms the job over the transports of this process's tasks. With a `problem`, this task cannot take part: it joins
/// only to report the problem, and all tasks throw it as JobProblem.
[[nodiscard]] std::shared_ptr<JobState> form_job(std::vector<std::unique_ptr<Transport>> local, ClusterOptions options,
                                                 std::optional<Error> problem = {});

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

}  // namespace ferry
