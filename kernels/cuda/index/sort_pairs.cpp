#include "kernels/cuda/index/sort_pairs.hpp"

#include <algorithm>
#include <utility>

namespace ferry::cuda {
namespace {

constexpr int kTile = 1024;  // the number of keys that a block sorts in shared memory

/// The new place of key i when pairs of sorted runs of `length` keys are merged. The length is a power of 2.
template <class Int>
FERRY_DEVICE Int merged_place(const std::uint64_t* keys, Int n, Int length, Int i) {
  const Int begin = i & ~(2 * length - 1);
  const Int middle = std::min(begin + length, n);
  const bool is_left = i < middle;
  Int low = is_left ? middle : begin, high = is_left ? std::min(middle + length, n) : middle;
  const std::uint64_t key = keys[i];
  while (low < high) {  // counts the keys of the other run that come before key i
    const Int at = (low + high) / 2;
    if (keys[at] < key)
      low = at + 1;
    else
      high = at;
  }
  return i + low - middle;
}

struct SortTile {
  struct Shared {
    std::uint64_t keys[2][kTile];
  };
  FERRY_DEVICE void operator()(std::int64_t tile, const Block& block, Shared& shared) const {
    std::uint64_t* const here = keys + tile * kTile;
    const auto have = static_cast<int>(std::min<std::int64_t>(n - tile * kTile, kTile));
    for (int i = block.thread(); i < have; i += block.threads()) shared.keys[0][i] = here[i];
    block.sync();
    int from = 0;
    for (int length = 1; length < have; length *= 2, from = 1 - from) {
      const std::uint64_t* const runs = shared.keys[from];
      for (int i = block.thread(); i < have; i += block.threads())
        shared.keys[1 - from][merged_place(runs, have, length, i)] = runs[i];
      block.sync();
    }
    for (int i = block.thread(); i < have; i += block.threads()) here[i] = shared.keys[from][i];
  }
  std::uint64_t* keys;
  std::int64_t n;
};

struct MergeRuns {
  FERRY_DEVICE void operator()(std::int64_t i) const { to[merged_place(keys, n, length, i)] = keys[i]; }
  const std::uint64_t* keys;
  std::uint64_t* to;
  std::int64_t n, length;
};

}  // namespace

std::uint64_t* sort_keys(const KernelRun& run, std::uint64_t* keys, std::uint64_t* room, std::int64_t n) {
  for_each_block(run, (n + kTile - 1) / kTile, SortTile{keys, n});
  for (std::int64_t length = kTile; length < n; length *= 2) {
    for_each(run, n, MergeRuns{keys, room, n, length});
    std::swap(keys, room);
  }
  return keys;
}

}  // namespace ferry::cuda
