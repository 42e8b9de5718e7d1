#include "plan/equal/facts.hpp"

#include <algorithm>
#include <bit>

namespace ferry::equal {
namespace {

std::uint64_t mixed_in(std::uint64_t hash, std::uint64_t word) {
  return std::rotl((hash ^ word) * 0x9e3779b97f4a7c15U, 29);
}

}  // namespace

FactId FactTable::number(const Fact& fact) {
  std::uint64_t hash = mixed_in(fact.value.term, fact.value.type);
  hash = mixed_in(hash, fact.window);
  hash = mixed_in(hash, static_cast<std::uint64_t>(fact.dim * 65536 + fact.blocks));
  hash = mixed_in(hash, static_cast<std::uint64_t>(fact.worker));
  for (const PendingReduction& owed : fact.owed)
    hash = mixed_in(hash, owed.grouping * 8 + static_cast<std::uint64_t>(owed.reduce));
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto at = first; at != last; ++at)
    if (all_[at->second] == fact) return at->second;
  const auto id = static_cast<FactId>(all_.size());
  all_.push_back(fact);
  by_hash_.emplace(hash, id);
  return id;
}

Pieces Memory::pieces(BufferId buffer) const {
  const std::int64_t begin = begin_of(buffer), end = begin + static_cast<std::int64_t>(role_->buffers[buffer].bytes);
  Pieces found;
  for (const HeldPiece& piece : held_[storage_of(*role_, buffer)]) {
    const std::int64_t from = std::max(begin, piece.begin), to = std::min(end, piece.end);
    if (from < to) found.push_back({from - begin, to - begin, piece.fact, piece.from - begin, piece.size});
  }
  return found;
}

bool Memory::is_known(BufferId buffer) const {
  std::int64_t next = 0;
  for (const HeldPiece& piece : pieces(buffer)) {
    if (piece.begin != next) return false;
    next = piece.end;
  }
  return next == static_cast<std::int64_t>(role_->buffers[buffer].bytes);
}

void Memory::set(BufferId buffer, const Pieces& pieces) {
  const std::int64_t begin = begin_of(buffer), end = begin + static_cast<std::int64_t>(role_->buffers[buffer].bytes);
  Pieces& held = held_[storage_of(*role_, buffer)];
  Pieces now;
  for (const HeldPiece& piece : held) {
    if (piece.begin < begin)
      now.push_back({piece.begin, std::min(piece.end, begin), piece.fact, piece.from, piece.size});
    if (piece.end > end) now.push_back({std::max(piece.begin, end), piece.end, piece.fact, piece.from, piece.size});
  }
  for (const HeldPiece& piece : pieces)
    if (piece.end <= end - begin)
      now.push_back({piece.begin + begin, piece.end + begin, piece.fact, piece.from + begin, piece.size});
  std::ranges::sort(now, {}, &HeldPiece::begin);
  held.clear();
  for (const HeldPiece& piece : now) {
    const bool continues = !held.empty() && held.back().end == piece.begin && held.back().fact == piece.fact &&
                           held.back().from == piece.from && held.back().size == piece.size;
    if (continues)
      held.back().end = piece.end;
    else
      held.push_back(piece);
  }
}

void Memory::set(BufferId buffer, FactId fact) {
  const auto bytes = static_cast<std::int64_t>(role_->buffers[buffer].bytes);
  if (bytes == 0)
    set_empty(buffer, fact);
  else
    set(buffer, Pieces{{0, bytes, fact, 0, bytes}});
}

}  // namespace ferry::equal
