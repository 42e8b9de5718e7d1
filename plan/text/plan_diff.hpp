// PlanDiff: what changed from one plan to another, by value and user's line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// A number in the old plan and in the new one.
struct Change {
  std::int64_t before = 0, after = 0;
  [[nodiscard]] bool differs() const { return before != after; }
};

/// What changed. Numbers belong to one step, counted like message_costs(). Lists have only differences: first in the
/// new plan's order, then the entries that only the old plan has.
struct PlanDiff {
  struct Message {
    std::string name;  ///< of the value, or of the first of several with this line
    SourceLine line;
    Change messages, bytes;
  };
  struct Op {
    std::string name;
    SourceLine line;
    std::optional<std::string> before, after;  ///< devices and layout; none: not in that plan
  };
  struct Memory {
    std::int32_t task = 0;
    Change bytes;  ///< of the task's arenas, on all of its devices; 0: the plan has no such task
  };

  Change tasks, messages, bytes, copies;
  std::vector<Message> by_line;
  std::vector<Op> ops;
  std::vector<Memory> memory;
  std::size_t ops_in_both = 0;

  [[nodiscard]] bool empty() const;
  /// In lines; "no difference" if there is none.
  [[nodiscard]] std::string text() const;
};

/// Both plans have passed the verifier. Ops are the same if they have the same name. Thread-safe.
///
///     diff(read_plan(local_files(), "old.plan"), plan).text();
[[nodiscard]] PlanDiff diff(const Plan& before, const Plan& after);

}  // namespace ferry
#pragma GCC visibility pop
