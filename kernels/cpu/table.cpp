#include "kernels/cpu/kernels.hpp"

namespace ferry {

const KernelTable& cpu_kernels() {
  static const KernelTable table = [] {
    KernelTable made(DeviceKind::cpu, "x86-64");
    made.add(cpu::unary_kernels());
    made.add(cpu::binary_kernels());
    made.add(cpu::cast_kernels());
    return made;
  }();
  return table;
}

}  // namespace ferry
