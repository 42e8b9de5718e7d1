// Replaces dnn_library.cpp in a plug-in that is built without the headers of cuDNN.
#include "base/error.hpp"
#include "kernels/cuda/image/dnn.hpp"

namespace ferry::cuda {

std::string why_no_dnn() {
  return "the plug-in was built without headers of cuDNN 9.8 or later";
}

std::unique_ptr<const DnnPlan> choose_plan(const DnnConvolution&, std::uint32_t, std::size_t, const std::string&) {
  return nullptr;
}

void convolve(const KernelRun&, const DnnPlan&, std::byte*, std::byte*, std::byte*, std::span<std::byte>) {
  FERRY_ASSERT(false, "there is no library of convolutions");
}

}  // namespace ferry::cuda
