// PlanTables: adds entries to the tables of a plan. Instructions refer to the entries by index.
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

/// Each call returns the index of an equal entry, or appends a new entry. So indices follow the order of first use. Not
/// thread-safe; the plan must outlive it.
class PlanTables {
 public:
  explicit PlanTables(Plan& plan) : plan_(plan) {}

  [[nodiscard]] Plan& plan() { return plan_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }

  std::uint32_t string(std::string_view text);
  [[nodiscard]] std::string_view text(std::uint32_t string) const { return plan_.strings[string]; }
  /// The string with the name of the op, or of the value. The name of an op's first output is the op's name. Equal
  /// names of ops in different graphs have different indices.
  std::uint32_t op_name(const Graph& graph, OpId op);
  std::uint32_t value_name(const Graph& graph, ValueId value);
  /// Returns kNone if the line is unknown.
  std::uint32_t line(const SourceLine& line);
  /// Attributes are compared by address: each Attrs object of the graph gets one entry. Returns kNone if there are
  /// none.
  std::uint32_t attrs(const Attrs* attrs);
  std::uint32_t window(Window window);
  std::uint32_t schedule(const Schedule& schedule);
  std::uint32_t grouping(const Grouping& grouping);

 private:
  Plan& plan_;
  std::unordered_map<std::string, std::uint32_t> strings_;  // by text, without names of ops
  std::unordered_map<const Graph*, std::vector<std::uint32_t>> names_;
  std::vector<std::uint32_t>* last_names_ = nullptr;
  const Graph* last_graph_ = nullptr;
  SourceLine last_line_;
  std::uint32_t last_line_number_ = kNone;
  std::map<std::pair<std::uint32_t, std::int32_t>, std::uint32_t> lines_;
  std::unordered_map<const Attrs*, std::uint32_t> attrs_;
};

}  // namespace ferry
