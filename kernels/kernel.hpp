// Kernel: the code that computes one op on one kind of device. Kernels know ops; ops never know kernels.
#pragma once

#include <algorithm>
#include <array>
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

#pragma GCC visibility push(default)
namespace ferry {

/// An array as a kernel sees it: row-major, with its local sizes and, for a part of a split value, the part's position
/// in the whole value.
struct Array {
  std::byte* data = nullptr;            ///< the first element
  DType dtype = DType::float32;         ///< of the elements
  std::span<std::int64_t> sizes;        ///< local sizes; sizes[0] of a bounded value is the extent in this step
  std::span<const std::int64_t> whole;  ///< sizes of the whole value (equal to `sizes` when it is not split)
  std::span<const std::int64_t> begin;  ///< the position of this part in the whole value
  bool bounded = false;                 ///< sizes[0] is an extent, which may differ from step to step
  /// For each dim that is split along one mesh axis: the number of this part, also if the part has no elements. May be
  /// empty if no dim is split.
  std::span<const std::int64_t> place = {};

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

/// Divides a range among the threads of the task. Thread-safe. Chunks are [begin, end) with end - begin <= grain. They
/// depend only on n and grain, never on the number of threads, so a fold in the order of chunks gives the same bits for
/// any number of threads.
class Parallel {
 public:
  virtual ~Parallel() = default;
  using Body = std::function<void(std::int64_t begin, std::int64_t end)>;
  virtual void for_each(std::int64_t n, std::int64_t grain, const Body& body) = 0;
  [[nodiscard]] virtual int threads() const = 0;
};

/// Runs all chunks on the calling thread.
class ThisThread final : public Parallel {
 public:
  void for_each(std::int64_t n, std::int64_t grain, const Body& body) override {
    for (std::int64_t begin = 0; begin < n; begin += grain) body(begin, std::min(n, begin + grain));
  }
  [[nodiscard]] int threads() const override { return 1; }
};

/// The data that a kernel keeps from step to step (decoded attributes, tables, open files). Each instruction has its
/// own.
class KernelState {
 public:
  virtual ~KernelState() = default;
};

/// Elements of an array: `rows` runs of consecutive elements. The first run is [first, last). Each next run begins
/// `row_step` elements after the beginning of the run before.
struct Piece {
  std::int64_t first = 0, last = -1;
  std::int64_t rows = 1, row_step = 0;

  /// Calls f(begin, end) for each run.
  template <class F>
  void each_row(const F& f) const {
    for (std::int64_t row = 0; row < rows; ++row) f(first + row * row_step, last + row * row_step);
  }
};

/// An epilogue: work on elements of a kernel's output as soon as they are computed, while they are in the cache.
class Finish {
 public:
  virtual ~Finish() = default;
  /// Thread-safe for pieces without common elements.
  virtual void operator()(const Piece& piece) const = 0;
};

/// The loop of an elementwise kernel: a function that computes any consecutive elements, without the overhead of
/// running the kernel.
struct ElementLoop {
  static constexpr int kMostInputs = 3;
  /// Computes `n` elements at `out` from the elements at in[i]. If moves[i] is false, uses the one element at in[i] for
  /// all.
  void (*compute)(std::byte* out, std::int64_t n, const bool* moves, const std::byte* const* in) = nullptr;
  bool moves[kMostInputs] = {};         ///< argument of compute()
  std::int64_t step[kMostInputs] = {};  ///< bytes between consecutive elements of each input; 0: it does not move
  std::int64_t out_step = 0;
};

/// Thrown by a kernel if an input has a bad value: an index out of range, a divisor of zero. The executor finds the
/// source of the value of input number `input`, adds it to the message, and sets the exit code accordingly
/// (docs/reference/exit_codes.md).
class BadValue : public Error {
 public:
  BadValue(std::size_t input, std::string message) : Error(Code::program, std::move(message)), input_(input) {}
  [[nodiscard]] std::size_t input() const noexcept { return input_; }

