#include "executor/tiles.hpp"

#include <algorithm>
#include <array>
#include <functional>

namespace ferry {
namespace {

/// Elements that a thread takes at once.
constexpr std::int64_t kGrain = 16384;
constexpr std::int64_t kCacheLine = 64;
constexpr std::size_t kMostArrays = kTileKernels * (kTileInputs + 1);

}  // namespace

std::span<Array> TileMember::run(std::span<Array> arrays, const Piece& piece, Parallel& parallel, std::int64_t step,
                                 std::span<const std::int64_t> iterations) const {
  KernelRun run{.inputs = arrays.first(inputs),
                .outputs = arrays.subspan(inputs, 1),
                .state = state,
                .scratch = {},
                .parallel = parallel,
                .stream = stream,
                .step = step,
                .iterations = iterations,
                .piece = piece};
  try {
    kernel(run);
  } catch (const Error& error) {
    throw FailedMember{error, plan};
  }
  return arrays.subspan(inputs + 1);
}

void TileWork::place(std::uint32_t member, std::byte* where) {
  std::size_t output = members[member].inputs;
  for (std::uint32_t m = 0; m < member; ++m) output += members[m].inputs + 1;
  members[member].stream = where != nullptr;
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
        streams.push_back({a.home, static_cast<std::int64_t>(size_of(a.array.dtype)), written});
    }
}

void TileWork::run() const {
  const auto chunk = [this](std::int64_t begin, std::int64_t end) { run_tiles(begin, end); };
  parallel.for_each(elements, tile * std::max<std::int64_t>(1, std::max(kGrain, elements / 256) / tile),
                    std::cref(chunk));
}

/// A part of the next tile, while the members of this one are computed: memory and arithmetic overlap.
void TileWork::fetch_ahead(std::int64_t begin, std::size_t member) const {
  const auto count = static_cast<std::int64_t>(members.size()), part = static_cast<std::int64_t>(member);
  for (const TileStream& stream : streams) {
    const std::byte* const first = stream.data + begin * stream.element_bytes;
    const std::int64_t bytes = tile * stream.element_bytes;
    const std::byte* const last = first + bytes * (part + 1) / count;
    for (const std::byte* at = first + bytes * part / count; at < last; at += kCacheLine) {
      if (stream.written)
        __builtin_prefetch(at, 1, 2);
      else
        __builtin_prefetch(at, 0, 2);
    }
  }
}

void TileWork::run_tiles(std::int64_t begin, std::int64_t end) const {
  alignas(kBufferAlign) std::byte slots[kTileBytes];
  std::array<Array, kMostArrays> here;
  for (std::size_t a = 0; a < arrays.size(); ++a) here[a] = arrays[a].array;
  for (; begin < end; begin += tile) {
    // An array begins where its element 0 would lie, so that the tile's elements fall into the slot.
    for (std::size_t a = 0; a < arrays.size(); ++a)
      if (arrays[a].slot != TileArray::kInMemory)
        here[a].data = reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(slots) + arrays[a].slot -
                                                    static_cast<std::uintptr_t>(begin) * size_of(here[a].dtype));
    std::span<Array> next = here;
    for (const TileMember& member : members) {
      if (begin + tile < elements) fetch_ahead(begin + tile, static_cast<std::size_t>(&member - members.data()));
      next = member.run(next, {begin, std::min(end, begin + tile)}, parallel, step, iterations);
    }
  }
}

}  // namespace ferry
