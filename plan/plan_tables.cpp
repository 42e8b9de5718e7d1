#include "plan/plan_tables.hpp"

#include <algorithm>

namespace ferry {
namespace {

/// The index of `entry` in a short table. Appends the entry if it is new.
template <class T>
std::uint32_t number_of(std::vector<T>& table, T entry) {
  const auto found = std::find(table.begin(), table.end(), entry);
  const auto number = static_cast<std::uint32_t>(found - table.begin());
  if (found == table.end()) table.push_back(std::move(entry));
  return number;
}

}  // namespace

std::uint32_t PlanTables::string(std::string_view text) {
  const auto [at, fresh] = strings_.try_emplace(std::string(text), static_cast<std::uint32_t>(plan_.strings.size()));
  if (fresh) plan_.strings.push_back(text);
  return at->second;
}

std::uint32_t PlanTables::op_name(const Graph& graph, OpId op) {
  if (last_graph_ != &graph) {
    last_graph_ = &graph;
    last_names_ = &names_[&graph];
    last_names_->resize(graph.size(), kNone);
  }
  std::uint32_t& number = (*last_names_)[op];
  if (number == kNone) {
    number = static_cast<std::uint32_t>(plan_.strings.size());
    plan_.strings.push_back(graph.op(op).name());
  }
  return number;
}

std::uint32_t PlanTables::value_name(const Graph& graph, ValueId value) {
  const OpId op = graph.producer(value);
  return graph.op(op).output(0) == value ? op_name(graph, op) : string(graph.value_name(value));
}

std::uint32_t PlanTables::line(const SourceLine& line) {
  if (!line.known()) return kNone;
  if (line == last_line_) return last_line_number_;
  const auto key = std::make_pair(string(line.file), line.line);
  const auto [at, fresh] = lines_.try_emplace(key, static_cast<std::uint32_t>(plan_.lines.size()));
  if (fresh) plan_.lines.push_back({key.first, key.second});
  last_line_ = line;
  return last_line_number_ = at->second;
}

std::uint32_t PlanTables::attrs(const Attrs* attrs) {
  if (attrs == nullptr || attrs->empty()) return kNone;
  const auto [at, fresh] = attrs_.try_emplace(attrs, static_cast<std::uint32_t>(plan_.attrs.size()));
  if (fresh) plan_.attrs.push_back(*attrs);
  return at->second;
}

std::uint32_t PlanTables::window(Window window) {
  return number_of(plan_.windows, std::move(window));
}

std::uint32_t PlanTables::schedule(const Schedule& schedule) {
  return number_of(plan_.schedules, schedule);
}

std::uint32_t PlanTables::grouping(const Grouping& grouping) {
  return number_of(plan_.groupings, grouping);
}

}  // namespace ferry
