// Instructions of the setup that pack variables for kernels of the step (Kernel::packing).
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace ferry {

/// The last instructions of the setup that read nothing but variables. A task runs them again before the next step when
/// such a variable has got another value. The verifier checks that they can run again, and that the step writes none of
/// these variables.
[[nodiscard]] Range variable_packing(const PlanClass& plan);

/// The names of the variables that variable_packing() of the task reads.
[[nodiscard]] std::vector<std::string> packed_variables(const Plan& plan, int task);

/// The names of the variables that the task writes.
[[nodiscard]] std::vector<std::string> written_variables(const Plan& plan, int task);

}  // namespace ferry
