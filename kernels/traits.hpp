// Traits: the abilities and needs of kernels, as data that the planner, the verifier and the executor read. kernel.hpp
// describes how kernels run.
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
struct Shifts;

/// The position of a part in its whole value: the sizes of the whole value, and where the part begins.
struct PlacedPart {
  std::span<const std::int64_t> whole, begin;  ///< one number for each dim
};

/// The facts about an instruction that are known before the first step.
struct KernelSetup {
  std::string_view name;  ///< the op's name, the same in every plan; it is in the keys of random numbers
  const Attrs& attrs;     ///< the op's attributes
  std::span<const Type> inputs, outputs;  ///< local types; bounded dims at their bound
  FileSystem* files = nullptr;            ///< for data ops; null: no files
  std::string_view data_folder;           ///< the only folder that data ops may read; empty: no folder
  std::uint64_t seed = 0;                 ///< ExecutionOptions::seed
  bool first = true;                      ///< for kernels with `effect`: no task with a lower number runs this op
  /// One entry per input, then per output; empty if no operand is a part of a split value. During planning, `begin` is
  /// empty because a plan is for many tasks.
  std::span<const PlacedPart> parts = {};
};

/// The dtypes that most kernels compute in.
inline constexpr DTypeSet kComputed{DType::boolean, DType::int32, DType::int64, DType::float32, DType::float64};

/// How an input that is the same in every step is packed once, in the setup. The kernel of `op` packs it, from that
/// input alone and with this kernel's attributes. The packed input is then added as the last input.
struct Packing {
  std::uint32_t input = 0;   ///< number of the input
  std::string_view op = {};  ///< the op that packs it
  /// The number of elements of the packed input, for an instruction that does not yet have it. The packed input has one
  /// dim and the dtype of the input. 0: packing does not help.
  std::int64_t (*elements)(const KernelSetup&) = nullptr;
};

/// Marks a kernel with elements of output 0 that are elements of its inputs at other positions, or all alike. It has
/// one output, and needs no scratch.
struct Shifting {
  /// Returns the sources of all elements, for arrays that have no bytes yet.
  Shifts (*shifts)(const KernelRun&) = nullptr;
  /// Whether consecutive elements of the output come from consecutive elements of the input.
  bool (*in_runs)(const Attrs&) = nullptr;
};

/// How generated code of a device computes an element of an elementwise kernel's output.
struct Scalar {
  std::string_view function = {};  ///< a functor of the device's library; empty: not in generated code
  DTypeSet of = kAnyType;          ///< input dtypes that the functor takes
};

/// The kernel of one op. Instances are constexpr and are never destroyed. A kernel runs through bind() (kernel.hpp),
/// which widens arrays of dtypes that the kernel does not take.
///
///     static constexpr Kernel kOne{.op = "One", .run = [](KernelRun& run) { *run.outputs[0].as<float>() = 1; }};
struct Kernel {
  std::string_view op;                ///< OpDef::name
  void (*run)(KernelRun&) = nullptr;  ///< throws Error, or BadValue for a bad value of an input; never aborts
  std::unique_ptr<KernelState> (*prepare)(const KernelSetup&) = nullptr;  ///< makes KernelRun::state, before step 0
  std::int64_t (*scratch_bytes)(const KernelSetup&) = nullptr;            ///< size of KernelRun::scratch
  std::uint32_t in_place = 0;  ///< mask of inputs; output 0 may be written into the bytes of these inputs
  bool streams = false;        ///< implements KernelRun::stream
  /// Set if element i of the only output depends only on element i of each input, broadcast as in numpy. Such a kernel
  /// implements KernelRun::piece, needs no scratch, and does not change its state.
  bool elementwise = false;
  /// Set if the kernel works by rows: returns the number of elements of a row, or 0 if this instruction does not work
  /// by rows. Input 0 consists of consecutive rows of this length. The part of output 0 for a row (as many elements, or
  /// one) depends only on that row, and on the sizes of other inputs. Such a kernel implements KernelRun::piece and
  /// does not change its state.
  std::int64_t (*row)(const KernelSetup&) = nullptr;
  Shifting shifting = {};      ///< null `shift`: the kernel does not shift elements
  bool finishes = false;       ///< implements KernelRun::finish, or on a device KernelRun::epilogue; it has one output
  bool effect = false;         ///< has a side effect, which only one task must have: KernelSetup::first
  DTypeSet takes = kComputed;  ///< dtypes of inputs and outputs that need no widening
  Packing packing = {};        ///< `elements` is null if no input is packed
  /// For integer dtypes that are widened: results beyond the range become the end of the range. If false, they wrap
  /// around.
  bool saturates = false;
  Scalar scalar = {};  ///< for a device: the replacement in generated code, which widens nothing
};

/// Finds kernels by op and kind of device. The planner, the verifier and the executor know kernels only as a Kernel.
/// Thread-safe.
class KernelLookup {
 public:
  virtual ~KernelLookup() = default;
  /// Returns null if there is no such kernel.
  [[nodiscard]] virtual const Kernel* find(std::string_view op, DeviceKind kind) const = 0;
};

/// The bytes of KernelRun::scratch that the bound kernel needs.
[[nodiscard]] std::int64_t scratch_of(const Kernel& kernel, const KernelSetup& setup);
/// Whether generated code can replace the kernel (Kernel::scalar).
[[nodiscard]] bool is_scalar(const Kernel& kernel, const KernelSetup& setup);
/// Kernel::row of the bound kernel; 0 if it widens or needs scratch.
[[nodiscard]] std::int64_t row_of(const Kernel& kernel, const KernelSetup& setup);

}  // namespace ferry
#pragma GCC visibility pop
