// The verifier: checks a finished plan without trusting the passes that made it, and without using their code.
#pragma once

#include <string>
#include <vector>

#include "placement/plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class KernelLookup;
class OpSet;

/// What the verifier knows besides the plan. It proves nothing about an op that it does not know, such as the user's
/// own.
struct KnownOps {
  const OpSet* ops = nullptr;             ///< null: default_ops()
  const KernelLookup* kernels = nullptr;  ///< null: trusts the plan about which inputs kernels may write over
};

struct Verdict {
  bool pass = false;
  std::vector<std::string> proved;    ///< what holds, a line each
  std::vector<std::string> unproved;  ///< what could not be proved because an op is not known, a line each
  std::string reason;                 ///< when it does not pass: what is wrong, with the user's lines
};

/// Checks that every index is in range; every kernel gets and gives what its op's inference says; every send has its
/// receive with equal bytes; no tasks wait for each other in a cycle even if nothing is buffered; all members come to
/// collectives in the same order; no buffer is read while it is written, or before; buffers lie within their arenas,
/// and these fit into the memory of tasks and hosts, as far as the topology knows it (docs/proof.md has all). Takes
/// time and memory of at most the plan's instructions × tasks.
[[nodiscard]] Verdict verify(const Plan& plan, const KnownOps& known = {});

/// Throws Error(plan) with the reason unless the plan passes.
void require_verified(const Plan& plan, const KnownOps& known = {});

}  // namespace ferry
#pragma GCC visibility pop
