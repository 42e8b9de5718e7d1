#include "executor/run/waiting.hpp"

#include <string>
#include <vector>

#include "executor/run/messages.hpp"

namespace ferry {

Error Waiting::verdict(const Resolved& r, Duration waited) const {
  std::vector<std::string> others;
  for (const Link* link : ledger_.pending())
    if (link != r.link) others.push_back(pending_text(resolved_.plan(), *link->since, resolved_.task()));
  return stalled_error(resolved_.plan(), *r.plan, resolved_.task(), waited, others);
}

}  // namespace ferry
