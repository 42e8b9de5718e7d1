// The simulated devices that a task has opened: memory, queues, events, and the order between them.
#pragma once

#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/system/clock.hpp"
#include "kernels/device.hpp"
#include "kernels/shared/group_on_host.hpp"
#include "kernels/sim/memory.hpp"

namespace ferry::sim {

inline constexpr int kDevices = 8;

struct SimTask;

/// A work item of a queue: a kernel, a copy, the results of a collective, or the time stamp of a timed event.
struct Work {
  std::uint32_t number = 0;  ///< its number on its queue, from 1
  DeviceLaunch launch{};     ///< for a copy `kernel` is null
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
  std::vector<GroupsOnHost::Result> results;
  std::shared_ptr<TimePoint> stamp;                            ///< receives the time when the queue gets here
  std::vector<std::pair<std::uint32_t, std::uint32_t>> after;  ///< strand and number of work that must be done first
};

/// The arguments of a kernel, except for its operands' elements.
struct KernelArguments {
  explicit KernelArguments(const KernelRun& run)
      : state_(run.state), scratch_(run.scratch.data()), step_(&run.step), iterations_(run.iterations.data()) {
    const std::span<const Array> epilogue = run.epilogue == nullptr ? std::span<const Array>() : run.epilogue->arrays;
    for (const std::span<const Array> arrays : {run.inputs, std::span<const Array>(run.outputs), epilogue})
      for (const Array& array : arrays)
        arrays_.push_back({array.data, array.dtype, {array.sizes.begin(), array.sizes.end()}});
  }
  bool operator==(const KernelArguments&) const = default;

 private:
  struct ArrayArgument {
    const std::byte* data;
    DType dtype;
    std::vector<std::int64_t> sizes;
    bool operator==(const ArrayArgument&) const = default;
  };
  const KernelState* state_;
  const std::byte* scratch_;
  const std::int64_t *step_, *iterations_;
  std::vector<ArrayArgument> arrays_;
};

/// The work that a queue has captured (as in a CUDA graph).
struct CapturedGraph {
  SimTask* context = nullptr;
  std::uint32_t strand = 0;  ///< the strand of the capturing queue
  std::vector<Work> work;
  std::vector<KernelArguments> arguments;  ///< arguments of the kernels in `work`
  std::uint32_t last = 0;                  ///< number of the last work item that a replay has put on the queue
};

struct SimQueue {
  SimTask* context = nullptr;
  int device = 0;
  std::uint32_t strand = 0;
  VectorClock vector_clock;  ///< clock of the work that is ordered before the next work item
  std::uint32_t given = 0, done = 0;
  std::deque<Work> waiting;                                    ///< work items that are not done yet
  std::vector<std::pair<std::uint32_t, std::uint32_t>> after;  ///< Work::after of the next work item
};

struct Event {
  SimTask* context = nullptr;
  VectorClock at;  ///< clock of the work that has happened when the event has; empty: never recorded
  std::uint32_t strand = 0, number = 0;
  std::shared_ptr<TimePoint> stamp;  ///< null for an event that is not timed
};

/// The devices that one task has opened, with their queues and memory.
struct SimTask {
  SimTask(std::uint64_t seed, GroupsOnHost& groups) : random(seed), groups(groups), host(1, 0) {}

  std::mt19937_64 random;
  GroupsOnHost& groups;
  VectorClock host;  ///< clock of the work that the host has waited for; the host's own entry counts its accesses
  std::list<std::unique_ptr<SimQueue>> queues;
  std::vector<SimQueue*> by_strand{nullptr};  ///< null: the host, or a queue that has been released
  struct Memory {
    int device;
    Mapping mapping;
  };
  std::vector<std::unique_ptr<Memory>> memory;
  std::vector<std::pair<const std::byte*, std::uint64_t>> host_memory;
  Touches touches;
  std::map<int, Moment> last_collective;   ///< by device
  std::unique_ptr<CapturedGraph> capture;  ///< the graph being captured; null: none
  std::optional<DeviceFailure> failure;
  std::string text;
};

/// Records a failure unless there is one already. Returns -1.
int fail(SimTask& context, Code code, std::string text, const void* tag, std::int64_t input = -1);
/// Adds all that `other` knows to `clock`.
void merge_clock(VectorClock& clock, const VectorClock& other);
[[nodiscard]] std::string name_of(const SimTask& context, std::uint32_t strand);
/// The device memory that contains all these bytes; null if there is none.
[[nodiscard]] const SimTask::Memory* memory_of(const SimTask& context, const std::byte* at, std::uint64_t bytes);
/// Records an access. Returns 0, or -1 on a race.
int touch(SimTask& context, const std::byte* memory, std::uint64_t bytes, bool writes, const Moment& now,
          const VectorClock& clock);
/// Translates an address that ferry knows to the address at which the host can access the memory.
[[nodiscard]] std::byte* host_address(const SimTask& context, std::byte* at);
[[nodiscard]] bool is_done(const SimTask& context, std::uint32_t strand, std::uint32_t number);
/// Runs work in random order until work item `number` of `strand` is done. At random, it also runs work that is not
/// needed.
void run_until(SimTask& context, std::uint32_t strand, std::uint32_t number);
[[nodiscard]] SimTask& sim_task(void* devices);
/// Returns whether nothing has failed. Records a failure if a queue other than `queue` is capturing.
[[nodiscard]] bool is_ready(SimTask& context, const SimQueue* queue = nullptr);
/// Returns whether nothing has failed. Records a failure if any queue is capturing, or if there is no such device.
[[nodiscard]] bool may_use(SimTask& context, int device);
/// Call it before work is put on a queue: the work comes after all work that the host knows to be done.
SimQueue& given(void* queue);
/// Appends the work to the queue. Returns its moment.
Moment append_work(SimQueue& queue, Work work, const void* tag);

}  // namespace ferry::sim
