#include "placement/verify.hpp"

#include "placement/verify/verifier.hpp"

namespace ferry {

Verdict verify(const Plan& plan) {
  Verdict verdict;
  try {
    verifier::check_structure(plan);
    verdict.proved.push_back("every index, region and size is in range");
    verifier::check_messages(plan);
    verdict.proved.push_back(std::to_string(plan.channels.size()) +
                             " channels: one send and one receive each, equal in dtype and bytes");
    verdict.proved.push_back(std::to_string(plan.collectives.size()) +
                             " collectives: every member takes part, with the sizes of its schedule");
    verifier::check_progress(plan);
    verdict.proved.push_back("no task waits for ever, though nothing is buffered");
    verifier::check_memory(plan);
    verdict.proved.push_back(
        "no buffer is read before it is written or while it is overwritten; all lie within their arenas");
    verdict.pass = true;
  } catch (const verifier::Rejected& rejected) {
    verdict.reason = rejected.reason;
  }
  return verdict;
}

void require_verified(const Plan& plan) {
  const Verdict verdict = verify(plan);
  if (!verdict.pass) throw Error(Code::plan, "the plan is refused: " + verdict.reason);
}

}  // namespace ferry
