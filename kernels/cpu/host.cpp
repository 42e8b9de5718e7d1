#include <algorithm>

#include "base/system/machine.hpp"
#include "kernels/cpu/kernels.hpp"

namespace ferry::cpu {
namespace {

void write_host_name(KernelRun& run) {
  Array& output = run.outputs[0];
  const std::string name = this_host_name();
  const auto length = std::min<std::int64_t>(static_cast<std::int64_t>(name.size()), output.count());
  std::fill_n(std::copy_n(name.begin(), length, output.as<char>()), output.count() - length, '\0');
}

constexpr Kernel kKernels[] = {{.op = "HostName", .run = write_host_name, .takes = {DType::uint8}}};

}  // namespace

std::span<const Kernel> host_kernels() {
  return kKernels;
}

}  // namespace ferry::cpu
