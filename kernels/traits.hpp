// Traits: what kernels can do and need, as data. The planner, the verifier and the executor read it; kernel.hpp has how
// kernels run.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "graph/op/attrs.hpp"
#include "graph/types/device_spec.hpp"
#include "graph/types/dtype.hpp"
#include "graph/types/shape.hpp"

namespace ferry {

class FileSystem;
class KernelState;
struct KernelRun;

/// What is known of an instruction before the first step.
struct KernelSetup {
  std::string_view name;  ///< of the op, stable: keys random numbers
  const Attrs& attrs;
  std::span<const Type> inputs, outputs;  ///< local types; bounded dims at their bound
  FileSystem* files = nullptr;            ///< for data ops; null: there are none
  std::string_view data_folder;           ///< the only folder that data ops may read; empty: none
  std::uint64_t seed = 0;
  bool first = true;  ///< for kernels that say `effect`: no task with a lower number runs this op too
};

/// What most kernels compute in.
inline constexpr DTypeSet kComputed{DType::boolean, DType::int32, DType::int64, DType::float32, DType::float64};

/// How a kernel takes an input that is the same in every step: packed once, by the kernel of `op`, from that input
/// alone with this kernel's attributes. It then comes as one more input, the last.
struct Packing {
  std::uint32_t input = 0;
  std::string_view op = {};
  /// Of the packed input, which has one dim and the input's dtype, for an instruction without it; 0: it is of no use.
  std::int64_t (*elements)(const KernelSetup&) = nullptr;
};

/// The kernel of one op. Instances are constexpr and live for ever. It is run as bind() says: arrays of dtypes that it
/// does not take are given to it as wider ones.
///
///     constexpr Kernel kAddKernel{.op = "Add", .run = [](KernelRun& run) { … }, .in_place = 0b11};
struct Kernel {
  std::string_view op;                ///< OpDef::name
  void (*run)(KernelRun&) = nullptr;  ///< throws Error, of a value BadValue; never aborts
  std::unique_ptr<KernelState> (*prepare)(const KernelSetup&) = nullptr;
  std::int64_t (*scratch_bytes)(const KernelSetup&) = nullptr;
  std::uint32_t in_place = 0;  ///< mask of inputs whose bytes output 0 may take
  bool streams = false;        ///< heeds KernelRun::stream
  /// Element i of its one output depends on element i of each input, broadcast as numpy does. It heeds
  /// KernelRun::piece, needs no scratch, and does not change its state.
  bool elementwise = false;
  /// Elements of a row, where the kernel works by rows; null or 0: it does not. Input 0 consists of rows of so many
  /// elements, one after another, and what output 0 has of a row (as many elements, or one) depends on that row alone;
  /// of other inputs only the sizes count. It heeds KernelRun::piece and does not change its state.
  std::int64_t (*row)(const KernelSetup&) = nullptr;
  bool finishes = false;       ///< heeds KernelRun::finish; it has one output
  bool effect = false;         ///< does something besides its outputs, which one task is to do: KernelSetup::first
  DTypeSet takes = kComputed;  ///< of inputs and outputs, as they are
  Packing packing = {};        ///< elements null: it takes all inputs as they are
  /// Of integers that it does not take: results beyond their range become its ends. They wrap around otherwise.
  bool saturates = false;
};

/// Finds kernels by op and kind of device. What the planner, the verifier and the executor know of a kernel they read
/// in its Kernel. Thread-safe.
class KernelLookup {
 public:
  virtual ~KernelLookup() = default;
  /// Null when there is none.
  [[nodiscard]] virtual const Kernel* find(std::string_view op, DeviceKind kind) const = 0;
};

/// Bytes of KernelRun::scratch for the bound kernel.
[[nodiscard]] std::int64_t scratch_of(const Kernel& kernel, const KernelSetup& setup);
/// Kernel::row of the bound kernel: 0 where it widens or needs scratch.
[[nodiscard]] std::int64_t row_of(const Kernel& kernel, const KernelSetup& setup);

}  // namespace ferry
