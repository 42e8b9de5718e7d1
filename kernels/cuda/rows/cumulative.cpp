// Running sums and products along a dim. The dim is cut into chunks, one for each block. The running sums of the
// chunks' totals are computed first, in the same way; they are the values with which the chunks begin.
#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/cuda/rows/tiling.hpp"
#include "kernels/shared/state.hpp"
#include "kernels/widening.hpp"

namespace ferry::cuda {
namespace {

constexpr int kEach = 8;  // number of consecutive elements that a thread sums up

/// A run along the middle dim of [outer, along, inner], in chunks of kEach elements for each lane.
struct Level {
  Tiling tiling;
  bool exclusive, reverse;

  [[nodiscard]] constexpr std::int64_t chunk() const { return std::int64_t{tiling.lanes()} * kEach; }
  [[nodiscard]] constexpr std::int64_t chunks() const { return (tiling.along + chunk() - 1) / chunk(); }
  [[nodiscard]] std::int64_t blocks() const { return tiling.tiles() * chunks(); }
  [[nodiscard]] std::int64_t count() const { return tiling.outer * tiling.along * tiling.inner; }
};

/// The part of a chunk on which a thread works.
struct Part {
  FERRY_DEVICE Part(const Level& level, std::int64_t item, int thread)
      : chunks(level.chunks()), spot(level.tiling.spot(item / chunks, thread)), chunk(item % chunks) {}
  /// The offset of element i of the chunk; -1 if the chunk has no such element.
  [[nodiscard]] FERRY_DEVICE std::int64_t place(const Level& level, std::int64_t i) const {
    const Tiling& tiling = level.tiling;
    const std::int64_t at = chunk * level.chunk() + i;
    if (!spot.inside || at >= tiling.along) return -1;
    return tiling.first(spot) + (level.reverse ? tiling.along - 1 - at : at) * tiling.inner;
  }
  /// The number of this line's chunk among all chunks.
  [[nodiscard]] FERRY_DEVICE std::int64_t number(const Level& level) const {
    return (spot.outer * chunks + chunk) * level.tiling.inner + spot.inner;
  }

  std::int64_t chunks;
  Spot spot;
  std::int64_t chunk;
};

/// Joins the elements of each chunk: totals[chunk].
template <class Join, class T>
struct TotalChunks {
  using C = typename Computed<T>::type;
  struct Shared {
    C room[kThreads];
  };

  FERRY_DEVICE void operator()(std::int64_t item, const Block& block, Shared& shared) const {
    const Part part(level, item, block.thread());
    const Tiling& tiling = level.tiling;
    C total = start;
    for (int k = 0; k < kEach; ++k) {
      const std::int64_t place = part.place(level, k * tiling.lanes() + part.spot.lane);
      if (place >= 0) total = Join()(total, load(in[place]));
    }
    total = join_lanes(block, tiling, part.spot.lane, total, shared.room, Join());
    if (part.spot.inside && part.spot.lane == 0) totals[part.number(level)] = total;
  }

  Level level;
  C start;
  const T* in;
  C* totals;
};

/// Computes the results of each chunk. A chunk begins with before[chunk], or with `start` if `before` is null.
template <class Join, class T>
struct RunChunks {
  using C = typename Computed<T>::type;
  static constexpr int kBanks = 32;
  static constexpr int kElements = kThreads * kEach;
  struct Shared {
    C room[kThreads];
    C chunk[kElements + kElements / kBanks];
  };

  FERRY_DEVICE void operator()(std::int64_t item, const Block& block, Shared& shared) const {
    const Part part(level, item, block.thread());
    const Tiling& tiling = level.tiling;
    const int lane = part.spot.lane;
    for (int k = 0; k < kEach; ++k) {  // neighbouring threads read neighbouring elements
      const int i = k * tiling.lanes() + lane;
      const std::int64_t place = part.place(level, i);
      shared.chunk[slot(block, lane, i)] = place >= 0 ? load(in[place]) : start;
    }
    block.sync();
    C own[kEach];
    for (int k = 0; k < kEach; ++k) {
      const C element = shared.chunk[slot(block, lane, lane * kEach + k)];
      own[k] = k == 0 ? element : Join()(own[k - 1], element);
    }
    const C of_chunk = before == nullptr || !part.spot.inside ? start : before[part.number(level)];
    const C all = join_lanes_before(block, lane, of_chunk, own[kEach - 1], shared.room);
    for (int k = 0; k < kEach; ++k)
      shared.chunk[slot(block, lane, lane * kEach + k)] = !level.exclusive ? Join()(all, own[k])
                                                          : k == 0         ? all
                                                                           : Join()(all, own[k - 1]);
    block.sync();
    for (int k = 0; k < kEach; ++k) {
      const int i = k * tiling.lanes() + lane;
      const std::int64_t place = part.place(level, i);
      if (place >= 0) out[place] = stored_as<T>(shared.chunk[slot(block, lane, i)]);
    }
  }

