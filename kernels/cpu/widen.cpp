// bind(): runs kernels on arrays of dtypes that they do not take.
//
// Elementwise kernels run on blocks that are small enough for the first-level cache: their inputs are widened first,
// and their output is narrowed afterwards. Other kernels get whole arrays, widened into scratch.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/cpu/elements/convert.hpp"
#include "kernels/cpu/elements/elements.hpp"
#include "kernels/shared/dispatch.hpp"
#include "kernels/widening.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kBlock = 512;

struct Widened final : KernelState {
  Widened(const Kernel& k, const Kernel& c, const KernelSetup& setup, bool on_device)
      : kernel(k), cast(c), wider(k, setup), on_queue(on_device) {
    if (kernel.prepare != nullptr) state = kernel.prepare(wider.of(setup));
    arrays.resize(wider.places.size());
  }
  [[nodiscard]] DType dtype(std::size_t a) const {
    return a < wider.inputs.size() ? wider.inputs[a].dtype : wider.outputs[a - wider.inputs.size()].dtype;
  }

  /// Sets to[i] = from[i] for `count` elements, on this thread.
  void convert(const KernelRun& run, DType from_dtype, std::byte* from, DType to_dtype, std::byte* to,
               std::int64_t count) const {
    const std::span<std::int64_t> sizes(&count, 1);
    const Array in{from, from_dtype, sizes, sizes, {}, false};
    Array out{to, to_dtype, sizes, sizes, {}, false};
    KernelRun inner{.inputs = {&in, 1},
                    .outputs = {&out, 1},
                    .scratch = {},
                    .parallel = run.parallel,
                    .step = run.step,
                    .iterations = {},
                    .piece = {0, count},
                    .queue = run.queue};
    cast.run(inner);
  }
  /// Converts results of the kernel to the dtype of the output; saturates if the kernel does (Kernel::saturates).
  void narrow(const KernelRun& run, DType from_dtype, std::byte* from, DType to_dtype, std::byte* to,
              std::int64_t count) const {
    if (!kernel.saturates || !is_integer(to_dtype)) return convert(run, from_dtype, from, to_dtype, to, count);
    alignas(double) std::byte block[kBlock * sizeof(double)];  // a conversion from float64 saturates
    const auto from_bytes = static_cast<std::int64_t>(size_of(from_dtype));
    const auto to_bytes = static_cast<std::int64_t>(size_of(to_dtype));
    for (std::int64_t begin = 0; begin < count; begin += kBlock) {
      const std::int64_t n = std::min(kBlock, count - begin);
      convert(run, from_dtype, from + begin * from_bytes, DType::float64, block, n);
      convert(run, DType::float64, block, to_dtype, to + begin * to_bytes, n);
    }
  }

  const Kernel& kernel;
  const Kernel& cast;
  const WidenedSetup wider;
  const bool on_queue;  ///< kernels submit their work to a queue: each conversion is of a whole array
  std::unique_ptr<KernelState> state;
  std::vector<Array> arrays;  ///< the arrays that run_whole() passes to the kernel
};

// ---- Whole arrays ----

/// Calls step(begin, end) for parts of `array`, on several threads.
template <class F>
void for_parts(const KernelRun& run, const Array& array, const F& step) {
  if (static_cast<const Widened&>(*run.state).on_queue) return step(0, array.count());
  cpu::for_chunks(run.parallel, array.count(), cpu::kElementGrain, step);
}

void run_whole(KernelRun& run) {
  auto& widened = static_cast<Widened&>(*run.state);
  const std::size_t inputs = run.inputs.size();
  for (std::size_t a = 0; a < widened.arrays.size(); ++a) {
    const Array& narrow = a < inputs ? run.inputs[a] : run.outputs[a - inputs];
    Array& wide = widened.arrays[a];
    wide = narrow;
    wide.dtype = widened.dtype(a);
    if (widened.wider.places[a] == WidenedSetup::kNotWidened || narrow.data == nullptr) continue;
    wide.data = run.scratch.data() + widened.wider.places[a];
    if (a >= inputs) continue;
    for_parts(run, narrow, [&](std::int64_t begin, std::int64_t end) {
      widened.convert(run, narrow.dtype, narrow.data + begin * static_cast<std::int64_t>(size_of(narrow.dtype)),
                      wide.dtype, wide.data + begin * static_cast<std::int64_t>(size_of(wide.dtype)), end - begin);
    });
  }
  const std::span<Array> all(widened.arrays);
  KernelRun inner{.inputs = all.first(inputs),
                  .outputs = all.subspan(inputs),
                  .state = widened.state.get(),
                  .scratch = run.scratch.subspan(static_cast<std::size_t>(widened.wider.bytes)),
                  .parallel = run.parallel,
                  .step = run.step,
                  .iterations = run.iterations,
                  .finish = widened.wider.places[inputs] == WidenedSetup::kNotWidened ? run.finish : nullptr,
                  .queue = run.queue};
  widened.kernel.run(inner);
  for (std::size_t a = inputs; a < all.size(); ++a) {
    const Array &narrow = run.outputs[a - inputs], &wide = all[a];
    if (widened.wider.places[a] == WidenedSetup::kNotWidened) continue;
    for_parts(run, narrow, [&](std::int64_t begin, std::int64_t end) {
      widened.narrow(run, wide.dtype, wide.data + begin * static_cast<std::int64_t>(size_of(wide.dtype)), narrow.dtype,
                     narrow.data + begin * static_cast<std::int64_t>(size_of(narrow.dtype)), end - begin);
      if (run.finish != nullptr && a == inputs) (*run.finish)({begin, end});
    });
  }
}

