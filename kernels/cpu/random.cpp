#include <algorithm>
#include <numeric>

#include "kernels/cpu/array/strided.hpp"
#include "kernels/cpu/elements/elements.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/cpu/random_key.hpp"
#include "kernels/dispatch.hpp"
#include "kernels/state.hpp"

namespace ferry::cpu {

void draw_order(const Philox& philox, std::span<std::int64_t> order) {
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::size_t i = order.size(); i > 1; --i) {
    const auto [a, b, c, d] = philox.block(i);
    const std::uint64_t number = std::uint64_t{b} << 32 | a;
    std::swap(order[i - 1], order[number % i]);
  }
}

namespace {

/// An op's distribution: low and high, or mean and standard deviation.
struct Draw {
  std::uint64_t key;
  double first, second;
};

/// The numbers that one block of bits gives: four floats or two doubles.
struct Uniform {
  static void numbers(const Philox::Block& bits, const Draw& draw, float (&out)[4]) {
    const auto low = static_cast<float>(draw.first);
    const auto high = static_cast<float>(draw.second);
    for (std::size_t i = 0; i < 4; ++i) out[i] = within(low + unit_float(bits[i]) * (high - low), low, high);
  }
  static void numbers(const Philox::Block& bits, const Draw& draw, double (&out)[2]) {
    for (std::size_t i = 0; i < 2; ++i)
      out[i] = within(draw.first + unit_double(bits[2 * i], bits[2 * i + 1]) * (draw.second - draw.first), draw.first,
                      draw.second);
  }
  /// Rounding may have given `high`, which does not belong to the range.
  template <class T>
  static T within(T x, T low, T high) {
    return x < high ? x : low;
  }
};

struct Normal {
  static void numbers(const Philox::Block& bits, const Draw& draw, float (&out)[4]) {
    for (std::size_t i = 0; i < 4; i += 2) {
      const auto [a, b] = math::box_muller(bits[i] * 0x1p-32, bits[i + 1] * 0x1p-32);
      out[i] = static_cast<float>(draw.first + draw.second * a);
      out[i + 1] = static_cast<float>(draw.first + draw.second * b);
    }
  }
  static void numbers(const Philox::Block& bits, const Draw& draw, double (&out)[2]) {
    const auto [a, b] = math::box_muller(unit_double(bits[0], bits[1]), unit_double(bits[2], bits[3]));
    out[0] = draw.first + draw.second * a;
    out[1] = draw.first + draw.second * b;
  }
};

/// Elements [place, place + n) of the whole value, in row-major order.
template <class Distribution, class T>
void draw_run(const Philox& philox, const Draw& draw, std::int64_t place, std::int64_t n, T* out) {
  constexpr std::int64_t kBlock = 16 / sizeof(T);
  while (n > 0) {
    T numbers[kBlock];
    Distribution::numbers(philox.block(static_cast<std::uint64_t>(place / kBlock)), draw, numbers);
    const std::int64_t first = place % kBlock;
    const std::int64_t taken = std::min(n, kBlock - first);
    std::copy_n(numbers + first, taken, out);
    place += taken;
    out += taken;
    n -= taken;
  }
}

template <class Distribution>
void draw_elements(KernelRun& run) {
  const auto& draw = kept<Draw>(run);
  const Array& output = run.outputs[0];
  const Philox philox{draw.key, random_time(run)};
  // The walk's one input is the whole value: the offset in it of each element of this part.
  const Steps whole = steps_of(output.whole);
  Nest<1> nest;
  std::int64_t origin = 0;
  for (std::size_t d = 0; d < output.sizes.size(); ++d) {
    nest.sizes[d] = output.sizes[d];
    nest.steps[0][d] = whole[d];
    origin += output.begin[d] * whole[d];
  }
  nest.dims = output.rank();
  if (nest.dims == 0) {
    nest.dims = 1;
    nest.sizes[0] = 1;
    nest.steps[0][0] = 1;
  }
  dispatch_floats(output.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_chunks(run.parallel, output.count(), kElementGrain / 8, [&](std::int64_t begin, std::int64_t end) {
      Walk<1> walk(nest, begin);
      while (begin < end) {
        const std::int64_t n = std::min(walk.run(), end - begin);
        draw_run<Distribution>(philox, draw, origin + walk.offset(0), n, output.as<T>() + begin);
        walk.advance(n);
        begin += n;
      }
    });
  });
}

std::unique_ptr<KernelState> prepare_uniform(const KernelSetup& setup) {
  return keep(Draw{random_key(setup), setup.attrs.get<double>("low"), setup.attrs.get<double>("high")});
}
std::unique_ptr<KernelState> prepare_normal(const KernelSetup& setup) {
  return keep(Draw{random_key(setup), setup.attrs.get<double>("mean"), setup.attrs.get<double>("stddev")});
}

// ---- Shuffle ----

struct Order {
  std::uint64_t key;
  std::vector<std::int64_t> rows;
};

void shuffle(KernelRun& run) {
  const Array& input = run.inputs[0];
  Array& output = run.outputs[0];
  auto& order = static_cast<State<Order>*>(run.state)->value;
  output.sizes[0] = input.sizes[0];
  const std::span rows = std::span(order.rows).first(static_cast<std::size_t>(input.sizes[0]));
  draw_order({order.key, random_time(run)}, rows);
  const std::int64_t row = product(input.sizes, 1, input.rank());
  dispatch_sizes(input.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_chunks(run.parallel, input.sizes[0], grain_of(row), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t at = begin; at < end; ++at)
        std::copy_n(input.as<const T>() + rows[static_cast<std::size_t>(at)] * row, row, output.as<T>() + at * row);
    });
  });
}

std::unique_ptr<KernelState> prepare_shuffle(const KernelSetup& setup) {
  return keep(
      Order{random_key(setup), std::vector<std::int64_t>(static_cast<std::size_t>(setup.inputs[0].shape[0].size()))});
}

constexpr Kernel kKernels[] = {
    {.op = "RandomUniform", .run = draw_elements<Uniform>, .prepare = prepare_uniform},
    {.op = "RandomUniformLike", .run = draw_elements<Uniform>, .prepare = prepare_uniform},
    {.op = "RandomNormal", .run = draw_elements<Normal>, .prepare = prepare_normal},
    {.op = "Shuffle", .run = shuffle, .prepare = prepare_shuffle, .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> random_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
