#include "placement/messages/host_patterns.hpp"

#include <map>

namespace ferry {

HostPatterns::HostPatterns(const Program& program) : program_(program) {
  std::unordered_map<std::int32_t, std::uint32_t> numbers;
  const std::vector<TaskInfo>& tasks = program.topology->tasks;
  host_of_.reserve(tasks.size());
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    const bool as_before = t > 0 && tasks[t].host == tasks[t - 1].host;
    const auto fresh = static_cast<std::uint32_t>(numbers.size());
    host_of_.push_back(as_before ? host_of_.back() : numbers.try_emplace(tasks[t].host, fresh).first->second);
  }
  seen_.resize(numbers.size());
}

const HostPatterns::OfGrouping& HostPatterns::of(std::uint32_t grouping) {
  const auto [at, fresh] = known_.try_emplace(grouping);
  OfGrouping& found = at->second;
  if (!fresh) return found;
  std::map<std::vector<std::int32_t>, std::uint32_t> numbers;
  std::vector<std::uint32_t*> number_of;  // for each group: its pattern's number in `numbers`
  const std::pair<const std::vector<std::int32_t>, std::uint32_t>* last = nullptr;
  for (const auto& group : program_.groupings[grouping]) {
    const std::vector<std::int32_t>& pattern = pattern_of(group);
    if (last != nullptr && last->first == pattern) {
      number_of.push_back(number_of.back());
      continue;
    }
    auto& known = *numbers.try_emplace(pattern, 0).first;
    number_of.push_back(&known.second);
    last = &known;
  }
  for (auto& [pattern, number] : numbers) {
    number = static_cast<std::uint32_t>(found.patterns.size());
    found.patterns.push_back(pattern);
  }
  for (const std::uint32_t* number : number_of) found.of_group.push_back(*number);
  return found;
}

const std::vector<std::int32_t>& HostPatterns::pattern_of(const std::vector<std::int32_t>& group) {
  ++groups_;
  std::int32_t hosts = 0;
  pattern_.clear();
  for (std::int32_t task : group) {
    Seen& seen = seen_[host_of_[task]];
    if (seen.group != groups_) seen = {groups_, hosts++};
    pattern_.push_back(seen.number);
  }
  return pattern_;
}

}  // namespace ferry
