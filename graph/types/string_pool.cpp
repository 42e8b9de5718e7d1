#include "graph/types/string_pool.hpp"

#include <limits>
#include <span>

#include "base/error.hpp"
#include "base/hash.hpp"

namespace ferry {

std::uint32_t StringPool::intern(std::string_view text) {
  if (2 * (size() + 1) > slots_.size()) grow();
  const std::size_t slot = slot_of(text);
  if (slots_[slot] != kNone) return slots_[slot];
  if (chars_.size() + text.size() > std::numeric_limits<std::uint32_t>::max())
    throw Error(Code::resource, "the names of a graph exceed 4 GiB");
  const std::uint32_t id = size();
  chars_.insert(chars_.end(), text.begin(), text.end());
  ends_.push_back(static_cast<std::uint32_t>(chars_.size()));
  slots_[slot] = id;
  return id;
}

std::uint32_t StringPool::find(std::string_view text) const {
  return slots_.empty() ? kNone : slots_[slot_of(text)];
}

std::size_t StringPool::slot_of(std::string_view text) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash64(text) & mask;
  while (slots_[slot] != kNone && (*this)[slots_[slot]] != text) slot = (slot + 1) & mask;
  return slot;
}

void StringPool::grow() {
  slots_.assign(slots_.empty() ? 16 : 2 * slots_.size(), kNone);
  for (std::uint32_t id = 0; id < size(); ++id) slots_[slot_of((*this)[id])] = id;
}

}  // namespace ferry
