// PlanTables: the tables of a plan that its instructions refer to by number.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/error.hpp"
#include "graph/attrs.hpp"
#include "graph/string_pool.hpp"
#include "placement/plan.hpp"

namespace ferry {

/// Adds to the tables of a plan: each call gives the number of an equal entry, or of a new one at the table's end.
/// Numbers follow the order of first use. Not thread-safe; the plan must outlive it.
class PlanTables {
 public:
  explicit PlanTables(Plan& plan) : plan_(plan) {}

  std::uint32_t string(std::string_view text);
  /// kNone for a line that is not known.
  std::uint32_t line(const SourceLine& line);
  /// By address: one entry for each set of attributes in the graph. kNone when there are none.
  std::uint32_t attrs(const Attrs* attrs);
  std::uint32_t window(Window window);
  std::uint32_t schedule(const Schedule& schedule);
  std::uint32_t grouping(const Grouping& grouping);

 private:
  Plan& plan_;
  StringPool pool_;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> lines_;
  std::unordered_map<const Attrs*, std::uint32_t> attrs_;
};

}  // namespace ferry
