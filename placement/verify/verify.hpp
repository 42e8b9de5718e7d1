// The verifier: reads a finished plan with no trust in the passes that made it, and none of their code.
#pragma once

#include <string>
#include <vector>

#include "placement/plan/plan.hpp"

namespace ferry {

class KernelLookup;
class OpSet;

/// What the verifier knows besides the plan. Of an op that it does not know, one of the user's, it proves nothing.
struct KnownOps {
  const OpSet* ops = nullptr;             ///< null: default_ops()
  const KernelLookup* kernels = nullptr;  ///< null: what kernels may write over is as the plan says
};

struct Verdict {
  bool pass = false;
  std::vector<std::string> proved;    ///< what holds, a line each
  std::vector<std::string> unproved;  ///< what nobody can say here, a line each: of ops that are not known
  std::string reason;                 ///< when it does not pass: what is wrong, with the user's lines
};

/// Checks that every index is in range; every kernel gets and gives what its op's inference says; every send has its
/// receive with equal bytes; no wait cycle under zero buffering; members of a collective meet in the same order; no
/// buffer is read while written or before it is written; buffers lie within their arenas; these fit into the memory of
/// their tasks and hosts, where the topology knows it. Time and memory linear in the plan's instructions × tasks.
[[nodiscard]] Verdict verify(const Plan& plan, const KnownOps& known = {});

/// Throws Error(plan) with the reason unless the plan passes.
void require_verified(const Plan& plan, const KnownOps& known = {});

}  // namespace ferry
