// TopK. A thread picks from a short line, a block from a longer line. A block finds the key of the k-th element bit by
// bit, takes the elements up to it, and sorts them. Several blocks share a very long line: each picks the best elements
// of a chunk, and the next level picks from these in the same way.
#include <bit>
#include <type_traits>

#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/elements/elements.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/shared/passes.hpp"
#include "kernels/shared/state.hpp"
#include "kernels/shared/top_line.hpp"

namespace ferry::cuda {
namespace {

constexpr std::int64_t kShort = 64;    // the most elements of a line for which one thread suffices
constexpr std::int64_t kChunk = 8192;  // the elements of a chunk; a line is cut only if k is much smaller

/// The key of a number: an unsigned integer that is larger if the number comes earlier. Equal numbers have equal keys.
template <class C>
FERRY_DEVICE auto key_of(C x, bool largest) {
  using Key = std::conditional_t<sizeof(C) == 4, std::uint32_t, std::uint64_t>;
  constexpr Key kSign = Key{1} << (8 * sizeof(Key) - 1);
  Key key{};
  if constexpr (std::is_floating_point_v<C>) {
    const Key bits = x == C(0) ? Key{0} : std::bit_cast<Key>(x);
    key = x != x ? ~Key{0} : (bits & kSign) != 0 ? ~bits : bits | kSign;
  } else {
    key = static_cast<Key>(x) ^ (std::is_signed_v<C> ? kSign : Key{0});
  }
  return largest ? key : ~key;
}

/// Lines of n elements along the middle dim of [outer, n, inner]. Each is cut into `chunks` chunks.
struct TopLevel {
  std::int64_t n, chunks;
};

struct TopPlan {
  Pass pass;
  std::int64_t k;
  bool largest;
  std::vector<TopLevel> levels;  ///< the first is for the input, each next one for the results of the level before it

  [[nodiscard]] std::int64_t lines() const { return pass.outer * pass.inner; }
  /// The number of results of all levels except the last one.
  [[nodiscard]] std::int64_t candidates() const {
    std::int64_t count = 0;
    for (std::size_t i = 1; i < levels.size(); ++i) count += lines() * levels[i].n;
    return count;
  }
};

TopPlan plan_of(const KernelSetup& setup) {
  TopPlan plan{pass_along_axis(setup), 0, setup.attrs.get<bool>("largest"), {}};
  const Shape& found = setup.outputs[0].shape;
  plan.k = found[dim_of(setup.attrs.get<std::int64_t>("axis"), found.rank())].size();
  std::int64_t n = plan.pass.along;
  for (; plan.k * 8 <= kChunk && n >= 2 * kChunk; n = plan.levels.back().chunks * plan.k)
    plan.levels.push_back({n, n / kChunk});
  plan.levels.push_back({n, 1});
  return plan;
}

/// The offset at which line number `line` begins in [outer, n, inner].
FERRY_DEVICE std::int64_t begin_of(std::int64_t line, std::int64_t n, std::int64_t inner) {
  const std::int64_t outer = line / inner;
  return outer * n * inner + (line - outer * inner);
}

template <class T>
struct PickInThread {
  FERRY_DEVICE void operator()(std::int64_t line) const {
    const T* const from = in + begin_of(line, n, inner);
    const std::int64_t to = begin_of(line, k, inner);
    TopLine<T, typename Computed<T>::type>(from, n, indices + to, k, inner, largest).pick();
    for (std::int64_t i = 0; i < k * inner; i += inner) values[to + i] = from[indices[to + i] * inner];
  }

  std::int64_t n, k, inner;
  bool largest;
  const T* in;
  T* values;
  std::int64_t* indices;
};

template <class T>
struct PickInBlock {
  using C = typename Computed<T>::type;
  using Key = decltype(key_of(C(), true));
  struct Shared {
    std::int64_t room[kMostWarps];
    std::int64_t above[kThreads], equal[kThreads];
  };

  FERRY_DEVICE void operator()(std::int64_t item, const Block& block, Shared& shared) const {
    const std::int64_t line = item / level.chunks, chunk = item - line * level.chunks;
    const std::int64_t begin = chunk * level.n / level.chunks, end = (chunk + 1) * level.n / level.chunks;
    const std::int64_t first = begin_of(line, level.n, inner) + begin * inner;
    const std::int64_t to = begin_of(line, level.chunks * k, inner) + chunk * k * inner;
    take(block, shared, end - begin, in + first, values + to, indices + to);
    block.sync();
    sort(block, values + to, indices + to);
    for (std::int64_t i = block.thread(); i < k; i += block.threads()) {
      std::int64_t& index = indices[to + i * inner];
      index = names != nullptr ? names[first + index * inner] : begin + index;
    }
  }

  TopLevel level;
  std::int64_t k, inner;
  bool largest;
  const T* in;
  const std::int64_t* names;  ///< the elements' indices in the input; null for the first level
  T* values;
  std::int64_t* indices;

 private:
  [[nodiscard]] FERRY_DEVICE Key key(const T& element) const { return key_of(load(element), largest); }

  /// The largest key for which k elements have this key or a larger one.
  [[nodiscard]] FERRY_DEVICE Key last_key(const Block& block, Shared& shared, std::int64_t n, const T* line) const {
    Key found = 0;
    for (Key bit = Key{1} << (8 * sizeof(Key) - 1); bit != 0; bit >>= 1) {
      const Key tried = found | bit;
      std::int64_t count = 0;
      for (std::int64_t i = block.thread(); i < n; i += block.threads()) count += key(line[i * inner]) >= tried ? 1 : 0;
      if (join_in_block(block, count, shared.room, functors::Add()) >= k) found = tried;
    }
    return found;
  }

