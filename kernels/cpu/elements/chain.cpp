// compute_chain(): several elementwise ops in one loop, so that the values between them stay in registers. The steps of
// a chain are interpreted once for a block of elements, which is as large as the registers allow.
#include <cstring>
#include <utility>

#include "base/error.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/cpu/vector_bytes.hpp"
#include "kernels/shared/dispatch.hpp"

namespace ferry::cpu {
namespace {

/// Consecutive elements of an array, which need no alignment.
template <class T>
struct Vectors {
  using Type [[gnu::vector_size(kVectorBytes), gnu::aligned(alignof(T)), gnu::may_alias]] = T;
};
template <class T>
struct Singles {
  using Type = T;
};

/// The steps of a chain of elements T, for blocks of N numbers Of<T>::Type.
template <class T, template <class> class Of, std::size_t... N>
class ChainBlock {
  using V = typename Of<T>::Type;

 public:
  static constexpr std::int64_t kElements = sizeof...(N) * sizeof(V) / sizeof(T);

  ChainBlock(std::span<const ChainStep> steps, const std::byte* const* operands) : steps_(steps), operands_(operands) {}

  /// Computes the elements from `first` on, for all steps.
  void compute(T* out, std::int64_t first) const {
    V values[] = {loaded(first, N)...};
    for (const ChainStep& step : steps_.subspan(1)) {
      if (step.moves) {
        const V* const from = moving(step, first);
        apply(step.op, values, [&](std::size_t k) { return from[k]; });
      } else {
        const V same = unmoved(step);
        apply(step.op, values, [&](std::size_t) { return same; });
      }
    }
    V* const to = reinterpret_cast<V*>(out + first);
    ((to[N] = values[N]), ...);
  }

 private:
  [[nodiscard]] const V* moving(const ChainStep& step, std::int64_t first) const {
    return reinterpret_cast<const V*>(reinterpret_cast<const T*>(operands_[step.operand]) + first);
  }
  [[nodiscard]] V unmoved(const ChainStep& step) const {
    return *reinterpret_cast<const T*>(operands_[step.operand]) - V{};  // V{} + -0 would be 0
  }
  [[nodiscard]] V loaded(std::int64_t first, std::size_t k) const {
    return steps_[0].moves ? moving(steps_[0], first)[k] : unmoved(steps_[0]);
  }

  template <class F>
  static void apply(ChainStep::Op op, V* values, const F& operand) {
    switch (op) {
      case ChainStep::Op::load:
        return;
      case ChainStep::Op::add:
        ((values[N] = values[N] + operand(N)), ...);
        return;
      case ChainStep::Op::sub:
        ((values[N] = values[N] - operand(N)), ...);
        return;
      case ChainStep::Op::sub_from:
        ((values[N] = operand(N) - values[N]), ...);
        return;
      case ChainStep::Op::mul:
        ((values[N] = values[N] * operand(N)), ...);
        return;
    }
  }

  std::span<const ChainStep> steps_;
  const std::byte* const* operands_;
};

/// Whether the output is one of the operands, so that no element may be computed twice.
bool is_in_place(std::span<const ChainStep> steps, const std::byte* const* operands, const std::byte* out) {
  for (const ChainStep& step : steps)
    if (operands[step.operand] == out) return true;
  return false;
}

/// Computes elements [first, n) in blocks, and returns the first element that is left. The last block may overlap the
/// one before, if `again`.
template <class Block, class T>
std::int64_t compute_blocks(const Block& block, T* out, std::int64_t first, std::int64_t n, bool again) {
  constexpr std::int64_t kElements = Block::kElements;
  for (; first + kElements <= n; first += kElements) block.compute(out, first);
  if (first == n || !again || n < kElements) return first;
  block.compute(out, n - kElements);
  return n;
}

template <class T>
void compute_elements(std::span<const ChainStep> steps, const std::byte* const* operands, T* out, std::int64_t n) {
  const bool again = !is_in_place(steps, operands, reinterpret_cast<std::byte*>(out));
  const ChainBlock<T, Vectors, 0, 1, 2, 3, 4, 5, 6, 7> large(steps, operands);
  const ChainBlock<T, Vectors, 0> small(steps, operands);
  const ChainBlock<T, Singles, 0> single(steps, operands);
  std::int64_t first = compute_blocks(large, out, 0, n, again);
  first = compute_blocks(small, out, first, n, again);
  compute_blocks(single, out, first, n, again);
}

}  // namespace

void compute_chain(DType dtype, std::span<const ChainStep> steps, const std::byte* const* operands, std::byte* out,
                   std::int64_t n) {
  dispatch_floats(dtype, [&](auto zero) {
    using T = decltype(zero);
    compute_elements(steps, operands, reinterpret_cast<T*>(out), n);
  });
}

}  // namespace ferry::cpu