 private:
  std::size_t input_;
};

/// A source of output elements of a kernel (Kernel::shifting). Output element k, with first[d] <= k[d] < last[d] along
/// each dim d, is element `from` + Σ k[d] * step[d] of an input, counted row-major.
struct Shift {
  std::uint32_t input = 0;
  std::vector<std::int64_t> first, last, step;
  std::int64_t from = 0;
};

/// All sources of the output elements of a kernel. Elements that come from none of the shifts have the bytes `fill`.
struct Shifts {
  std::vector<Shift> all;
  std::array<std::byte, sizeof(std::uint64_t)> fill = {};
};

struct DeviceEpilogue;

/// One run of a kernel.
struct KernelRun {
  std::span<const Array> inputs;  ///< the op's inputs, in order
  std::span<Array> outputs;       ///< a kernel with a bounded output sets sizes[0] to its extent
  KernelState* state = nullptr;   ///< from Kernel::prepare
  std::span<std::byte> scratch;   ///< Kernel::scratch_bytes of memory
  Parallel& parallel;             ///< the threads of the task
  bool stream = false;       ///< this task does not read output 0 soon: write it around the caches (cache_lines.hpp)
  const std::int64_t& step;  ///< number of this step in the session, restored with checkpoints
  std::span<const std::int64_t> iterations;  ///< the iterations of the enclosing loops, outermost first
  /// For a kernel that is `elementwise`: it computes only these elements of output 0, on this thread. In other arrays
  /// with as many elements as the output, it accesses only these elements. For a kernel that works by rows: these are
  /// elements of whole rows of input 0. The kernel computes the elements of output 0 for these rows, and accesses no
  /// other rows. last < 0: all elements.
  Piece piece = {};
  /// For a kernel that `finishes`: the kernel calls this once for each element of output 0 when the element is
  /// complete, on the thread that computed it. The kernel does not access the element afterwards. Null: the kernel
  /// calls nothing.
  const Finish* finish = nullptr;
  /// For a kernel that is `elementwise`: if not null, the kernel may fill in this loop, for pieces of any elements,
  /// instead of computing `piece`. Filling it in takes as long as computing some hundred elements, so it pays for
  /// several pieces.
  ElementLoop* loop = nullptr;
  /// For a kernel of a device: the queue to which it submits its work, without waiting for the work
  /// (kernels/device.hpp). Null: the kernel computes before it returns.
  void* queue = nullptr;
  /// For a kernel of a device that `finishes`: the kernel applies this epilogue to output 0. Null: there is no
  /// epilogue.
  DeviceEpilogue* epilogue = nullptr;
};

/// output[i] = left[i] (+|max|min) right[i], for the folds of collectives. The order of elements does not matter, and
/// the caller chooses the order of folds. The output may be either input. max and min propagate NaN.
using FoldElements = void (*)(Reduce reduce, DType dtype, std::byte* output, const std::byte* left,
                              const std::byte* right, std::int64_t count);

/// One op of a chain of elementwise ops. It takes the value of the op before, and one more operand.
struct ChainStep {
  enum class Op : std::uint8_t {
    load,      ///< the operand itself; the first step of a chain
    add,       ///< value + operand
    sub,       ///< value - operand
    sub_from,  ///< operand - value
    mul        ///< value * operand
  };
  Op op = Op::load;
  bool moves = true;  ///< false: the operand is one element, which is used for all
  std::uint32_t operand = 0;
};

/// Computes `n` elements of a chain of ops on float32 or float64, with the bits of the ops one after another. Operand k
/// is at operands[k]. The output may be an operand itself, but may not overlap one otherwise.
using ComputeChain = void (*)(DType dtype, std::span<const ChainStep> steps, const std::byte* const* operands,
                              std::byte* out, std::int64_t n);

/// The kernels of one kind of device, by op.
class KernelTable final : public KernelLookup {
 public:
  KernelTable(DeviceKind kind, std::string_view level, std::string_view library, FoldElements fold,
              ComputeChain chain = nullptr)
      : kind_(kind), level_(level), library_(library), fold_(fold), chain_(chain) {}
  /// Throws Error(usage) if an op has a kernel already.
  void add(std::span<const Kernel> kernels);
  /// Returns null if there is no kernel for the op.
  [[nodiscard]] const Kernel* find(std::string_view op) const;
  [[nodiscard]] const Kernel* find(std::string_view op, DeviceKind kind) const override;
  [[nodiscard]] std::span<const Kernel* const> all() const { return kernels_; }
  [[nodiscard]] DeviceKind kind() const { return kind_; }
  /// The instruction set that the kernels are built for ("x86-64-v3"). It affects speed, never results.
  [[nodiscard]] std::string_view level() const { return level_; }
  /// The library of the matrix products, and its code for this machine ("openblas-Haswell"). It affects the bits of
  /// results, so it is part of the job's fingerprint.
  [[nodiscard]] std::string_view library() const { return library_; }
  [[nodiscard]] FoldElements fold() const { return fold_; }
  /// Null if ops run one after another.
  [[nodiscard]] ComputeChain chain() const { return chain_; }

