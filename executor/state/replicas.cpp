#include "executor/state/replicas.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/blob.hpp"
#include "base/format.hpp"
#include "base/hash.hpp"
#include "comm/failure.hpp"

namespace ferry {
namespace {

/// The tasks that have one part, grouped by the hash of the part's bytes.
using TasksByHash = std::vector<std::pair<std::int64_t, std::vector<int>>>;

void add_task(TasksByHash& groups, std::int64_t hash, int task) {
  const auto found = std::ranges::find(groups, hash, &TasksByHash::value_type::first);
  (found == groups.end() ? groups.emplace_back(hash, std::vector<int>()) : *found).second.push_back(task);
}

std::string difference_text(const std::string& name, TasksByHash groups, std::int64_t step) {
  std::ranges::stable_sort(groups, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  std::vector<int> others;
  for (auto group = groups.begin() + 1; group != groups.end(); ++group)
    others.insert(others.end(), group->second.begin(), group->second.end());
  std::ranges::sort(others);
  return formatted(
      "the variable '{}' has other bytes on {} than on {} after step {} (counted from 1), though they have the same "
      "part of it",
      name, as_is(tasks_text(others)), as_is(tasks_text(groups[0].second)), step);
}

/// The error for the first variable with different bytes on different tasks; nothing if there is none. `hashes`: the
/// hashes of each task, in the order of `layouts`.
std::optional<Error> difference(const VariableLayouts& layouts, const std::vector<std::string>& hashes,
                                std::int64_t step, const std::function<SourceLine(const std::string& name)>& line_of) {
  std::vector<BlobReader> readers(hashes.begin(), hashes.end());
  for (const auto& [name, variable] : layouts) {
    const VariableLayout& layout = *variable.second;
    std::map<std::uint32_t, TasksByHash> parts;
    for (std::size_t task = 0; task < readers.size(); ++task)
      if (layout.is_replica(task) && !hashes[task].empty())  // empty: the task is lost
        add_task(parts[layout.part_number(task)], readers[task].number(), static_cast<int>(task));
    for (const auto& [number, groups] : parts)
      if (groups.size() > 1)
        return Error(Code::numeric, difference_text(name, groups, step))
            .at(line_of(name))
            .hint(
                "look for an op with a result that depends on the task, such as a custom op; --check-replicas 1 finds "
                "the first such step");
  }
  return std::nullopt;
}

}  // namespace

void require_same_replicas(VariableStore& variables, std::int64_t step, Transport& transport, const Deadline& deadline,
                           const std::function<SourceLine(const std::string& name)>& line_of) {
  BlobWriter mine;
  for (const VariableStore::Part& part : variables.replicas()) mine.add(hash64(part.bytes));
  const std::vector<std::string> all = transport.exchange(mine.take(), deadline);
  std::optional<Error> found = difference(variables.layouts(), all, step, line_of);
  if (!found) return;
  if (transport.task() == 0) throw *std::move(found);
  static_cast<void>(transport.exchange("", deadline));  // waits until task 0 has ended the job
}

}  // namespace ferry