  Level level;
  C start;
  const C* before;
  const T* in;
  T* out;

 private:
  /// The place in shared memory of element i of the thread's line. There is a gap after every kBanks elements, so that
  /// threads that read elements kEach apart use different banks.
  [[nodiscard]] FERRY_DEVICE int slot(const Block& block, int lane, int i) const {
    const int bits = level.tiling.column_bits;
    const int first = block.thread() - (lane << bits);  // the number of the thread that has the line's first lane
    const int row = first >> (bits + level.tiling.lane_bits), column = first & (level.tiling.columns() - 1);
    const int at = (((row << level.tiling.lane_bits) * kEach + i) << bits) + column;
    return at + at / kBanks;
  }
  /// Joins `first` and the values of the lanes before this lane.
  [[nodiscard]] FERRY_DEVICE C join_lanes_before(const Block& block, int lane, C first, C value, C* room) const {
    const int bits = level.tiling.column_bits;
    C* const mine = room + block.thread();
    *mine = value;
    block.sync();
    for (int apart = 1; apart < level.tiling.lanes(); apart *= 2) {
      if (lane >= apart) value = Join()(mine[-(apart << bits)], value);
      block.sync();
      *mine = value;
      block.sync();
    }
    return lane > 0 ? Join()(first, mine[-(1 << bits)]) : first;
  }
};

/// The levels of the computation: the first is for the input, each next one for the totals of the chunks before it. The
/// last level has one chunk.
std::vector<Level> levels_for(const KernelSetup& setup) {
  Pass pass = pass_along_axis(setup);
  std::vector<Level> levels{
      {tiling_of(pass, kEach), setup.attrs.get_or("exclusive", false), setup.attrs.get_or("reverse", false)}};
  while (levels.back().chunks() > 1) {
    pass.along = levels.back().chunks();
    levels.push_back({tiling_of(pass, kEach), true, false});
  }
  return levels;
}

std::unique_ptr<KernelState> prepare_cumulative(const KernelSetup& setup) {
  return keep(levels_for(setup));
}

std::int64_t cumulative_scratch(const KernelSetup& setup) {
  const std::vector<Level> levels = levels_for(setup);
  std::int64_t count = 0;
  for (std::size_t i = 1; i < levels.size(); ++i) count += levels[i].count();
  return count * static_cast<std::int64_t>(size_of(computed_as(setup.inputs[0].dtype)));
}

template <class Join, class T, class C>
void run_level(const KernelRun& run, std::span<const Level> levels, C start, const T* in, T* out, C* scratch) {
  const Level& level = levels[0];
  const C* before = nullptr;
  if (levels.size() > 1) {
    for_each_block(run, level.blocks(), TotalChunks<Join, T>{level, start, in, scratch});
    run_level<Join, C>(run, levels.subspan(1), start, static_cast<const C*>(scratch), scratch,
                       scratch + levels[1].count());
    before = scratch;
  }
  for_each_block(run, level.blocks(), RunChunks<Join, T>{level, start, before, in, out});
}

/// The number that does not change any number when it is joined with it, not even -0.
template <class Join, class C>
constexpr C neutral() {
  return std::is_same_v<Join, functors::Add> && std::is_floating_point_v<C> ? -C(0) : start_of<C, Join>();
}

template <class Join>
void run_along(KernelRun& run) {
  const auto& levels = kept<std::vector<Level>>(run);
  dispatch_all_numbers(run.inputs[0].dtype, [&](auto zero) {
    using T = decltype(zero);
    using C = typename Computed<T>::type;
    run_level<Join, T>(run, std::span(levels), levels[0].exclusive ? start_of<C, Join>() : neutral<Join, C>(),
                       run.inputs[0].as<const T>(), run.outputs[0].as<T>(), reinterpret_cast<C*>(run.scratch.data()));
  });
}

constexpr Kernel kCumulativeKernels[] = {
    {.op = "CumSum",
     .run = run_along<functors::Add>,
     .prepare = prepare_cumulative,
     .scratch_bytes = cumulative_scratch,
     .in_place = 1,
     .takes = kComputed | kHalves},
    {.op = "CumProd",
     .run = run_along<functors::Mul>,
     .prepare = prepare_cumulative,
     .scratch_bytes = cumulative_scratch,
     .in_place = 1,
     .takes = kComputed | kHalves},
};

}  // namespace

std::span<const Kernel> cumulative_kernels() {
  return kCumulativeKernels;
}

}  // namespace ferry::cuda
