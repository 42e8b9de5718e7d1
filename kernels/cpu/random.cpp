#include <algorithm>

#include "kernels/cpu/elements/elements.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/parallel.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/shared/distributions.hpp"
#include "kernels/shared/random_key.hpp"
#include "kernels/shared/state.hpp"

namespace ferry::cpu {
namespace {

/// Draws elements [place, place + n) of the whole value, in row-major order.
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
  const PartNest part = nest_of_part(output);
  dispatch_floats(output.dtype, [&](auto zero) {
    using T = decltype(zero);
    for_chunks(run.parallel, output.count(), kElementGrain / 8, [&](std::int64_t begin, std::int64_t end) {
      Walk<1> walk(part.nest, begin);
      while (begin < end) {
        const std::int64_t n = std::min(walk.run(), end - begin);
        draw_run<Distribution>(philox, draw, part.origin + walk.offset(0), n, output.as<T>() + begin);
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
        std::copy_n(input.as<const T>() + rows[at] * row, row, output.as<T>() + at * row);
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
