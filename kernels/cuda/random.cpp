#include "kernels/cuda/dispatch.hpp"
#include "kernels/cuda/index/copy_rows.hpp"
#include "kernels/cuda/index/sort_pairs.hpp"
#include "kernels/cuda/kernels.hpp"
#include "kernels/shared/distributions.hpp"
#include "kernels/shared/random_key.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cuda {
namespace {

// ---- The time ----

/// Computes the time of the random numbers from the step and the iterations. They are in the host's memory, so this
/// kernel reads them once for all threads of the kernels after it.
struct ReadTime {
  FERRY_DEVICE void operator()(std::int64_t) const { *time = random_time(*step, iterations); }
  const std::int64_t* step;
  std::span<const std::int64_t> iterations;
  std::uint64_t* time;
};

/// Writes the time of the random numbers to the first kTimeBytes of the scratch, and returns its address.
constexpr std::int64_t kTimeBytes = 64;  // a multiple of the alignment of the scratch's other contents
const std::uint64_t* read_time(const KernelRun& run) {
  auto* const time = reinterpret_cast<std::uint64_t*>(run.scratch.data());
  for_each(run, 1, ReadTime{&run.step, run.iterations, time});
  return time;
}

// ---- Elements ----

/// Draws the elements of a row that belong to one block of random numbers. The blocks cover the whole value; a row of
/// the part may begin and end inside a block.
template <class Distribution, class T>
struct DrawBlocks {
  using Number = typename Computed<T>::type;
  static constexpr int kNumbers = 16 / sizeof(Number);