  /// Writes the best k of n elements and their places in the line, unsorted. Of equal elements, takes the first ones.
  FERRY_DEVICE void take(const Block& block, Shared& shared, std::int64_t n, const T* line, T* to,
                         std::int64_t* places) const {
    const auto put = [&](std::int64_t at, std::int64_t i) {
      to[at * inner] = line[i * inner];
      places[at * inner] = i;
    };
    if (n == k) {
      for (std::int64_t i = block.thread(); i < n; i += block.threads()) put(i, i);
      return;
    }
    const Key last = last_key(block, shared, n, line);
    const std::int64_t each = (n + block.threads() - 1) / block.threads();  // thread t has elements from t * each on
    const std::int64_t begin = std::min(n, block.thread() * each), end = std::min(n, begin + each);
    std::int64_t above = 0, equal = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      const Key here = key(line[i * inner]);
      above += here > last ? 1 : 0;
      equal += here == last ? 1 : 0;
    }
    shared.above[block.thread()] = above;
    shared.equal[block.thread()] = equal;
    block.sync();
    std::int64_t next_above = 0, next_equal = 0;
    for (int t = 0; t < block.threads(); ++t) {
      next_equal += shared.above[t] + (t < block.thread() ? shared.equal[t] : 0);
      next_above += t < block.thread() ? shared.above[t] : 0;
    }
    for (std::int64_t i = begin; i < end; ++i) {
      const Key here = key(line[i * inner]);
      if (here > last) put(next_above++, i);
      if (here == last && next_equal < k) put(next_equal++, i);
    }
  }

  /// A bitonic sort in which every exchange moves the better element to the front. So k need not be a power of 2.
  FERRY_DEVICE void sort(const Block& block, T* all, std::int64_t* places) const {
    for (std::int64_t width = 2; width < 2 * k; width *= 2) {
      exchange(block, all, places, width, true);
      for (std::int64_t part = width / 2; part > 1; part /= 2) exchange(block, all, places, part, false);
    }
  }
  /// In each group of `width` elements, compares and exchanges elements of the two halves; the second half is read
  /// backwards if `folds`.
  FERRY_DEVICE void exchange(const Block& block, T* all, std::int64_t* places, std::int64_t width, bool folds) const {
    const std::int64_t half = width / 2, pairs = (k + width - 1) / width * half;
    for (std::int64_t pair = block.thread(); pair < pairs; pair += block.threads()) {
      const std::int64_t at = pair & (half - 1), group = (pair - at) * 2;
      const std::int64_t a = group + at, b = group + (folds ? width - 1 - at : half + at);
      if (b >= k) continue;
      T &left = all[a * inner], &right = all[b * inner];
      std::int64_t &left_place = places[a * inner], &right_place = places[b * inner];
      if (!comes_before(load(right), right_place, load(left), left_place, largest)) continue;
      const T element = left;
      left = right;
      right = element;
      const std::int64_t place = left_place;
      left_place = right_place;
      right_place = place;
    }
    block.sync();
  }
};

std::unique_ptr<KernelState> prepare_top_k(const KernelSetup& setup) {
  return keep(plan_of(setup));
}

std::int64_t top_k_scratch(const KernelSetup& setup) {
  const auto bytes = static_cast<std::int64_t>(sizeof(std::int64_t) + size_of(setup.inputs[0].dtype));
  return plan_of(setup).candidates() * bytes;
}

template <class T>
void pick(const KernelRun& run, const TopPlan& plan) {
  const std::int64_t inner = plan.pass.inner;
  const T* in = run.inputs[0].as<const T>();
  T* const values = run.outputs[0].as<T>();
  auto* const indices = run.outputs[1].as<std::int64_t>();
  if (plan.pass.along <= kShort)
    return for_each(run, plan.lines(),
                    PickInThread<T>{plan.pass.along, plan.k, inner, plan.largest, in, values, indices});
  const std::int64_t* names = nullptr;
  auto* found_names = reinterpret_cast<std::int64_t*>(run.scratch.data());
  T* found = reinterpret_cast<T*>(found_names + plan.candidates());
  for (std::size_t i = 0; i < plan.levels.size(); ++i) {
    const TopLevel& level = plan.levels[i];
    const bool is_last = i + 1 == plan.levels.size();
    PickInBlock<T> block{
        level, plan.k, inner, plan.largest, in, names, is_last ? values : found, is_last ? indices : found_names};
    for_each_block(run, plan.lines() * level.chunks, block);
    in = found;
    names = found_names;
    found += plan.lines() * level.chunks * plan.k;
    found_names += plan.lines() * level.chunks * plan.k;
  }
}

void top_k(KernelRun& run) {
  const auto& plan = kept<TopPlan>(run);
  if (plan.k == 0) return;
  dispatch_all_ordered(run.inputs[0].dtype, [&](auto zero) { pick<decltype(zero)>(run, plan); });
}

constexpr Kernel kTopKKernels[] = {
    {.op = "TopK", .run = top_k, .prepare = prepare_top_k, .scratch_bytes = top_k_scratch, .takes = kOrdered | kHalves},
};

}  // namespace

std::span<const Kernel> top_k_kernels() {
  return kTopKKernels;
}

}  // namespace ferry::cuda
