// Ops of one's own in a library that the `ferry` command loads: ferry run --ops libmine.so (docs/guide/user_ops.md).
//
// The library defines one function. It need not be linked with ferry, because the command provides ferry's symbols.
//
//     #include <ferry/kernels/user_ops.hpp>
//     constexpr ferry::OpDef kHypot{.name = "Hypot", …};
//     constexpr ferry::Kernel kKernels[] = {{.op = "Hypot", .run = …}};
//     void ferry_add_ops(ferry::UserOps& to) {
//       to.ops.add(kHypot);
//       to.kernels.add(kKernels);
//     }
#pragma once

#include <array>
#include <cstdint>

#include "graph/op/op_def.hpp"
#include "kernels/kernel.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The ops and the CPU kernels that a command knows.
struct UserOps {
  OpSet ops;
  KernelTable kernels;
};

/// What a library and the command that loads it must agree on: the memory layout of the types that both use.
using OpsLayout = std::array<std::uint32_t, 12>;
inline constexpr OpsLayout kOpsLayout{sizeof(OpDef),       sizeof(AttrDef),   sizeof(OpSet), sizeof(KernelTable),
                                      sizeof(Kernel),      sizeof(KernelRun), sizeof(Array), sizeof(KernelSetup),
                                      sizeof(KernelState), sizeof(Shape),     sizeof(Attrs), std::size(kDTypes)};

}  // namespace ferry

/// Adds this library's ops and their kernels. Called once by the command, before a graph is read. An exception that it
/// throws ends the command; adding a name that is taken throws Error(usage).
extern "C" void ferry_add_ops(ferry::UserOps& to);

/// Tells the `ferry` command the layout of the types that this library was compiled with.
extern "C" [[gnu::used, gnu::visibility("default")]] inline const ferry::OpsLayout* ferry_ops_layout() {
  return &ferry::kOpsLayout;
}
#pragma GCC visibility pop
