// Traits: what kernels can do and need, as data, which the planner, the verifier and the executor read. How kernels are
// run is in kernel.hpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "graph/op/attrs.hpp"
#include "graph/types/device_spec.hpp"
#include "graph/types/dtype.hpp"
#include "graph/types/shape.hpp"

#pragma GCC visibility push(default)
namespace ferry {

class FileSystem;
class KernelState;
struct KernelRun;
struct Shift;

/// The position of a part in its whole value: the sizes of the whole value, and where the part begins.
struct PlacedPart {
  std::span<const std::int64_t> whole, begin;
};

/// The facts about an instruction that are known before the first step.
struct KernelSetup {
  std::string_view name;  ///< the op's name, which is the same in every plan: it keys random numbers
  const Attrs& attrs;
  std::span<const Type> inputs, outputs;  ///< local types; bounded dims at their bound
  FileSystem* files = nullptr;            ///< for data ops; null: there are none
  std::string_view data_folder;           ///< the only folder that data ops may read; empty: none
  std::uint64_t seed = 0;
  bool first = true;  ///< for kernels that say `effect`: no task with a lower number runs this op too
  /// Of the inputs, then the outputs; empty if none is a part of a split value. When a plan is made, `begin` is empty:
  /// it is for many tasks.
  std::span<const PlacedPart> parts = {};
};

/// The dtypes that most kernels compute in.
inline constexpr DTypeSet kComputed{DType::boolean, DType::int32, DType::int64, DType::float32, DType::float64};

/// How an input that is the same in every step may be packed once, in the setup: by the kernel of `op`, from that input
/// alone, with this kernel's attributes. The packed input is then added as the last input.
struct Packing {
  std::uint32_t input = 0;
  std::string_view op = {};
  /// The number of elements of the packed input, which has one dim and the input's dtype, given the instruction without
  /// it. 0: packing is of no use.
  std::int64_t (*elements)(const KernelSetup&) = nullptr;
};

/// Says of a kernel that most elements of output 0 are elements of input 0, at other places. Such a kernel can make any
/// part of its output, as an array with other `sizes` and `begin`; it has one output, and needs no scratch.
struct Shifting {
  /// Which elements, of arrays that have no bytes yet.
  Shift (*shift)(const KernelRun&) = nullptr;
  /// Whether consecutive elements come from consecutive ones.
  bool (*in_runs)(const Attrs&) = nullptr;
};

/// How code that is generated for a device computes an element of an elementwise kernel's output.
struct Scalar {
  std::string_view function = {};  ///< a functor of the device's library; empty: generated code has no such kernel
  DTypeSet of = kAnyType;          ///< dtypes of inputs for which it has
};

/// The kernel of one op. Instances are constexpr and live for ever. It is run through bind() (kernel.hpp), which widens
/// arrays of dtypes that it does not take.
///
///     constexpr Kernel kAddKernel{.op = "Add", .run = [](KernelRun& run) { … }, .in_place = 0b11};
struct Kernel {
  std::string_view op;                ///< OpDef::name
  void (*run)(KernelRun&) = nullptr;  ///< throws Error, for a bad value BadValue; never aborts
  std::unique_ptr<KernelState> (*prepare)(const KernelSetup&) = nullptr;
  std::int64_t (*scratch_bytes)(const KernelSetup&) = nullptr;
  std::uint32_t in_place = 0;  ///< mask of inputs; output 0 may be written into the bytes of these inputs
  bool streams = false;        ///< heeds KernelRun::stream
  /// Element i of its one output depends on element i of each input, broadcast as numpy does. It heeds
  /// KernelRun::piece, needs no scratch, and does not change its state.
  bool elementwise = false;
  /// Set if the kernel works by rows: the number of elements of a row, or 0 if it does not. Input 0 consists of
  /// consecutive rows with this many elements. The part of output 0 for a row (as many elements, or one) depends on
  /// that row alone. Only the sizes of other inputs are used. It heeds KernelRun::piece and does not change its state.
  std::int64_t (*row)(const KernelSetup&) = nullptr;
  Shifting shifting = {};      ///< `shift` null: it takes elements as it likes
  bool finishes = false;       ///< heeds KernelRun::finish, or on a device KernelRun::epilogue; it has one output
  bool effect = false;         ///< has an effect besides its outputs, which only one task must have: KernelSetup::first
  DTypeSet takes = kComputed;  ///< dtypes of inputs and outputs that it takes without widening
  Packing packing = {};        ///< `elements` null: no input is packed
  /// For integer dtypes that it does not take: results beyond the range become the end of the range. Otherwise they
  /// wrap around.
  bool saturates = false;
  Scalar scalar = {};  ///< of a device: how generated code, which widens nothing, does the same
};

/// Finds kernels by op and kind of device. The planner, the verifier and the executor know only what the Kernel says.
/// Thread-safe.
class KernelLookup {
 public:
  virtual ~KernelLookup() = default;
  /// Null when there is no such kernel.
  [[nodiscard]] virtual const Kernel* find(std::string_view op, DeviceKind kind) const = 0;
};

/// Bytes of KernelRun::scratch for the bound kernel.
[[nodiscard]] std::int64_t scratch_of(const Kernel& kernel, const KernelSetup& setup);
/// Whether generated code can take the kernel's place (Kernel::scalar).
[[nodiscard]] bool is_scalar(const Kernel& kernel, const KernelSetup& setup);
/// Kernel::row of the bound kernel: 0 where it widens or needs scratch.
[[nodiscard]] std::int64_t row_of(const Kernel& kernel, const KernelSetup& setup);

}  // namespace ferry
#pragma GCC visibility pop
