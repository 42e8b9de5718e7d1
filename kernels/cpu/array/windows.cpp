// Kernels of CutHalo and Window of ops/control/comm.hpp. These ops read a value at shifted positions, and neighbour
// tasks hold parts of the value.
#include "kernels/cpu/array/mover.hpp"
#include "kernels/cpu/kernels.hpp"
#include "kernels/shared/move_windows.hpp"

namespace ferry::cpu {
namespace {

constexpr Kernel kKernels[] = {
    {.op = "CutHalo", .run = moving::cut_halo<CpuMover>, .prepare = moving::prepare_halo, .takes = kAnyType},
    {.op = "Window",
     .run = moving::window<CpuMover>,
     .prepare = moving::prepare_window,
     .shifting = {.shifts =
                      [](const KernelRun& run) {
                        return moving::WindowCopy<CpuMover>(run, kept<moving::WindowState>(run)).shifts();
                      },
                  .in_runs =
                      [](const Attrs& attrs) {
                        const auto& steps = attrs.get<Ints>("step");
                        return steps.empty() || steps.back() == 1;
                      }},
     .takes = kAnyType},
};

}  // namespace

std::span<const Kernel> window_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
