// The requirements of a plan on the job that runs it.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "graph/types/shape.hpp"
#include "plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The variables of a plan by name, with the types of their whole values. Session::restore takes these variables.
/// Thread-safe.
[[nodiscard]] std::map<std::string, Type, std::less<>> variables_of(const Plan& plan);

/// Each function throws Error(plan) with a hint if `topology`, the job's topology, lacks something that the well-formed
/// plan requires. Thread-safe.

/// Requires as many tasks as the plan has, and on each task the plan's threads, GPUs and tile regions on GPUs.
void require_tasks(const Plan& plan, const Topology& topology);
/// Requires shared memory between tasks that write or read each other's memory (put and get).
void require_memory(const Plan& plan, const Topology& topology);
/// Requires a library that connects the GPUs of each group that has collectives of GPUs.
void require_gpu_groups(const Plan& plan, const Topology& topology);

}  // namespace ferry
#pragma GCC visibility pop
