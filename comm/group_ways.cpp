#include "comm/group_ways.hpp"

#include <algorithm>
#include <array>

#include "base/system/cache_lines.hpp"

namespace ferry {

bool Tickets::done(Transport& transport) {
  for (std::size_t i = 0; i < tickets_.size();) {
    if (transport.done(tickets_[i])) {
      tickets_[i] = tickets_.back();
      tickets_.pop_back();
    } else {
      ++i;
    }
  }
  return tickets_.empty();
}

void TiledFold::run(std::size_t first, std::size_t last) const {
  constexpr std::size_t kTile = 4096;  // bytes; fits the first-level cache
  alignas(kCacheLine) std::array<std::byte, kTile> tile;
  const Target own = targets[0];
  const std::size_t end = contributions.size();
  for (std::size_t at = first; at < last; at += kTile) {
    const std::size_t bytes = std::min(kTile, last - at);
    std::byte* const sum = own.stream ? tile.data() : own.at + at;
    const std::byte* left = contributions[0] + at;
    for (std::size_t i = 1; i < end; ++i) {  // only the last fold writes the output, which may be a contribution
      std::byte* const so_far = i + 1 < end ? tile.data() : sum;
      fold(so_far, left, contributions[i] + at, static_cast<std::int64_t>(bytes / element));
      left = so_far;
    }
    for (std::size_t t = own.stream ? 0 : 1; t < targets.size(); ++t)
      copy_for_reader(targets[t].at + at, sum, bytes, targets[t].stream);
  }
}

}  // namespace ferry
