#include "executor/job/fit.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "base/format.hpp"
#include "graph/op/core_ops.hpp"

namespace ferry {

std::string fit_problem(const Graph& model, const std::map<std::string, Type, std::less<>>& saved,
                        const std::set<std::string, std::less<>>& unset, Extra extra) {
  std::vector<std::string> problems;
  for (OpId id : model.variables()) {
    const Op op = model.op(id);
    const auto found = saved.find(op.name());
    const Type& type = model.type(op.output(0));
    if (found == saved.end()) {
      if (!unset.contains(op.name())) problems.push_back(formatted("missing: {} {}", op.name(), as_is(type.str())));
    } else if (found->second != type) {
      problems.push_back(formatted("differs: {} is {} in the graph, {} in the file", op.name(), as_is(type.str()),
                                   as_is(found->second.str())));
    }
  }
  if (problems.empty() && extra == Extra::unused) return {};
  for (const auto& [name, type] : saved) {
    const auto op = model.find(name);
    if (!op || model.op(*op).def().role != OpRole::variable)
      problems.push_back(formatted("extra: {} {}", name, as_is(type.str())));
  }
  if (problems.empty()) return {};
  Error error(Code::file, "the saved variables do not fit the graph");
  for (std::size_t i = 0; i < std::min<std::size_t>(problems.size(), 12); ++i) error.note(problems[i]);
  if (problems.size() > 12) error.note("and {} more", problems.size() - 12);
  return error.text();
}

}  // namespace ferry
