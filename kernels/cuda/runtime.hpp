// The functions of the CUDA runtime that ferry uses. runtime_cuda.cpp calls the runtime; runtime_on_host.cpp replaces
// it in tests. Functions return 0 or an error for describe(). They apply to the current device, which use() chooses for
// the calling thread.
#pragma once

#include <cstdint>
#include <string>

namespace ferry::cuda::runtime {

/// The text of an error, and its consequence for the task.
struct Description {
  std::string text;             ///< "cudaErrorNoDevice: no CUDA-capable device is detected"
  bool no_memory = false;       ///< the request was too large; other calls still work
  bool device_is_gone = false;  ///< this process cannot use the device any more
};
[[nodiscard]] Description describe(int error);

/// The number of devices. If there are none, sets `why` to the reason.
[[nodiscard]] int devices(std::string& why);
struct Facts {
  std::string name;          ///< "NVIDIA H100 80GB HBM3"
  int major = 0, minor = 0;  ///< compute capability
  int driver = 0;            ///< the newest CUDA version that the driver supports, 13000 for 13.0
};
int facts(int device, Facts& facts);
/// The free memory of the device, or its whole memory if the free memory is unknown. 0: both are unknown.
std::uint64_t free_bytes(int device);
/// Returns an error if this plug-in has no code for the device.
int has_code(int device);

int use(int device);
int allocate(void** memory, std::uint64_t bytes);
int release(void* memory);
/// Allocates memory of the host that devices can use at the same address.
int allocate_shared(void** memory, std::uint64_t bytes);
int release_shared(void* memory);
/// Lets devices use pages of the host's memory, until unlock() of the same address.
int lock(void* pages, std::uint64_t bytes);
int unlock(void* pages);

int make_stream(void** stream);
int release_stream(void* stream);
int finish(void* stream);  ///< waits until all work of the stream is done
int make_event(void** event, bool timed);
int release_event(void* event);
int record(void* event, void* stream);
int wait(void* stream, void* event);
int query(void* event, bool& happened);
/// The time between two timed events of one device. Both must have happened.
int elapsed(void* from, void* to, double& milliseconds);

/// From now on the stream keeps the work of copy(), clear() and launches, and does not do it. end_capture() makes a
/// graph of this work. Between the two calls, the thread must not use the device in any other way.
int begin_capture(void* stream);
int end_capture(void* stream, void** graph);
int replay(void* stream, void* graph);
int release_graph(void* graph);

int copy(void* stream, void* to, const void* from, std::uint64_t bytes);
int clear(void* stream, void* memory, std::uint64_t bytes);

}  // namespace ferry::cuda::runtime
