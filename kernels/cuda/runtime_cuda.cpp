#include <cuda_runtime_api.h>

#include <algorithm>

#include "kernels/cuda/optional_library.hpp"
#include "kernels/cuda/queue.hpp"
#include "kernels/cuda/runtime.hpp"

namespace ferry::cuda {

BadReport report_of(const KernelRun& run) {
  return static_cast<const Queue*>(run.queue)->report;
}

}  // namespace ferry::cuda

namespace ferry::cuda::runtime {
namespace {

cudaStream_t stream_at(void* stream) {
  return static_cast<cudaStream_t>(stream);
}

cudaEvent_t event_at(void* event) {
  return static_cast<cudaEvent_t>(event);
}

/// NVML, the driver's management library. It reports the free memory of a device without using the device. CUDA would
/// make a context on each device, even if other processes use the device, and that takes time and memory. The toolkit
/// may lack NVML's header, so this class declares the functions.
class Management {
 public:
  /// The free memory of a device; 0 if NVML does not report it.
  [[nodiscard]] std::uint64_t free_bytes(const char* bus_id) const {
    void* device = nullptr;
    Memory memory{};
    if (!works_ || device_at_(bus_id, &device) != 0 || memory_of_(device, &memory) != 0) return 0;
    return memory.free;
  }

 private:
  /// nvmlMemory_t
  struct Memory {
    unsigned long long total, free, used;
  };
  OptionalLibrary library_{"NVML", {"libnvidia-ml.so.1"}};
  int (*begin_)() = library_.find("nvmlInit_v2");
  int (*device_at_)(const char* bus_id, void** device) = library_.find("nvmlDeviceGetHandleByPciBusId_v2");
  int (*memory_of_)(void* device, Memory* memory) = library_.find("nvmlDeviceGetMemoryInfo");
  const bool works_ = library_.why().empty() && begin_() == 0;
};

}  // namespace

Description describe(int error) {
  const auto code = static_cast<cudaError_t>(error);
  Description is{std::string(cudaGetErrorName(code)) + ": " + cudaGetErrorString(code)};
  is.no_memory = code == cudaErrorMemoryAllocation;
  is.device_is_gone = code == cudaErrorDevicesUnavailable || code == cudaErrorECCUncorrectable ||
                      code == cudaErrorNvlinkUncorrectable || code == cudaErrorHardwareStackError ||
                      code == cudaErrorContained || code == cudaErrorTensorMemoryLeak || code == cudaErrorUnknown;
  return is;
}

int devices(std::string& why) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  int driver = 0, wanted = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&wanted);
  const auto version = [](int number) {
    return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10);
  };
  if (driver == 0)
    why = "this machine has no NVIDIA driver";
  else if (error == cudaErrorInsufficientDriver)
    why = "the NVIDIA driver knows CUDA " + version(driver) + ", and ferry needs " + version(wanted) +
          ": install a newer driver";
  else
    why = error == cudaSuccess ? "the driver finds no device" : describe(error).text;
  return 0;
}

int facts(int device, Facts& facts) {
  cudaDeviceProp properties{};
  if (const cudaError_t error = cudaGetDeviceProperties(&properties, device); error != cudaSuccess) return error;
  facts.name = properties.name;
  facts.major = properties.major;
  facts.minor = properties.minor;
  return cudaDriverGetVersion(&facts.driver);
}

std::uint64_t free_bytes(int device) {
  static const Management management;
  cudaDeviceProp properties{};
  if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) return 0;
  char bus_id[32] = {};
  std::uint64_t free = 0;
  if (cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, device) == cudaSuccess) free = management.free_bytes(bus_id);
  // NVML reports the memory of the whole device. A part of a device (MIG) has less.
  return free == 0 ? properties.totalGlobalMem : std::min<std::uint64_t>(free, properties.totalGlobalMem);
}

/// Compares architectures. Looking up a kernel would make a context on the device.
int has_code(int device) {
  Facts is;
  if (const int error = facts(device, is); error != 0) return error;
  constexpr int kArchitectures[] = {FERRY_GPU_ARCHITECTURES};
  const int least = *std::ranges::min_element(kArchitectures);  // newer devices run its PTX
  return is.major * 10 + is.minor >= least ? cudaSuccess : cudaErrorNoKernelImageForDevice;
}

int use(int device) {
  return cudaSetDevice(device);
}

int allocate(void** memory, std::uint64_t bytes) {
  return cudaMalloc(memory, bytes);
}

int release(void* memory) {
  return cudaFree(memory);
}

int allocate_shared(void** memory, std::uint64_t bytes) {
  return cudaHostAlloc(memory, bytes, cudaHostAllocMapped | cudaHostAllocPortable);
}

int release_shared(void* memory) {
  return cudaFreeHost(memory);
}

int lock(void* pages, std::uint64_t bytes) {
  return cudaHostRegister(pages, bytes, cudaHostRegisterMapped | cudaHostRegisterPortable);
}

int unlock(void* pages) {
  return cudaHostUnregister(pages);
}

int make_stream(void** stream) {
  return cudaStreamCreateWithFlags(reinterpret_cast<cudaStream_t*>(stream), cudaStreamNonBlocking);
}

int release_stream(void* stream) {
  return cudaStreamDestroy(stream_at(stream));
}

int finish(void* stream) {
  return cudaStreamSynchronize(stream_at(stream));
}

int make_event(void** event, bool timed) {
  return cudaEventCreateWithFlags(reinterpret_cast<cudaEvent_t*>(event),
                                  timed ? cudaEventDefault : cudaEventDisableTiming);
}

int release_event(void* event) {
  return cudaEventDestroy(event_at(event));
}

int record(void* event, void* stream) {
  return cudaEventRecord(event_at(event), stream_at(stream));
}

int wait(void* stream, void* event) {
  return cudaStreamWaitEvent(stream_at(stream), event_at(event), 0);
}

int query(void* event, bool& happened) {
  const cudaError_t said = cudaEventQuery(event_at(event));
  happened = said == cudaSuccess;
  return said == cudaErrorNotReady ? cudaSuccess : said;
}

int elapsed(void* from, void* to, double& milliseconds) {
  float time = 0;
  const cudaError_t error = cudaEventElapsedTime(&time, event_at(from), event_at(to));
  milliseconds = time;
  return error;
}

/// The mode allows other threads of the process, which are other tasks, to use CUDA during the capture.
int begin_capture(void* stream) {
  return cudaStreamBeginCapture(stream_at(stream), cudaStreamCaptureModeThreadLocal);
}

int end_capture(void* stream, void** graph) {
  cudaGraph_t captured = nullptr;
  if (const cudaError_t error = cudaStreamEndCapture(stream_at(stream), &captured); error != cudaSuccess) return error;
  const cudaError_t error = cudaGraphInstantiate(reinterpret_cast<cudaGraphExec_t*>(graph), captured, 0);
  cudaGraphDestroy(captured);
  return error;
}

int replay(void* stream, void* graph) {
  return cudaGraphLaunch(static_cast<cudaGraphExec_t>(graph), stream_at(stream));
}

int release_graph(void* graph) {
  return cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
}

int copy(void* stream, void* to, const void* from, std::uint64_t bytes) {
  return cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_at(stream));
}

int clear(void* stream, void* memory, std::uint64_t bytes) {
  return cudaMemsetAsync(memory, 0, bytes, stream_at(stream));
}

}  // namespace ferry::cuda::runtime