 private:
  DeviceKind kind_;
  std::string level_, library_;
  FoldElements fold_;
  std::vector<const Kernel*> kernels_;  // sorted by op
  ComputeChain chain_;
};

/// A kernel that is ready for one instruction.
struct BoundKernel {
  void (*run)(KernelRun&) = nullptr;
  std::unique_ptr<KernelState> state;  ///< KernelRun::state; may be null
};

/// Prepares a kernel of `table`. Dtypes that the kernel does not take are widened for it: float16 and bfloat16 to
/// float32; bool, int8, uint8, int16 and uint16 to int32; uint32 and uint64 to int64. The kernel's results are
/// converted back. Floats are rounded to the nearest. Integers wrap around in two's complement, so that int64
/// arithmetic is right for uint64 too, except for division, comparison and conversion. An elementwise kernel remains
/// elementwise. Throws the errors of Kernel::prepare.
[[nodiscard]] BoundKernel bind(const KernelTable& table, const Kernel& kernel, const KernelSetup& setup);

/// Elementwise kernels that are fused into one kernel on a device, from a tile region of a plan. Values have numbers:
/// first the values of KernelRun::inputs, then the values of KernelRun::outputs, then the values inside the region.
struct FusedKernels {
  struct Member {
    const Kernel* kernel = nullptr;  ///< is_scalar()
    std::vector<std::uint32_t> inputs;
    std::uint32_t output = 0;
  };
  std::vector<Type> values;  ///< all outputs of members have equal counts; inputs also, or they are broadcast
  std::uint32_t inputs = 0, outputs = 0;
  std::vector<Member> members;  ///< in order: a member reads inputs and the outputs of members before it
};

/// An epilogue for a device's kernel: a generated kernel that changes the kernel's output in place. The kernel calls
/// follow() after submitting its own work, or does the same in another way, with the same bits.
struct DeviceEpilogue {
  FusedKernels kernels;  ///< their last input is the kernel's output; their one output has the same bytes
  BoundKernel generated;
  std::vector<Array> arrays;  ///< the inputs, then the output

  [[nodiscard]] std::span<const Array> inputs() const { return std::span(arrays).first(kernels.inputs); }
  /// Submits the generated kernel to the queue of `made`, the run that computes the last input.
  void follow(const KernelRun& made) {
    KernelRun run{.inputs = inputs(),
                  .outputs = std::span(arrays).last(1),
                  .state = generated.state.get(),
                  .scratch = {},
                  .parallel = made.parallel,
                  .step = made.step,
                  .iterations = made.iterations,
                  .queue = made.queue};
    generated.run(run);
  }
};

/// The CPU's kernels (kernels/cpu), for the highest instruction set that this machine can run and the build has.
[[nodiscard]] const KernelTable& cpu_kernels();
/// The kernels for each instruction set that this machine can run, the highest last. All give the same bits.
[[nodiscard]] std::span<const KernelTable> cpu_kernel_levels();

}  // namespace ferry
#pragma GCC visibility pop
