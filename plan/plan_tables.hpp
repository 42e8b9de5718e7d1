// PlanTables: adds to the tables of a plan. Instructions refer to their entries by number.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "graph/op/attrs.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// Each call returns the number of an equal entry if there is one, else appends a new one. So numbers follow the order
/// of first use. Not thread-safe; the plan must outlive it.
class PlanTables {
 public:
  explicit PlanTables(Plan& plan) : plan_(plan) {}

  [[nodiscard]] Plan& plan() { return plan_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }

  std::uint32_t string(std::string_view text);
  [[nodiscard]] std::string_view text(std::uint32_t string) const { return plan_.strings[string]; }
  /// The string with the op's name, or with the value's, which for an op's first output is the op's. Equal names of ops
  /// of different graphs have different numbers.
  std::uint32_t op_name(const Graph& graph, OpId op);
  std::uint32_t value_name(const Graph& graph, ValueId value);
  /// kNone if the line is not known.
  std::uint32_t line(const SourceLine& line);
  /// Compared by address: one entry for each set of attributes in the graph. kNone when there are none.
  std::uint32_t attrs(const Attrs* attrs);
  std::uint32_t window(Window window);
  std::uint32_t schedule(const Schedule& schedule);
  std::uint32_t grouping(const Grouping& grouping);

 private:
  Plan& plan_;
  std::unordered_map<std::string, std::uint32_t> strings_;  // except names of ops
  std::unordered_map<const Graph*, std::vector<std::uint32_t>> names_;
  std::vector<std::uint32_t>* last_names_ = nullptr;
  const Graph* last_graph_ = nullptr;
  SourceLine last_line_;
  std::uint32_t last_line_number_ = kNone;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> lines_;
  std::unordered_map<const Attrs*, std::uint32_t> attrs_;
};

}  // namespace ferry
