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

/// A queue's work item: a kernel, a copy, the results of a collective, or the stamp of a timed event.
struct Work {
  std::uint32_t number = 0;  ///< its number on its queue, from 1
  DeviceLaunch launch{};     ///< for a copy `kernel` is null
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::uint64_t bytes = 0;
  std::vector<GroupsOnHost::Result> results;
  std::shared_ptr<TimePoint> stamp;                            ///< gets the time at which this is reached
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
  struct Given {
    const std::byte* data;
    DType dtype;
    std::vector<std::int64_t> sizes;
    bool operator==(const Given&) const = default;
  };
  const KernelState* state_;
  const std::byte* scratch_;
  const std::int64_t *step_, *iterations_;
  std::vector<Given> arrays_;
};

/// What a queue has captured.
struct CapturedGraph {
  SimTask* context = nullptr;
  std::uint32_t strand = 0;  ///< the queue's
  std::vector<Work> work;
  std::vector<KernelArguments> arguments;  ///< of the kernels in `work`
  std::uint32_t last = 0;                  ///< number of the last work item that it has given the queue
};

struct SimQueue {
  SimTask* context = nullptr;
  int device = 0;
  std::uint32_t strand = 0;
  Knowledge knows;  ///< the work ordered before the next work item
  std::uint32_t given = 0, done = 0;
  std::deque<Work> waiting;                                    ///< work that is not done yet
  std::vector<std::pair<std::uint32_t, std::uint32_t>> after;  ///< Work::after of the next work item
};

struct Event {
  SimTask* context = nullptr;
  Knowledge at;  ///< what has happened when the event has; empty: never recorded
  std::uint32_t strand = 0, number = 0;
  std::shared_ptr<TimePoint> stamp;  ///< of a timed event; null: of others
};

/// What a task has opened.
struct SimTask {
  SimTask(std::uint64_t seed, GroupsOnHost& groups) : random(seed), groups(groups), host(1, 0) {}

  std::mt19937_64 random;
  GroupsOnHost& groups;
  Knowledge host;  ///< what the host knows; its own entry counts its accesses
  std::list<std::unique_ptr<SimQueue>> queues;
  std::vector<SimQueue*> by_strand{nullptr};  ///< null: the host, or a queue that is gone
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

/// Keeps the first failure; returns -1.
int fail(SimTask& context, Code code, std::string text, const void* tag, std::int64_t input = -1);
/// `clock` knows what `other` knows, too.
void learn(Knowledge& clock, const Knowledge& other);
[[nodiscard]] std::string name_of(const SimTask& context, std::uint32_t strand);
/// The device memory that has all these bytes; null: none.
[[nodiscard]] const SimTask::Memory* memory_of(const SimTask& context, const std::byte* at, std::uint64_t bytes);
/// Records an access. Returns 0, or -1 on a race.
int touch(SimTask& context, const std::byte* memory, std::uint64_t bytes, bool writes, const Moment& now,
          const Knowledge& clock);
/// Where the host finds what a device knows by this address.
[[nodiscard]] std::byte* real(const SimTask& context, std::byte* at);
[[nodiscard]] bool is_done(const SimTask& context, std::uint32_t strand, std::uint32_t number);
/// Runs work in random order until work item `number` of `strand` is done, now and then also work that is not needed.
void run_until(SimTask& context, std::uint32_t strand, std::uint32_t number);
[[nodiscard]] SimTask& of(void* devices);
/// Whether nothing has failed, and nothing is being captured but by this queue.
[[nodiscard]] bool is_ready(SimTask& context, const SimQueue* queue = nullptr);
/// Whether that is so, and the library has the device.
[[nodiscard]] bool may_use(SimTask& context, int device);
/// Called when a queue is given something: that comes after all that the host knows to be done.
SimQueue& given(void* queue);
/// Appends the work to the queue, and returns its moment there.
Moment put(SimQueue& queue, Work work, const void* tag);

}  // namespace ferry::sim
