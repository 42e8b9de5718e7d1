// The verifier: checks a finished plan without trusting the passes that made it, and without using their code.
#pragma once

#include <string>
#include <vector>

#include "base/error.hpp"
#include "plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class KernelLookup;
class OpSet;

/// Definitions that the verifier uses besides the plan. It proves nothing about an op that is not in `ops`, such as the
/// user's own.
struct KnownOps {
  const OpSet* ops = nullptr;             ///< null: default_ops()
  const KernelLookup* kernels = nullptr;  ///< null: trusts the plan about which inputs kernels may write over
};

struct Verdict {
  bool pass = false;
  std::vector<std::string> proved;    ///< the properties that hold, one line each
  std::vector<std::string> unproved;  ///< the properties not proved because an op is unknown, one line each
  std::string reason;                 ///< if it does not pass: the faults, with the user's lines
  /// If it does not pass: the cure, for the user.
  std::string hint = "make the plan again, with this ferry and for this machine";

  /// The Error(plan) of a plan that does not pass.
  [[nodiscard]] Error refusal() const;
};

/// Checks that every index is in range, that the operands of every kernel have the types of its op's inference, and
/// that every send has its receive with equal bytes. Checks that no tasks wait for each other in a cycle even if
/// nothing is buffered, and that all members start collectives in the same order. Checks that no buffer is read while
/// or before it is written, that buffers are within their arenas, and that arenas fit into the memory of tasks and
/// hosts, if the topology has its size. docs/internals/verifier.md has the full list. Time and memory grow at most with
/// instructions × tasks of the plan.
[[nodiscard]] Verdict verify(const Plan& plan, const KnownOps& known = {});

/// Throws Error(file) with the reason unless every index, number and size of a plan from a file is in range. It is the
/// first part of verify(). Other functions may be called only with plans that pass it.
void require_well_formed(const Plan& plan);

/// Throws Error(plan) with the reason unless the plan passes.
void require_verified(const Plan& plan, const KnownOps& known = {});

}  // namespace ferry
#pragma GCC visibility pop
