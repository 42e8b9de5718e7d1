// PlanDiff: the differences between two plans, by value and user's line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "plan/plan.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// A number in the old plan and in the new plan.
struct Change {
  std::int64_t before = 0, after = 0;
  [[nodiscard]] bool differs() const { return before != after; }
};

/// The differences between two plans. Numbers are per step, counted like message_costs(). Lists have only differences:
/// first in the new plan's order, then the entries that only the old plan has.
struct PlanDiff {
  struct Message {
    std::string name;  ///< name of the value, or of the first value with this line
    SourceLine line;
    Change messages, bytes;
  };
  struct Op {
    std::string name;
    SourceLine line;
    std::optional<std::string> before, after;  ///< devices and layout; none: the op is not in that plan
  };
  struct Memory {
    std::int32_t task = 0;
    Change bytes;  ///< bytes of the task's arenas on all of its devices; 0: the plan has no such task
  };

  Change tasks, messages, bytes, copies;
  std::vector<Message> by_line;
  std::vector<Op> ops;
  std::vector<Memory> memory;
  std::size_t ops_in_both = 0;

  [[nodiscard]] bool empty() const;
  /// The differences as lines of text; "no difference" if there are none.
  [[nodiscard]] std::string text() const;
};

/// Compares two plans that have passed the verifier. Ops with the same name are the same op. Thread-safe.
///
///     diff(read_plan(local_files(), "old.plan"), plan).text();
[[nodiscard]] PlanDiff diff(const Plan& before, const Plan& after);

}  // namespace ferry
#pragma GCC visibility pop
