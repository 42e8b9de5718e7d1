// planned_times: how long the kernels of a plan take by the speeds that planning reckons with.
#pragma once

#include <map>
#include <string>

#include "graph/op/op_def.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// Seconds of one run of each kernel, tile region and copy of the task, by the name that it has in a trace. Kernels of
/// ops that `ops` lacks count as kernels of unknown work.
[[nodiscard]] std::map<std::string, double> planned_times(const Plan& plan, int task, const OpSet& ops);

}  // namespace ferry
