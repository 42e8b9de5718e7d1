// FoldTerms: the sums that members of a collective have, as symbols. Two members have the same bits if their terms have
// the same number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace ferry::verifier {

/// Stores each term once, under a number. A leaf is the contribution of a member to a part. Its number depends only on
/// (member - part) mod members, so that terms of different parts can be compared. If one player plays for all members,
/// the contribution of a fixed member has a number of its own.
class FoldTerms {
 public:
  static constexpr std::uint32_t kNothing = 0;

  FoldTerms(int members, int contributors)
      : members_(static_cast<std::uint32_t>(members)), contributors_(static_cast<std::uint32_t>(contributors)) {}

  [[nodiscard]] std::uint32_t leaf(int member, int part) const {
    return 1 + static_cast<std::uint32_t>(((member - part) % signed_members() + signed_members()) % signed_members());
  }
  [[nodiscard]] std::uint32_t fixed_leaf(int member) const { return 1 + members_ + static_cast<std::uint32_t>(member); }
  std::uint32_t fold(std::uint32_t left, std::uint32_t right) {
    const std::uint64_t key = std::uint64_t{left} << 32U | right;
    const auto fresh_id = 1 + 2 * members_ + static_cast<std::uint32_t>(pairs_.size());
    const auto [at, fresh] = numbers_.try_emplace(key, fresh_id);
    if (fresh) pairs_.push_back(key);
    return at->second;
  }
  /// Whether the term folds the contribution of each member exactly once.
  [[nodiscard]] bool is_whole_fold(std::uint32_t term) {
    const auto [at, fresh] = whole_.try_emplace(term, false);
    if (!fresh) return at->second;
    std::vector<std::uint32_t> leaves, open{term};
    while (!open.empty() && leaves.size() <= contributors_) {
      const std::uint32_t next = open.back();
      open.pop_back();
      if (next == kNothing) return false;
      if (next <= 2 * members_) {
        leaves.push_back(next);
        continue;
      }
      const std::uint64_t pair = pairs_[next - 1 - 2 * members_];
      open.push_back(static_cast<std::uint32_t>(pair));
      open.push_back(static_cast<std::uint32_t>(pair >> 32U));
    }
    std::sort(leaves.begin(), leaves.end());
    const bool distinct = std::adjacent_find(leaves.begin(), leaves.end()) == leaves.end();
    const bool one_kind = leaves.empty() || leaves.back() <= members_ || leaves.front() > members_;
    return whole_[term] = open.empty() && distinct && one_kind && leaves.size() == contributors_;
  }

 private:
  [[nodiscard]] int signed_members() const { return static_cast<int>(members_); }

  std::uint32_t members_, contributors_;
  std::unordered_map<std::uint64_t, std::uint32_t> numbers_;
  std::vector<std::uint64_t> pairs_;
  std::unordered_map<std::uint32_t, bool> whole_;
};

}  // namespace ferry::verifier