// ---- Blocks ----

/// The inputs of an elementwise kernel, broadcast and widened, for a block of the output's elements at a time.
class Blocks {
 public:
  Blocks(const Widened& widened, KernelRun& run) : widened_(widened), run_(run) {
    for (std::size_t i = 0; i < run.inputs.size(); ++i)
      if (!is_full_size(i)) nests_[i] = make_nest<1>(run.inputs.subspan(i, 1), run.outputs[0]);
  }

  void compute(std::int64_t begin, std::int64_t end) {
    const std::size_t inputs = run_.inputs.size();
    const Array& output = run_.outputs[0];
    const bool narrows = widened_.wider.places[inputs] != WidenedSetup::kNotWidened;
    std::array<Array, kMostWidened> in;
    for (; begin < end; begin += kBlock) {
      std::int64_t n = std::min(kBlock, end - begin);
      const std::span<std::int64_t> sizes(&n, 1);
      for (std::size_t i = 0; i < inputs; ++i)
        in[i] = {block_of(i, begin, n), widened_.dtype(i), sizes, sizes, {}, false};
      std::byte* const to = output.data + begin * static_cast<std::int64_t>(size_of(output.dtype));
      Array out{narrows ? blocks_[inputs] : to, widened_.dtype(inputs), sizes, sizes, {}, false};
      KernelRun inner{.inputs = std::span<const Array>(in).first(inputs),
                      .outputs = {&out, 1},
                      .state = widened_.state.get(),
                      .scratch = {},
                      .parallel = run_.parallel,
                      .step = run_.step,
                      .iterations = run_.iterations,
                      .piece = {0, n}};
      widened_.kernel.run(inner);
      if (narrows) widened_.narrow(run_, out.dtype, out.data, output.dtype, to, n);
    }
  }

 private:
  /// Whether input i is not broadcast: the output's element k then uses its element k.
  [[nodiscard]] bool is_full_size(std::size_t i) const { return run_.inputs[i].count() == run_.outputs[0].count(); }

  std::byte* block_of(std::size_t i, std::int64_t begin, std::int64_t n) {
    const Array& input = run_.inputs[i];
    const DType wide = widened_.dtype(i);
    const auto bytes = static_cast<std::int64_t>(size_of(input.dtype));
    if (is_full_size(i)) {
      std::byte* const from = input.data + begin * bytes;
      if (widened_.wider.places[i] == WidenedSetup::kNotWidened) return from;
      widened_.convert(run_, input.dtype, from, wide, blocks_[i], n);
      return blocks_[i];
    }
    cpu::Walk<1> walk(nests_[i], begin);
    const bool moves = nests_[i].steps[0][nests_[i].dims - 1] != 0;
    std::byte* to = blocks_[i];
    for (std::int64_t left = n; left > 0;) {
      const std::int64_t m = std::min(walk.run(), left);
      widened_.convert(run_, input.dtype, input.data + walk.offset(0) * bytes, wide, to, moves ? m : 1);
      dispatch_sizes(wide, [&](auto zero) {
        auto* const elements = reinterpret_cast<decltype(zero)*>(to);
        if (!moves) std::fill_n(elements + 1, m - 1, *elements);
        to += m * static_cast<std::int64_t>(sizeof zero);
      });
      walk.advance(m);
      left -= m;
    }
    return blocks_[i];
  }

  const Widened& widened_;
  KernelRun& run_;
  std::array<Nest<1>, kMostWidened> nests_;  ///< of inputs that are broadcast
  alignas(kWidenedAlign) std::byte blocks_[kMostWidened + 1][kBlock * 8];
};

void run_blocks(KernelRun& run) {
  const auto& widened = static_cast<const Widened&>(*run.state);
  set_extent(run.inputs, run.outputs[0]);
  const auto compute = [&](std::int64_t begin, std::int64_t end) { Blocks(widened, run).compute(begin, end); };
  if (run.piece.last >= 0)
    run.piece.each_row(compute);
  else
    for_parts(run, run.outputs[0], compute);
}

}  // namespace

BoundKernel bind(const KernelTable& table, const Kernel& kernel, const KernelSetup& setup) {
  if (takes_all(kernel, setup)) return {kernel.run, kernel.prepare != nullptr ? kernel.prepare(setup) : nullptr};
  const Kernel* cast = table.find("Cast");
  FERRY_ASSERT(cast != nullptr, "kernels that widen need one for Cast");
  const bool on_queue = table.kind() != DeviceKind::cpu && !by_blocks(kernel, setup);
  return {by_blocks(kernel, setup) ? run_blocks : run_whole, std::make_unique<Widened>(kernel, *cast, setup, on_queue)};
}

}  // namespace ferry