  FERRY_DEVICE void operator()(std::int64_t i) const {
    const auto [row, nth] = divided(i, blocks);
    const std::int64_t first = origin + offset_in(rows, row);
    const std::int64_t block = first / kNumbers + nth;
    Number numbers[kNumbers];
    Distribution::numbers(Philox{draw.key, *time}.block(static_cast<std::uint64_t>(block)), draw, numbers);
    Group<T, kNumbers> drawn;
    for (int k = 0; k < kNumbers; ++k) drawn.all[k] = stored_as<T>(numbers[k]);
    const std::int64_t begin = block * kNumbers - first;  // the block's first element, counted from the row's
    T* const to = out + row * width;
    if (begin >= 0 && begin + kNumbers <= width && is_aligned(to + begin)) {
      *reinterpret_cast<Group<T, kNumbers>*>(to + begin) = drawn;
    } else {
      for (int k = 0; k < kNumbers; ++k)
        if (begin + k >= 0 && begin + k < width) to[begin + k] = drawn.all[k];
    }
  }
  FERRY_DEVICE static bool is_aligned(const T* at) {
    return reinterpret_cast<std::uintptr_t>(at) % sizeof(Group<T, kNumbers>) == 0;
  }
  Draw draw;
  const std::uint64_t* time;
  T* out;
  Nest<1> rows;  ///< maps each row of the part to its begin in the whole value, relative to `origin`
  std::int64_t origin, width;
  std::int64_t blocks;  ///< the most blocks that a row has elements of
};

template <class Distribution>
void draw_elements(KernelRun& run) {
  const Array& output = run.outputs[0];
  PartNest part = nest_of_part(output);
  const std::int64_t width = part.nest.sizes[--part.nest.dims];
  if (output.count() == 0) return;
  const std::uint64_t* const time = read_time(run);
  dispatch_all_floats(output.dtype, [&](auto zero) {
    using T = decltype(zero);
    using Blocks = DrawBlocks<Distribution, T>;
    const std::int64_t blocks = (width + Blocks::kNumbers - 2) / Blocks::kNumbers + 1;
    for_each(run, output.count() / width * blocks,
             Blocks{kept<Draw>(run), time, output.as<T>(), part.nest, part.origin, width, blocks});
  });
}

std::unique_ptr<KernelState> prepare_uniform(const KernelSetup& setup) {
  return keep(Draw{random_key(setup), setup.attrs.get<double>("low"), setup.attrs.get<double>("high")});
}
std::unique_ptr<KernelState> prepare_normal(const KernelSetup& setup) {
  return keep(Draw{random_key(setup), setup.attrs.get<double>("mean"), setup.attrs.get<double>("stddev")});
}
std::int64_t time_bytes(const KernelSetup&) {
  return kTimeBytes;
}

// ---- Shuffle ----

// draw_order() goes through s = n - 1, …, 0 and swaps the element at s with the element at a random place(s) <= s. The
// element at s does not move after that. So the element that ends at s was at place(s) just before swap s. The swap of
// the smallest s' > s with place(s') = place(s) brought it there from s'. The swap of the smallest s'' > s' with
// place(s'') = s' brought it to s', and so on, until there is no such swap. These chains are short (their expected
// length grows as log n). One thread follows each chain.

struct DrawPlace {
  FERRY_DEVICE std::int64_t operator()(std::int64_t s) const {
    return static_cast<std::int64_t>(draw_below({key, *time}, static_cast<std::uint64_t>(s) + 1));
  }
  std::uint64_t key;
  const std::uint64_t* time;
};

/// Sets before[s] to the smallest s' > s with place(s') = s, or to kNowhere.
struct FindBefore {
  FERRY_DEVICE void operator()(std::int64_t s) const {
    const std::uint64_t wanted = places.key(s, s + 1);
    std::int64_t low = 0, high = places.count;
    while (low < high) {
      const std::int64_t at = (low + high) / 2;
      if (places.keys[at] < wanted)
        low = at + 1;
      else
        high = at;
    }
    before[s] = places.is_first(low, s) ? places.second(low) : kNowhere;
  }
  SortedPairs places;  ///< (place(s), s)
  std::int64_t* before;
};

struct FollowSwaps {
  FERRY_DEVICE void operator()(std::int64_t at) const {
    std::int64_t from = places.first(at);
    if (places.is_first(at + 1, from))
      for (std::int64_t s = places.second(at + 1); s != kNowhere; s = before[s]) from = s;
    order[places.second(at)] = from;
  }
  SortedPairs places;
  const std::int64_t* before;
  std::int64_t* order;
};

struct InOrder {
  FERRY_DEVICE std::int64_t operator()(std::int64_t row) const { return order[row]; }
  const std::int64_t* order;
};

void shuffle(KernelRun& run) {
  const Array& x = run.inputs[0];
  const std::int64_t rows = x.sizes[0];
  const std::uint64_t* const time = read_time(run);
  const std::span<std::byte> room = run.scratch.subspan(static_cast<std::size_t>(kTimeBytes));
  const SortedPairs places = sort_pairs(run, room, rows, rows, DrawPlace{kept<std::uint64_t>(run), time});
  auto* const before = reinterpret_cast<std::int64_t*>(room.data() + bytes_to_sort(rows));
  for_each(run, rows, FindBefore{places, before});
  for_each(run, rows, FollowSwaps{places, before, before + rows});
  copy_rows(run, x, run.outputs[0], rows, product(x.sizes, 1, x.rank()), InOrder{before + rows});
}

std::unique_ptr<KernelState> prepare_shuffle(const KernelSetup& setup) {
  return keep(random_key(setup));
}
std::int64_t shuffle_bytes(const KernelSetup& setup) {
  const std::int64_t rows = setup.inputs[0].shape[0].size();
  return kTimeBytes + bytes_to_sort(rows) + 2 * rows * static_cast<std::int64_t>(sizeof(std::int64_t));
}

// All take every dtype, because they do not compute with elements of their inputs.
constexpr Kernel kRandomKernels[] = {
    {.op = "RandomUniform",
     .run = draw_elements<Uniform>,
     .prepare = prepare_uniform,
     .scratch_bytes = time_bytes,
     .takes = kAnyType},
    {.op = "RandomUniformLike",
     .run = draw_elements<Uniform>,
     .prepare = prepare_uniform,
     .scratch_bytes = time_bytes,
     .takes = kAnyType},
    {.op = "RandomNormal",
     .run = draw_elements<Normal>,
     .prepare = prepare_normal,
     .scratch_bytes = time_bytes,
     .takes = kAnyType},
    {.op = "Shuffle", .run = shuffle, .prepare = prepare_shuffle, .scratch_bytes = shuffle_bytes, .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> random_kernels() {
  return kRandomKernels;
}

}  // namespace ferry::cuda
