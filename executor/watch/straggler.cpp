#include "executor/watch/straggler.hpp"

#include <cmath>

namespace ferry {
namespace {

std::string percent(double share) {
  return std::to_string(std::lround(100 * share)) + " %";
}

std::string_view hint(Straggler::Cause cause) {
  switch (cause) {
    case Straggler::Cause::slow:
      return "look at that host's clock rate, temperature, and other users of its memory; or give it less";
    case Straggler::Cause::starved:
      return "see what else runs on that host (top), and what limits the task (taskset, cgroup)";
    case Straggler::Cause::uneven:
      return "ferry plan shows what each task does";
  }
  return {};
}

}  // namespace

std::string_view name_of(Straggler::Cause cause) {
  switch (cause) {
    case Straggler::Cause::slow:
      return "slow";
    case Straggler::Cause::starved:
      return "starved";
    case Straggler::Cause::uneven:
      return "uneven";
  }
  return {};
}

std::string text_of(const Straggler& straggler, std::string_view who) {
  std::string text(who);
  if (straggler.cause == Straggler::Cause::uneven)
    text += " has " + percent(straggler.slowdown) + " more to compute than the tasks have on average";
  else
    text += " takes " + percent(straggler.slowdown) + " longer than the others in " + straggler.op;
  if (straggler.cause == Straggler::Cause::starved)
    text += ", where it gets " + percent(straggler.core) + " of its core";
  return text + "; without that, steps would be " + percent(straggler.cost) +
         " shorter\n  try: " + std::string(hint(straggler.cause));
}

}  // namespace ferry
