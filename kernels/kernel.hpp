// Kernel: the code that computes one op on one kind of device. Kernels know ops; ops never know kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "graph/op/attrs.hpp"
#include "graph/types/device_spec.hpp"
#include "graph/types/layout.hpp"
#include "graph/types/shape.hpp"
#include "kernels/traits.hpp"

namespace ferry {

/// An array as a kernel sees it: row-major, at its local sizes. Of a part of a split value also where it lies in the
/// whole.
struct Array {
  std::byte* data = nullptr;
  DType dtype = DType::float32;
  std::span<std::int64_t> sizes;        ///< local; for a bounded value the extent of this step
  std::span<const std::int64_t> whole;  ///< sizes of the whole value (equal to `sizes` when it is not split)
  std::span<const std::int64_t> begin;  ///< where this part begins in it
  bool bounded = false;                 ///< sizes[0] is an extent, which may differ from step to step

  template <class T>
  [[nodiscard]] T* as() const {
    return reinterpret_cast<T*>(data);
  }
  [[nodiscard]] int rank() const { return static_cast<int>(sizes.size()); }
  [[nodiscard]] std::int64_t count() const {
    std::int64_t count = 1;
    for (std::int64_t size : sizes) count *= size;
    return count;
  }
};

/// Splits a range over the threads of the task. Thread-safe; chunks are [begin, end) with end - begin <= grain, and
/// depend on n and grain alone, never on the number of threads, so a fold in chunk order gives the same bits for any
/// number.
class Parallel {
 public:
  virtual ~Parallel() = default;
  using Body = std::function<void(std::int64_t begin, std::int64_t end)>;
  virtual void for_each(std::int64_t n, std::int64_t grain, const Body& body) = 0;
  [[nodiscard]] virtual int threads() const = 0;
};

/// What a kernel keeps from step to step (attributes in a ready form, tables, open data). Made once for each
/// instruction.
class KernelState {
 public:
  virtual ~KernelState() = default;
};

/// Elements of an array: `rows` runs of [first, last), `row_step` apart.
struct Piece {
  std::int64_t first = 0, last = -1;
  std::int64_t rows = 1, row_step = 0;

  /// Calls f(begin, end) for each run.
  template <class F>
  void each_row(const F& f) const {
    for (std::int64_t row = 0; row < rows; ++row) f(first + row * row_step, last + row * row_step);
  }
};

/// What is to be done with elements of a kernel's output as soon as they are there, while the cache has them.
class Finish {
 public:
  virtual ~Finish() = default;
  /// Thread-safe, for pieces that share no element.
  virtual void operator()(const Piece& piece) const = 0;
};

/// How an elementwise kernel computes elements that lie one after another, whichever they are.
struct ElementLoop {
  static constexpr int kMostInputs = 3;
  /// `n` elements at `out` from those at in[i], where input i moves on with them or not.
  void (*compute)(std::byte* out, std::int64_t n, const bool* moves, const std::byte* const* in) = nullptr;
  bool moves[kMostInputs] = {};         ///< each input
  std::int64_t step[kMostInputs] = {};  ///< bytes that each moves on by for an element
  std::int64_t out_step = 0;
};

/// What a kernel throws of a value that it cannot work on: an index out of range, a divisor of zero. Whoever gave the
/// value ends with it: the executor follows input `input` back to where it came from, says that, and sets the code
/// (docs/exit_codes.md).
class BadValue : public Error {
 public:
  BadValue(std::size_t input, std::string message) : Error(Code::program, std::move(message)), input_(input) {}
  [[nodiscard]] std::size_t input() const noexcept { return input_; }

