#include "kernels/kernel.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace ferry {
namespace {

auto place_of(const std::vector<const Kernel*>& kernels, std::string_view op) {
  return std::lower_bound(kernels.begin(), kernels.end(), op,
                          [](const Kernel* kernel, std::string_view wanted) { return kernel->op < wanted; });
}

}  // namespace

void KernelTable::add(std::span<const Kernel> kernels) {
  for (const Kernel& kernel : kernels) {
    const auto at = place_of(kernels_, kernel.op);
    if (at != kernels_.end() && (*at)->op == kernel.op)
      throw Error(Code::usage, "op '" + std::string(kernel.op) + "' has two kernels");
    kernels_.insert(at, &kernel);
  }
}

const Kernel* KernelTable::find(std::string_view op) const {
  const auto at = place_of(kernels_, op);
  return at != kernels_.end() && (*at)->op == op ? *at : nullptr;
}

const Kernel* KernelTable::find(std::string_view op, DeviceKind kind) const {
  return kind == kind_ ? find(op) : nullptr;
}

}  // namespace ferry
