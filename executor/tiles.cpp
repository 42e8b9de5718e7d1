#include "executor/tiles.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "base/fetch.hpp"

namespace ferry {
namespace {

/// Elements that a thread takes at once.
constexpr std::int64_t kGrain = 16384;
constexpr std::size_t kMostArrays = kTileKernels * (kTileInputs + 1);

/// The row of an element; most arrays have no rows, and dividing takes as long as some of the elements.
std::int64_t row_at(std::int64_t element, std::int64_t row) {
  return row == 1 ? element : element / row;
}

}  // namespace

KernelRun TileMember::run_on(std::span<Array> arrays, Parallel& parallel, const std::int64_t& step,
                             std::span<const std::int64_t> iterations) const {
  return {.inputs = arrays.first(inputs),
          .outputs = arrays.subspan(inputs, 1),
          .state = state,
          .scratch = {},
          .parallel = parallel,
          .stream = stream,
          .step = step,
          .iterations = iterations};
}

void TileMember::compute(KernelRun& run) const {
  try {
    kernel(run);
  } catch (const Error& error) {
    throw FailedMember{error, plan};
  }
}

void TileWork::place(std::uint32_t member, std::byte* where, bool stream) {
  std::size_t output = members[member].inputs;
  for (std::uint32_t m = 0; m < member; ++m) output += members[m].inputs + 1;
  members[member].stream = stream;
  arrays[output].array.data = where != nullptr ? where : arrays[output].home;
}

void TileWork::finish() {
  std::size_t at = 0;
  for (const TileMember& member : members)
    for (std::uint32_t k = 0; k <= member.inputs; ++k) {
      const TileArray& a = arrays[at++];
      if (a.slot != TileArray::kInMemory || a.array.count() != elements) continue;
      const auto same = [&](const TileStream& s) { return s.data == a.home; };
      const bool written = k == member.inputs;
      if (const auto found = std::find_if(streams.begin(), streams.end(), same); found != streams.end())
        found->written = found->written || written;
      else
        streams.push_back({a.home, static_cast<std::int64_t>(size_of(a.array.dtype)), 0, written});
    }
  for (TileStream& stream : streams) {
    const std::int64_t part = tile * stream.element_bytes / static_cast<std::int64_t>(members.size());
    stream.part = (part + kCacheLine - 1) / kCacheLine * kCacheLine;
  }
}

void TileWork::run() const {
  const auto chunk = [this](std::int64_t begin, std::int64_t end) { run_tiles(begin, end); };
  parallel.for_each(elements, tile * std::max<std::int64_t>(1, std::max(kGrain, elements / 256) / tile),
                    std::cref(chunk));
}

/// A part of the next tile, while the members of this one are computed: memory and arithmetic overlap.
void TileWork::fetch_ahead(std::int64_t begin, std::size_t member) const {
  for (const TileStream& stream : streams) {
    const std::byte* const first =
        stream.data + begin * stream.element_bytes + static_cast<std::int64_t>(member) * stream.part;
    const std::byte* const last = first + stream.part;
    for (const std::byte* at = first; at < last; at += kCacheLine) {
      if (stream.written)
        fetch_to_write(at);
      else
        fetch_to_read(at);
    }
  }
}

void TileWork::run_tiles(std::int64_t begin, std::int64_t end) const {
  alignas(kBufferAlign) std::byte slots[kSlotBytes];
  std::array<Array, kMostArrays> here;
  for (std::size_t a = 0; a < arrays.size(); ++a) here[a] = arrays[a].array;
  std::array<std::optional<KernelRun>, kTileKernels> runs;
  std::span<Array> next = here;
  for (std::size_t m = 0; m < members.size(); ++m) {
    runs[m].emplace(members[m].run_on(next, parallel, step, iterations));
    next = next.subspan(members[m].inputs + 1);
  }
  for (; begin < end; begin += tile) {
    // An array begins where its element 0 would lie, so that the tile's elements fall into the slot.
    for (std::size_t a = 0; a < arrays.size(); ++a)
      if (arrays[a].slot != TileArray::kInMemory)
        here[a].data = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(slots) + arrays[a].slot -
                                                    static_cast<std::uintptr_t>(row_at(begin, arrays[a].row)) *
                                                        size_of(here[a].dtype));
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (begin + tile < elements) fetch_ahead(begin + tile, m);
      Piece& piece = runs[m]->piece;
      piece.first = row_at(begin, members[m].row);
      piece.last = row_at(std::min(end, begin + tile), members[m].row);
      members[m].compute(*runs[m]);
    }
  }
}

}  // namespace ferry
