#include <cuda_runtime_api.h>

#include <algorithm>

#include "base/error.hpp"
#include "kernels/cuda/queue.hpp"
#include "kernels/cuda/region/compiler.hpp"

namespace ferry::cuda {
namespace {

constexpr std::int64_t kThreadsOfBlock = 256;  // as loop.hpp has it
constexpr std::int64_t kMostBlocksOfGrid = 1 << 20;

void require_loaded(cudaError_t error) {
  if (error == cudaSuccess) return;
  throw Error(Code::resource, std::string("a GPU cannot load a generated kernel: ") + cudaGetErrorName(error) + ": " +
                                  cudaGetErrorString(error));
}

class CodeOnGpu final : public RegionCode {
 public:
  explicit CodeOnGpu(const std::string& code) {
    require_loaded(cudaLibraryLoadData(&library_, code.data(), nullptr, nullptr, 0, nullptr, nullptr, 0));
    if (const cudaError_t error = cudaLibraryGetKernel(&kernel_, library_, "ferry_region"); error != cudaSuccess) {
      cudaLibraryUnload(library_);
      require_loaded(error);
    }
  }
  ~CodeOnGpu() override { cudaLibraryUnload(library_); }
  CodeOnGpu(const CodeOnGpu&) = delete;
  CodeOnGpu& operator=(const CodeOnGpu&) = delete;

  void launch(const KernelRun& run, std::int64_t groups, std::span<const std::int64_t> arguments) const override {
    cudaLaunchConfig_t config{};
    config.gridDim =
        static_cast<unsigned>(std::min((groups + kThreadsOfBlock - 1) / kThreadsOfBlock, kMostBlocksOfGrid));
    config.blockDim = static_cast<unsigned>(kThreadsOfBlock);
    config.stream = static_cast<cudaStream_t>(static_cast<const Queue*>(run.queue)->stream);
    void* given[] = {const_cast<std::int64_t*>(arguments.data())};
    require_launched(cudaLaunchKernelExC(&config, kernel_, given));
  }

 private:
  cudaLibrary_t library_ = nullptr;
  cudaKernel_t kernel_ = nullptr;
};

}  // namespace

std::shared_ptr<const RegionCode> load_region(const std::string& code) {
  return std::make_shared<CodeOnGpu>(code);
}

}  // namespace ferry::cuda
