// The common code of fold kernels (fold_kernel() in kernels/device.hpp) of all devices.
#pragma once

#include <algorithm>
#include <memory>
#include <string>

#include "base/error.hpp"
#include "kernels/device.hpp"

namespace ferry {

/// Checks the types of a fold kernel, for Kernel::prepare. There is no OpDef that checks them.
inline std::unique_ptr<KernelState> require_foldable(const KernelSetup& setup) {
  const bool one = setup.outputs.size() == 1;
  const auto is_like = [&](const Type& input) { return input == setup.outputs[0]; };
  if (!one || setup.inputs.empty() || setup.inputs.size() > kMostFoldInputs ||
      !std::ranges::all_of(setup.inputs, is_like))
    throw Error(Code::plan, "a fold on a device has one output, and 1 to {} inputs like it", kMostFoldInputs);
  return nullptr;
}

}  // namespace ferry
