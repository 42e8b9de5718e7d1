#include "placement/class/thread_clocks.hpp"

#include <algorithm>

namespace ferry {

ThreadClocks::ThreadClocks(std::uint32_t threads)
    : threads_(threads), changes_(threads), known_(threads), done_(threads) {
  for (auto& changes : changes_) changes.push_back({0, 0});
}

ThreadClocks::ThreadClocks(const PlanClass& plan) : ThreadClocks(plan.threads) {
  const Range step = plan.regions[1].instructions;
  for (std::uint32_t i = step.begin; i < step.begin + step.count; ++i) {
    const Instruction& instruction = plan.instructions[i];
    add(instruction.thread, std::span(plan.waits).subspan(instruction.waits.begin, instruction.waits.count));
  }
}

void ThreadClocks::add(std::uint32_t thread, std::span<const Wait> waits) {
  const std::uint32_t count = ++done_[thread];
  counts_.push_back(count);
  threads_of_.push_back(static_cast<std::uint16_t>(thread));
  if (waits.empty()) return;
  const auto first = static_cast<std::uint32_t>(known_.size());
  known_.resize(known_.size() + threads_);
  std::copy_n(known_.data() + changes_[thread].back().first, threads_, known_.data() + first);
  for (const Wait& wait : waits) {
    const std::uint32_t* theirs = before(wait.thread, wait.count);
    for (std::uint32_t t = 0; t < threads_; ++t)
      known_[first + t] = std::max(known_[first + t], t == wait.thread ? wait.count : theirs[t]);
  }
  changes_[thread].push_back({count, first});
}

std::vector<Wait> ThreadClocks::needed(std::uint32_t thread, std::vector<Wait> waits) const {
  const std::uint32_t* mine = known_.data() + changes_[thread].back().first;
  std::erase_if(waits, [&](const Wait& wait) { return wait.thread == thread || wait.count <= mine[wait.thread]; });
  std::sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) {
    return a.thread != b.thread ? a.thread < b.thread : a.count > b.count;
  });
  const auto same_thread = [](const Wait& a, const Wait& b) { return a.thread == b.thread; };
  waits.erase(std::unique(waits.begin(), waits.end(), same_thread), waits.end());
  if (waits.size() < 2) return waits;
  const std::vector<Wait> all = waits;
  std::erase_if(waits, [&](const Wait& wait) {
    return std::any_of(all.begin(), all.end(), [&](const Wait& other) {
      return other.thread != wait.thread && known(other.thread, other.count, wait.thread) >= wait.count;
    });
  });
  return waits;
}

std::uint32_t ThreadClocks::known(std::uint32_t thread, std::uint32_t count, std::uint32_t other) const {
  return thread == other ? count - 1 : before(thread, count)[other];
}

/// The last change at or before `count`.
const std::uint32_t* ThreadClocks::before(std::uint32_t thread, std::uint32_t count) const {
  const auto& changes = changes_[thread];
  auto at = std::upper_bound(changes.begin(), changes.end(), count,
                             [](std::uint32_t c, const Change& change) { return c < change.count; });
  return known_.data() + std::prev(at)->first;
}

}  // namespace ferry
