#include "executor/fused/tiles.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>

#include "base/system/cache_lines.hpp"

namespace ferry {
namespace {

/// The minimum number of elements that a thread takes at once, before rounding up to whole tiles.
constexpr std::int64_t kGrain = 16384;
constexpr std::size_t kMostArrays = kTileKernels * (kTileInputs + 1);

/// Returns `from - bytes`, computed with integers: the result may be outside of the array, where pointer arithmetic is
/// undefined.
std::byte* moved_back(std::byte* from, std::int64_t bytes) {
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(from) - static_cast<std::uintptr_t>(bytes));
}

/// Computes the run's piece with the loop that its kernel has returned.
void compute(const ElementLoop& loop, const KernelRun& run) {
  const std::int64_t first = run.piece.first;
  std::array<const std::byte*, ElementLoop::kMostInputs> in;
  for (std::size_t i = 0; i < run.inputs.size(); ++i) in[i] = run.inputs[i].data + first * loop.step[i];
  loop.compute(run.outputs[0].data + first * loop.out_step, run.piece.last - first, loop.moves, in.data());
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
  } catch (...) {
    throw FailedMember{std::current_exception(), plan};
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
  for (TileMember& member : members) {
    FERRY_ASSERT(tile % member.row == 0, "a tile ends inside a row");
    member.tile_rows = tile / member.row;
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
  }
  for (TileStream& stream : streams) {
    const std::int64_t part = tile * stream.element_bytes / static_cast<std::int64_t>(members.size());
    stream.part = (part + kCacheLine - 1) / kCacheLine * kCacheLine;
  }
}

void TileWork::run() {
  const bool at_once = compiled && compiled->ready();
  const auto chunk = [&](std::int64_t begin, std::int64_t end) {
    if (at_once)
      compiled->run(arrays, begin, end);
    else
      run_tiles(begin, end);
  };
  parallel.for_each(elements, tile * std::max<std::int64_t>(1, std::max(kGrain, elements / 256) / tile),
                    std::cref(chunk));
}

/// Prefetches a part of the next tile while a member of this one is computed, so that memory and arithmetic overlap.
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
  std::array<std::int64_t, kMostArrays> tile_bytes;  // bytes of a tile of an array in a slot; 0 for arrays in memory
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    const TileArray& from = arrays[a];
    here[a] = from.array;
    tile_bytes[a] = 0;
    if (from.slot == TileArray::kInMemory) continue;
    // Array::data is the address that element 0 would have, so that the elements of the tile are in the slot.
    const auto size = static_cast<std::int64_t>(size_of(from.array.dtype));
    here[a].data = moved_back(slots + from.slot, begin / from.row * size);
    tile_bytes[a] = tile / from.row * size;
  }
  std::array<std::optional<KernelRun>, kTileKernels> runs;
  std::array<ElementLoop, kTileKernels> loops;
  std::span<Array> next = here;
  for (std::size_t m = 0; m < members.size(); ++m) {
    runs[m].emplace(members[m].run_on(next, parallel, step, iterations));
    runs[m]->piece.last = begin / members[m].row;
    runs[m]->loop = &loops[m];
    next = next.subspan(members[m].inputs + 1);
  }
  for (; begin < end; begin += tile) {
    for (std::size_t m = 0; m < members.size(); ++m) {
      if (begin + tile < elements) fetch_ahead(begin + tile, m);
      Piece& piece = runs[m]->piece;
      piece.first = piece.last;
      piece.last = begin + tile < end ? piece.first + members[m].tile_rows : end / members[m].row;
      if (loops[m].compute == nullptr) members[m].compute(*runs[m]);
      if (loops[m].compute != nullptr) compute(loops[m], *runs[m]);
    }
    for (std::size_t a = 0; a < arrays.size(); ++a) here[a].data = moved_back(here[a].data, tile_bytes[a]);
  }
}

}  // namespace ferry
