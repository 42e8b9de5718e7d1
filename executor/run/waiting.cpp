#include "executor/run/waiting.hpp"

#include <string>
#include <vector>

#include "base/hash.hpp"
#include "executor/observe/instruction_text.hpp"
#include "executor/run/messages.hpp"

namespace ferry {

Error Waiting::stall_error(const Resolved& r, Duration waited) const {
  std::vector<std::string> others;
  for (const Link* link : ledger_.pending())
    if (link != r.link) others.push_back(pending_text(resolved_.plan(), *link->since, resolved_.task()));
  return stalled_error(resolved_.plan(), *r.plan, resolved_.task(), waited, others);
}

Awaited Waiting::awaited(const Resolved& r) const {
  Awaited awaited{.text = pending_text(resolved_.plan(), *r.plan, resolved_.task()), .tasks = {}};
  const Plan& plan = resolved_.plan();
  if (r.link->call == nullptr) {
    awaited.tasks.push_back(r.link->peer);
    return awaited;
  }
  for (const std::int32_t task :
       *membership(plan.groupings[plan.collectives[r.plan->collective()].grouping], resolved_.task()).group)
    if (task != resolved_.task()) awaited.tasks.push_back(task);
  awaited.collective_key = Hasher().add(options_.plan_id).add(r.plan->collective()).add(resolved_.step()).digest();
  return awaited;
}

}  // namespace ferry
