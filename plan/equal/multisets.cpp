#include "plan/equal/multisets.hpp"

#include <algorithm>
#include <bit>
#include <span>

#include "base/hash.hpp"

namespace ferry::equal {
namespace {

/// Counts below this number are stored directly. Other counts are stored as kLarge plus an index into the table of
/// large counts.
constexpr std::uint32_t kLarge = std::uint32_t{1} << 31U;

/// A free entry of the hash table.
constexpr Multisets::Id kFree = 0xffffffffU;

/// The mask of all bits above `bit`, which has exactly one bit.
constexpr std::uint32_t bits_above(std::uint32_t bit) {
  return ~(bit | (bit - 1));
}

}  // namespace

Multisets::Id Multisets::single(std::uint32_t element) {
  return intern({element, 0, 1, 0});
}

Multisets::Id Multisets::add(Id a, Id b) {
  const std::uint64_t both = (std::uint64_t{std::min(a, b)} << 32U) + std::max(a, b);
  if (const auto known = added_.find(both); known != added_.end()) return known->second;
  const Id sum = merge(a, b);
  added_.emplace(both, sum);
  return sum;
}

std::optional<std::uint32_t> Multisets::only_element(Id id) const {
  const Node& node = nodes_[id];
  if (node.bit == 0 && node.left == 1) return node.prefix;
  return std::nullopt;
}

bool Multisets::visit(Id id, const std::function<bool(std::uint32_t, const std::string&)>& visit) const {
  const Node& node = nodes_[id];
  if (node.bit != 0) return this->visit(node.left, visit) && this->visit(node.right, visit);
  const Words count = words_of(node.left);
  if (count.size() == 1) return visit(node.prefix, std::to_string(count[0]));
  return visit(node.prefix, "2^" + std::to_string(64 * (count.size() - 1) +
                                                  static_cast<std::size_t>(std::bit_width(count.back())) - 1));
}

Multisets::Id Multisets::intern(const Node& node) {
  if (places_.size() < 2 * (nodes_.size() + 1)) {
    places_.assign(std::max<std::size_t>(2 * places_.size(), 1024), kFree);
    for (Id id = 0; id < nodes_.size(); ++id) places_[place_of(nodes_[id])] = id;
  }
  Id& place = places_[place_of(node)];
  if (place == kFree) {
    place = static_cast<Id>(nodes_.size());
    nodes_.push_back(node);
  }
  return place;
}

std::size_t Multisets::place_of(const Node& node) const {
  const std::size_t mask = places_.size() - 1;
  std::size_t place = hash64(std::as_bytes(std::span(&node, 1))) & mask;
  while (places_[place] != kFree && nodes_[places_[place]] != node) place = (place + 1) & mask;
  return place;
}

Multisets::Id Multisets::merge(Id a, Id b) {
  const Node one = nodes_[a], other = nodes_[b];
  if (one.bit < other.bit) return merge(b, a);
  if (one.bit == other.bit && one.prefix == other.prefix) {
    if (one.bit == 0) return intern({one.prefix, 0, add_counts(one.left, other.left), 0});
    const Id left = merge(one.left, other.left);
    return intern({one.prefix, one.bit, left, merge(one.right, other.right)});
  }
  if (one.bit > other.bit && (other.prefix & bits_above(one.bit)) == one.prefix) {
    if ((other.prefix & one.bit) == 0) return intern({one.prefix, one.bit, merge(one.left, b), one.right});
    return intern({one.prefix, one.bit, one.left, merge(one.right, b)});
  }
  const std::uint32_t bit = std::bit_floor(one.prefix ^ other.prefix), prefix = one.prefix & bits_above(bit);
  return (one.prefix & bit) == 0 ? intern({prefix, bit, a, b}) : intern({prefix, bit, b, a});
}

Multisets::Words Multisets::words_of(std::uint32_t count) const {
  return count < kLarge ? Words{count} : large_[count - kLarge];
}

std::uint32_t Multisets::add_counts(std::uint32_t a, std::uint32_t b) {
  if (a < kLarge && b < kLarge && a + b < kLarge) return a + b;
  Words sum = words_of(a);
  const Words more = words_of(b);
  sum.resize(std::max(sum.size(), more.size()));
  std::uint64_t carry = 0;
  for (std::size_t k = 0; k < sum.size(); ++k) {
    const std::uint64_t word = k < more.size() ? more[k] : 0, with_carry = word + carry;
    sum[k] += with_carry;
    carry = (with_carry < word || sum[k] < with_carry) ? 1 : 0;
  }
  if (carry > 0) sum.push_back(carry);
  const std::uint64_t key = hash64(std::as_bytes(std::span(sum)));
  const auto [first, last] = large_by_hash_.equal_range(key);
  for (auto at = first; at != last; ++at)
    if (large_[at->second] == sum) return kLarge + at->second;
  const auto index = static_cast<std::uint32_t>(large_.size());
  words_ += sum.size();
  large_.push_back(std::move(sum));
  large_by_hash_.emplace(key, index);
  return kLarge + index;
}

}  // namespace ferry::equal
