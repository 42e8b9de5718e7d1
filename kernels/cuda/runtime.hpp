// What ferry uses of the CUDA runtime, as functions of its own: runtime_cuda.cpp calls the real one,
// runtime_on_host.cpp stands for it in tests. Functions return 0 or an error, for describe(). They concern the current
// device, which use() chooses for the calling thread.
#pragma once

#include <cstdint>
#include <string>

namespace ferry::cuda::runtime {

/// The text of an error, and its consequence for the task.
struct Description {
  std::string text;             ///< "cudaErrorNoDevice: no CUDA-capable device is detected"
  bool no_memory = false;       ///< the request was too large, and all else can go on
  bool device_is_gone = false;  ///< nothing that this process does brings it back
};
[[nodiscard]] Description describe(int error);

/// The number of devices; `why` says why there are none.
[[nodiscard]] int devices(std::string& why);
struct Facts {
  std::string name;          ///< "NVIDIA H100 80GB HBM3"
  int major = 0, minor = 0;  ///< compute capability
  int driver = 0;            ///< CUDA version that the driver knows, as 13000 for 13.0
};
int facts(int device, Facts& facts);
/// The memory of the device that nobody uses, or all of it where that is not known. 0: nothing is known.
std::uint64_t free_bytes(int device);
/// Whether this library has code for the device.
int has_code(int device);

int use(int device);
int allocate(void** memory, std::uint64_t bytes);
int release(void* memory);
/// Memory of the host that devices can use, too, at the same address.
int allocate_shared(void** memory, std::uint64_t bytes);
int release_shared(void* memory);
/// Lets devices use pages of the host's memory, until unlock() of the same address.
int lock(void* pages, std::uint64_t bytes);
int unlock(void* pages);

int make_stream(void** stream);
int release_stream(void* stream);
int finish(void* stream);  ///< returns when all its work is done
int make_event(void** event, bool timed);
int release_event(void* event);
int record(void* event, void* stream);
int wait(void* stream, void* event);
int query(void* event, bool& happened);
/// Of two timed events that have happened on one device.
int elapsed(void* from, void* to, double& milliseconds);

/// What the stream is given from now on is kept, not done, until end_capture() makes a graph of it: by copy(), clear()
/// and launches. The thread may do nothing else meanwhile that needs the device.
int begin_capture(void* stream);
int end_capture(void* stream, void** graph);
int replay(void* stream, void* graph);
int release_graph(void* graph);

int copy(void* stream, void* to, const void* from, std::uint64_t bytes);
int clear(void* stream, void* memory, std::uint64_t bytes);

}  // namespace ferry::cuda::runtime
