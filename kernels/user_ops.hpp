// User-defined ops in a library that the `ferry` command loads: ferry run --ops libmine.so (docs/guide/user_ops.md).
//
// The library defines one function. It need not be linked with ferry, because the command provides ferry's symbols.
#pragma once

#include <array>
#include <cstdint>

#include "graph/op/op_def.hpp"
#include "kernels/kernel.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The ops and the CPU kernels of a command.
struct UserOps {
  OpSet ops;            ///< the definitions of all ops
  KernelTable kernels;  ///< their kernels on the CPU
};

/// The memory layout of the types that a library and the command use together. Both must have the same layout.
using OpsLayout = std::array<std::uint32_t, 12>;
inline constexpr OpsLayout kOpsLayout{sizeof(OpDef),       sizeof(AttrDef),   sizeof(OpSet), sizeof(KernelTable),
                                      sizeof(Kernel),      sizeof(KernelRun), sizeof(Array), sizeof(KernelSetup),
                                      sizeof(KernelState), sizeof(Shape),     sizeof(Attrs), std::size(kDTypes)};

}  // namespace ferry

/// Adds this library's ops and their kernels. The command calls it once, before it reads a graph. An exception ends the
/// command. Adding a name that exists already throws Error(usage).
extern "C" void ferry_add_ops(ferry::UserOps& to);

/// Returns the layout of the types with which this library was compiled, for the `ferry` command.
extern "C" [[gnu::used, gnu::visibility("default")]] inline const ferry::OpsLayout* ferry_ops_layout() {
  return &ferry::kOpsLayout;
}
#pragma GCC visibility pop
