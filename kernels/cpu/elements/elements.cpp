#include "kernels/cpu/elements/elements.hpp"

#include "base/system/cache_lines.hpp"

namespace ferry::cpu {
namespace {

/// The number of bytes that are computed in the cache before they are written around the cache.
constexpr std::int64_t kStreamTile = 4096;

template <int N>
class Rows {
 public:
  Rows(const KernelRun& run, RowLoop compute_row)
      : run_(run), compute_row_(compute_row), bytes_(bytes_of(run.outputs[0])) {
    for (std::size_t i = 0; i < N; ++i) input_bytes_[i] = bytes_of(run.inputs[i]);
  }

  /// Computes elements [begin, begin + n) of output 0 from the elements of input i at offsets[i]. If moves[i] is false,
  /// only the first of these elements is used.
  void row(std::int64_t begin, std::int64_t n, const bool* moves, const std::array<std::int64_t, N>& offsets) const {
    std::byte* const out = run_.outputs[0].data + begin * bytes_;
    std::array<const std::byte*, N> in;
    for (std::size_t i = 0; i < N; ++i) in[i] = run_.inputs[i].data + offsets[i] * input_bytes_[i];
    if (run_.stream)
      stream(out, n, moves, in);
    else
      compute_row_(out, n, moves, in.data());
  }

  [[nodiscard]] ElementLoop loop(const bool* moves) const {
    static_assert(N <= ElementLoop::kMostInputs);
    ElementLoop loop{.compute = compute_row_, .out_step = bytes_};
    for (std::size_t i = 0; i < N; ++i) {
      loop.moves[i] = moves[i];
      loop.step[i] = moves[i] ? input_bytes_[i] : 0;
    }
    return loop;
  }

 private:
  static std::int64_t bytes_of(const Array& array) { return static_cast<std::int64_t>(size_of(array.dtype)); }

  void stream(std::byte* out, std::int64_t n, const bool* moves, std::array<const std::byte*, N> in) const {
    alignas(64) std::byte tile[kStreamTile];
    const std::int64_t most = kStreamTile / bytes_;
    for (std::int64_t at = 0; at < n; at += most) {
      const std::int64_t count = std::min(most, n - at);
      compute_row_(tile, count, moves, in.data());
      stream_copy(out + at * bytes_, tile, static_cast<std::size_t>(count * bytes_));
      for (std::size_t i = 0; i < N; ++i)
        if (moves[i]) in[i] += count * input_bytes_[i];
    }
  }

  const KernelRun& run_;
  const RowLoop compute_row_;
  const std::int64_t bytes_;  // bytes of an element
  std::array<std::int64_t, N> input_bytes_;
};

}  // namespace

template <int N>
void compute_rows(const KernelRun& run, RowLoop compute_row) {
  const Rows<N> rows(run, compute_row);
  const std::int64_t count = run.outputs[0].count();
  const auto compute_all = [&](const auto& range) {
    const auto piece = [&](std::int64_t begin, std::int64_t end) {
      range(begin, end);
      if (run.stream) stream_fence();
    };
    if (run.piece.last >= 0)
      run.piece.each_row(piece);
    else
      for_chunks(run.parallel, count, kElementGrain, piece);
  };
  bool moves[N];
  bool walks = false;
  for (std::size_t i = 0; i < N; ++i) {
    const std::int64_t own = run.inputs[i].count();
    moves[i] = own == count;
    walks = walks || (own != count && own != 1);
  }
  if (!walks && run.loop != nullptr && !run.stream) {
    *run.loop = rows.loop(moves);
    return;
  }
  if (!walks)  // each input has the output's shape, or one element
    return compute_all([&](std::int64_t begin, std::int64_t end) {
      std::array<std::int64_t, N> offsets;
      for (std::size_t i = 0; i < N; ++i) offsets[i] = moves[i] ? begin : 0;
      rows.row(begin, end - begin, moves, offsets);
    });
  const Nest<N> nest = make_nest<N>(run.inputs, run.outputs[0]);
  for (std::size_t i = 0; i < N; ++i) moves[i] = nest.steps[i][nest.dims - 1] != 0;
  compute_all([&](std::int64_t begin, std::int64_t end) {
    Walk<N> walk(nest, begin);
    while (begin < end) {
      const std::int64_t n = std::min(walk.run(), end - begin);
      rows.row(begin, n, moves, walk.offsets());
      walk.advance(n);
      begin += n;
    }
  });
}

template void compute_rows<1>(const KernelRun& run, RowLoop compute_row);
template void compute_rows<2>(const KernelRun& run, RowLoop compute_row);
template void compute_rows<3>(const KernelRun& run, RowLoop compute_row);

}  // namespace ferry::cpu
