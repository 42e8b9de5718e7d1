#include "placement/class/strand_clocks.hpp"

#include <algorithm>

namespace ferry {

StrandClocks::StrandClocks(std::uint32_t strands, std::uint32_t first_queue)
    : strands_(strands), first_queue_(first_queue), changes_(strands), known_(strands), done_(strands) {
  for (auto& changes : changes_) changes.push_back({0, 0});
}

StrandClocks::StrandClocks(const PlanClass& plan) : StrandClocks(plan.strands(), plan.threads) {
  const Range step = plan.regions[1].instructions;
  for (const std::uint32_t i : step) {
    const Instruction& instruction = plan.instructions[i];
    add(instruction.strand, plan.waits_of(instruction));
  }
}

void StrandClocks::add(StrandId strand, std::span<const Wait> waits) {
  const bool learns = !waits.empty() || strand >= first_queue_;
  std::vector<std::uint32_t> known;
  if (learns) known = clock_of_next(strand);
  const std::uint32_t count = ++done_[strand];
  counts_.push_back(count);
  strands_of_.push_back(static_cast<std::uint16_t>(strand));
  for (const Wait& wait : waits) {
    const std::uint32_t* theirs = before(wait.strand, wait.count);
    for (std::uint32_t s = 0; s < strands_; ++s)
      known[s] = std::max(known[s], s == wait.strand ? wait.count : theirs[s]);
  }
  if (!learns || std::ranges::equal(known, latest(strand))) return;
  changes_[strand].push_back({count, static_cast<std::uint32_t>(known_.size())});
  known_.insert(known_.end(), known.begin(), known.end());
}

std::vector<std::uint32_t> StrandClocks::clock_of_next(StrandId strand) const {
  const auto mine = latest(strand);
  std::vector<std::uint32_t> known(mine.begin(), mine.end());
  if (strand < first_queue_) return known;
  const auto giver = latest(0);
  for (std::uint32_t s = 0; s < strands_; ++s) known[s] = std::max(known[s], s == 0 ? done_[0] : giver[s]);
  return known;
}

std::vector<Wait> StrandClocks::needed(StrandId strand, std::vector<Wait> waits) const {
  const std::vector<std::uint32_t> mine = clock_of_next(strand);
  std::erase_if(waits, [&](const Wait& wait) { return wait.strand == strand || wait.count <= mine[wait.strand]; });
  std::sort(waits.begin(), waits.end(), [](const Wait& a, const Wait& b) {
    return a.strand != b.strand ? a.strand < b.strand : a.count > b.count;
  });
  const auto same_strand = [](const Wait& a, const Wait& b) { return a.strand == b.strand; };
  waits.erase(std::unique(waits.begin(), waits.end(), same_strand), waits.end());
  if (waits.size() < 2) return waits;
  const std::vector<Wait> all = waits;
  std::erase_if(waits, [&](const Wait& wait) {
    return std::any_of(all.begin(), all.end(), [&](const Wait& other) {
      return other.strand != wait.strand && known(other.strand, other.count, wait.strand) >= wait.count;
    });
  });
  return waits;
}

std::uint32_t StrandClocks::known(StrandId strand, std::uint32_t count, std::uint32_t other) const {
  return strand == other ? count - 1 : before(strand, count)[other];
}

/// The clock of the strand when its instruction `count` begins: its last change at or before `count`.
const std::uint32_t* StrandClocks::before(StrandId strand, std::uint32_t count) const {
  const auto& changes = changes_[strand];
  auto at = std::upper_bound(changes.begin(), changes.end(), count,
                             [](std::uint32_t c, const Change& change) { return c < change.count; });
  return known_.data() + std::prev(at)->first;
}

}  // namespace ferry
