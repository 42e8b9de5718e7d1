#include "graph/types/string_pool.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>

#include "base/error.hpp"
#include "base/hash.hpp"

namespace ferry {
namespace {

constexpr std::size_t kFewestSlots = 16;

std::uint32_t tag_of(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash >> 32U);
}

}  // namespace

StringPool::StringPool() : ends_(1) {}

std::uint32_t StringPool::intern(std::string_view text) {
  if (2 * (size() + std::size_t{1}) > slots_.size()) grow(std::max(kFewestSlots, 2 * slots_.size()));
  const std::uint64_t hash = hash64(text);
  Slot& slot = slots_[slot_of(text, hash)];
  if (slot.id != kNone) return slot.id;
  if (chars_.size() + text.size() > std::numeric_limits<std::uint32_t>::max())
    throw Error(Code::resource, "the names of a graph exceed 4 GiB");
  const std::uint32_t id = size();
  chars_.insert(chars_.end(), text.begin(), text.end());
  ends_.push_back(static_cast<std::uint32_t>(chars_.size()));
  slot = {id, tag_of(hash)};
  return id;
}

std::uint32_t StringPool::find(std::string_view text) const {
  return slots_.empty() ? kNone : slots_[slot_of(text, hash64(text))].id;
}

void StringPool::prefetch(std::string_view text) const {
  if (!slots_.empty()) __builtin_prefetch(&slots_[hash64(text) & (slots_.size() - 1)]);
}

void StringPool::reserve(std::uint32_t count) {
  ends_.reserve(count + std::size_t{1});
  const std::size_t slots = std::max(kFewestSlots, std::bit_ceil(2 * std::size_t{count}));
  if (slots > slots_.size()) grow(slots);
}

/// Returns the slot of `text`, or the free slot for it.
std::size_t StringPool::slot_of(std::string_view text, std::uint64_t hash) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].id != kNone; at = (at + 1) & mask)
    if (slots_[at].tag == tag_of(hash) && (*this)[slots_[at].id] == text) break;
  return at;
}

void StringPool::grow(std::size_t slots) {
  slots_.assign(slots, Slot());
  for (std::uint32_t id = 0; id < size(); ++id) {
    const std::uint64_t hash = hash64((*this)[id]);
    slots_[slot_of((*this)[id], hash)] = {id, tag_of(hash)};
  }
}

}  // namespace ferry
