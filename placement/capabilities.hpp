// Capabilities: what the kernels of the job can do, as planning sees it. The executor fills it from its kernel tables.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "graph/op/op_def.hpp"
#include "graph/types/device_spec.hpp"

namespace ferry {

/// An input that a kernel takes in another form where it is the same in every step: as the one output of another
/// kernel.
struct PackedInput {
  std::uint32_t input = 0;
  std::string_view by;        ///< that kernel's op
  std::int64_t elements = 0;  ///< of the input's dtype; 0: it is taken as it is
};

class Capabilities {
 public:
  virtual ~Capabilities() = default;
  [[nodiscard]] virtual bool has_kernel(std::string_view op, DeviceKind kind) const = 0;
  /// Mask of the inputs whose bytes output 0 may take.
  [[nodiscard]] virtual std::uint32_t in_place(std::string_view op, DeviceKind kind) const = 0;
  /// Whether the kernel can compute any run of elements of its output alone, from those of its inputs.
  [[nodiscard]] virtual bool elementwise(std::string_view op, DeviceKind kind) const = 0;
  /// Whether the kernel tells of each piece of its output as soon as it is there.
  [[nodiscard]] virtual bool finishes(std::string_view, DeviceKind) const { return false; }
  /// Whether the kernel writes its output from end to end, so that it may lie far away.
  [[nodiscard]] virtual bool streams(std::string_view, DeviceKind) const { return false; }
  /// Whether row() may be other than 0.
  [[nodiscard]] virtual bool works_by_rows(std::string_view, DeviceKind) const { return false; }
  /// Elements of a row of input 0, if what the kernel makes of such a row (as many elements, or one) depends on that
  /// row alone; else 0.
  [[nodiscard]] virtual std::int64_t row(std::string_view, DeviceKind, const Attrs&, std::span<const Type>,
                                         std::span<const Type>) const {
    return 0;
  }
  /// Whether scratch_bytes() may be other than 0 when the kernel takes all dtypes at hand as they are.
  [[nodiscard]] virtual bool has_scratch(std::string_view op, DeviceKind kind) const = 0;
  /// The dtypes that the kernel takes as they are. Others may need scratch, to be widened in.
  [[nodiscard]] virtual DTypeSet takes(std::string_view op, DeviceKind kind) const = 0;
  /// Whether packed_input() may be other than none.
  [[nodiscard]] virtual bool packs(std::string_view, DeviceKind) const { return false; }
  /// What is to come as one more input of the kernel.
  [[nodiscard]] virtual PackedInput packed_input(std::string_view, DeviceKind, const Attrs&, std::span<const Type>,
                                                 std::span<const Type>) const {
    return {};
  }
  /// Bytes that one run of the kernel needs besides inputs and outputs.
  [[nodiscard]] virtual std::int64_t scratch_bytes(const OpDef& def, DeviceKind kind, const Attrs& attrs,
                                                   std::span<const Type> inputs,
                                                   std::span<const Type> outputs) const = 0;
};

}  // namespace ferry