 private:
  std::size_t input_;
};

/// One run of a kernel.
struct KernelRun {
  std::span<const Array> inputs;
  std::span<Array> outputs;  ///< a kernel with a bounded output sets sizes[0] to its extent
  KernelState* state = nullptr;
  std::span<std::byte> scratch;  ///< of Kernel::scratch_bytes
  Parallel& parallel;
  bool stream = false;  ///< output 0 is not read here soon: written around the caches (base/system/stream_copy.hpp)
  const std::int64_t& step;                  ///< number of this step in the session, restored with checkpoints
  std::span<const std::int64_t> iterations;  ///< of the enclosing loops, outermost first
  /// For a kernel that says `elementwise`: it computes only these elements of output 0, in this thread, and touches no
  /// others of the arrays that have as many. For one that works by rows: those that it has of some rows, and it touches
  /// no others of input 0. last < 0: all of them.
  Piece piece = {};
  /// For a kernel that says `finishes`: called for each element of output 0 once, when it has its value, from the
  /// thread that has computed it, which then touches it no more; null: nothing is to be done.
  const Finish* finish = nullptr;
  /// For a kernel that says `elementwise`: where it may say how it computes a piece, of any elements, instead of
  /// computing it. Finding that out takes as long as computing some hundred elements.
  ElementLoop* loop = nullptr;
  /// Of a kernel of a device: where it puts its work, which it does not wait for (kernels/device.hpp); null: it
  /// computes.
  void* queue = nullptr;
};

/// output[i] = left[i] (+|max|min) right[i], for the folds of collectives; element order is irrelevant, fold order is
/// the caller's. The output may be either input. NaN is kept by max and min.
using FoldElements = void (*)(Reduce reduce, DType dtype, std::byte* output, const std::byte* left,
                              const std::byte* right, std::int64_t count);

/// The kernels of one kind of device, by op.
class KernelTable final : public KernelLookup {
 public:
  KernelTable(DeviceKind kind, std::string_view level, std::string_view library, FoldElements fold)
      : kind_(kind), level_(level), library_(library), fold_(fold) {}
  /// Error(usage) when there is one for that op.
  void add(std::span<const Kernel> kernels);
  /// Null when there is none for that op.
  [[nodiscard]] const Kernel* find(std::string_view op) const;
  [[nodiscard]] const Kernel* find(std::string_view op, DeviceKind kind) const override;
  [[nodiscard]] std::span<const Kernel* const> all() const { return kernels_; }
  [[nodiscard]] DeviceKind kind() const { return kind_; }
  /// The instruction set that the kernels are built for ("x86-64-v3"): speed, never bits.
  [[nodiscard]] std::string_view level() const { return level_; }
  /// Their library of matrix products and the code that it picked ("openblas-Haswell"). It decides bits, so it is part
  /// of the job's fingerprint.
  [[nodiscard]] std::string_view library() const { return library_; }
  [[nodiscard]] FoldElements fold() const { return fold_; }

 private:
  DeviceKind kind_;
  std::string level_, library_;
  FoldElements fold_;
  std::vector<const Kernel*> kernels_;  // sorted by op
};

/// A kernel, ready for one instruction.
struct BoundKernel {
  void (*run)(KernelRun&) = nullptr;
  std::unique_ptr<KernelState> state;  ///< KernelRun::state; may be null
};

/// Prepares a kernel of `table`. It gets float16 and bfloat16 as float32, bool, int8, uint8, int16 and uint16 as int32,
/// uint32 and uint64 as int64, where it does not take them; its results are rounded to the nearest, integers wrap
/// around (in two's complement, so that what int64 computes is right for uint64 too unless it divides, orders or
/// converts). An elementwise kernel stays one. Throws what Kernel::prepare throws.
[[nodiscard]] BoundKernel bind(const KernelTable& table, const Kernel& kernel, const KernelSetup& setup);

/// The CPU's kernels (kernels/cpu), for the highest instruction set of this machine that the build has.
[[nodiscard]] const KernelTable& cpu_kernels();
/// Those of each instruction set that this machine can run, the highest last. All give the same bits.
[[nodiscard]] std::span<const KernelTable> cpu_kernel_levels();

}  // namespace ferry
