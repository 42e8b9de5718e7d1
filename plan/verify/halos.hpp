// The rows of a split dim, as the verifier counts them: the rows that each member of a group has, and the rows that it
// reads. The code is separate from graph/types/halo.hpp, so that the verifier does not share a mistake there.
#pragma once

#include <algorithm>
#include <cstdint>

#include "plan/plan.hpp"

namespace ferry::verifier {

/// Rows [begin, end); empty if end <= begin.
struct Rows {
  std::int64_t begin = 0, end = 0;
  [[nodiscard]] std::int64_t count() const { return std::max<std::int64_t>(end - begin, 0); }
  [[nodiscard]] Rows in(const Rows& other) const { return {std::max(begin, other.begin), std::min(end, other.end)}; }
  [[nodiscard]] bool within(const Rows& other) const {
    return count() == 0 || (begin >= other.begin && end <= other.end);
  }
};

/// The rows that member `member` of `members` has, of a dim of `whole` rows. The first members may have one more row.
[[nodiscard]] inline Rows rows_of_part(std::int64_t whole, std::int64_t members, std::int64_t member) {
  const std::int64_t longer = std::min(member, whole % members);
  const std::int64_t begin = member * (whole / members) + longer;
  return {begin, begin + whole / members + (member < whole % members ? 1 : 0)};
}

/// The numbers p with p * step in [from, to).
[[nodiscard]] inline Rows multiples(std::int64_t from, std::int64_t to, std::int64_t step) {
  const auto up = [step](std::int64_t n) { return n > 0 ? (n - 1) / step + 1 : n / step; };
  return {up(from), up(to)};
}

/// The rows that a member reads to make its part of a value: all from the first to the last one, cut to [0, whole).
[[nodiscard]] inline Rows rows_read(const Reads& reads, std::int64_t whole, std::int64_t members, std::int64_t member) {
  Rows part = rows_of_part(reads.size, members, member);
  if (part.count() == 0) return {};
  const Covering& windows = reads.windows;
  if (windows.extent > 0)
    part = multiples(part.begin - windows.begin - windows.extent + 1, part.end - windows.begin, windows.step);
  if (part.count() == 0) return {};
  return Rows{reads.begin + part.begin * reads.step, reads.begin + (part.end - 1) * reads.step + reads.extent}.in(
      {0, whole});
}

/// The rows along `dim` that the task reads, if the buffer holds exactly these rows; null if it holds the task's part
/// of the dim.
[[nodiscard]] inline const Reads* rows_along(const Window& window, std::size_t dim) {
  for (const RowsRead& rows : window.rows)
    if (rows.dim == dim) return &rows.reads;
  return nullptr;
}

/// The rows of a halo's dim that the member reads. Other members own some of them.
[[nodiscard]] inline Rows rows_read(const Window& halo, std::int64_t members, std::int64_t member) {
  Rows all;
  for (const Reads& reads : halo.reads) {
    const Rows one = rows_read(reads, halo.sizes[halo.halo_dim], members, member);
    if (one.count() == 0) continue;
    all = all.count() == 0 ? one : Rows{std::min(all.begin, one.begin), std::max(all.end, one.end)};
  }
  return all;
}

/// The number of rows that `owner` sends to `reader`.
[[nodiscard]] inline std::int64_t rows_sent(const Window& halo, std::int64_t members, std::int64_t owner,
                                            std::int64_t reader) {
  if (owner == reader) return 0;
  return rows_of_part(halo.sizes[halo.halo_dim], members, owner).in(rows_read(halo, members, reader)).count();
}

/// The number of rows in a member's buffer: the rows that it sends (Has::given), or the rows that it receives.
[[nodiscard]] inline std::int64_t halo_buffer_rows(const Window& halo, std::int64_t members, std::int64_t member) {
  std::int64_t rows = 0;
  for (std::int64_t other = 0; other < members; ++other)
    rows += halo.has == Window::Has::given ? rows_sent(halo, members, member, other)
                                           : rows_sent(halo, members, other, member);
  return rows;
}

/// Whether all steps of the reads are above 0, and no position overflows.
[[nodiscard]] inline bool reads_are_legal(const Reads& reads) {
  constexpr std::int64_t kMost = std::int64_t{1} << 60;
  const Covering& windows = reads.windows;
  const auto small = [](std::int64_t n) { return n > -kMost && n < kMost; };
  if (!small(reads.begin) || !small(windows.begin) || !small(reads.size) || !small(reads.extent) ||
      !small(windows.extent) || reads.size < 0 || reads.extent < 1 || windows.extent < 0 || reads.step < 1 ||
      windows.step < 1)
    return false;
  const std::int64_t windows_most = reads.size + std::max(windows.begin, -windows.begin) + windows.extent;
  std::int64_t last = 0;
  return !__builtin_mul_overflow(reads.step, windows_most, &last) && small(last);
}

}  // namespace ferry::verifier
