// GroupCall: one member's part in a collective, and the data from which it is prepared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/transport.hpp"
#include "plan/schedule/schedule.hpp"
#include "plan/traffic.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The tickets of transfers in flight.
class Tickets {
 public:
  void reserve(std::size_t count) { tickets_.reserve(count); }
  void add(Ticket ticket) {
    if (ticket != kComplete) tickets_.push_back(ticket);
  }
  [[nodiscard]] bool empty() const { return tickets_.empty(); }
  /// Removes the tickets of complete transfers. Returns true if no ticket is left.
  [[nodiscard]] bool done(Transport& transport);

 private:
  std::vector<Ticket> tickets_;
};

/// output[i] = left[i] (+|max|min) right[i] for `count` elements of the collective's dtype; output may be left or
/// right.
using Fold = std::function<void(std::byte* output, const std::byte* left, const std::byte* right, std::int64_t count)>;

/// Runs body over [0, n) in chunks of `grain`, in any order and on several threads at once; returns when all chunks are
/// done.
using SplitWork = std::function<void(std::int64_t n, std::int64_t grain,
                                     const std::function<void(std::int64_t begin, std::int64_t end)>& body)>;

/// One member's part in a collective, from which prepare_call() makes a GroupCall.
struct GroupSpec {
  const Schedule& schedule;             ///< must outlive the call
  std::span<const std::int64_t> parts;  ///< sizes of the parts in elements, as Schedule defines them for its kind
  std::span<const std::int32_t> tasks;  ///< the task of each member
  int member = 0;                       ///< the member that is this task
  std::uint32_t channel = 0;            ///< no other call of these tasks may use it at the same time
  DType dtype = DType::float32;
  const std::byte* input = nullptr;  ///< schedule.input_elements(parts, member) elements
  /// schedule.output_elements(parts, member) elements. They must not overlap the input; if schedule.in_place, they may
  /// also be the same memory as the input.
  std::byte* output = nullptr;
  /// At least staging_bytes(schedule, parts, dtype, member) bytes, except for a stamped one-shot all-reduce. With
  /// Via::get, input and output may be outside of SharedMemory::memory(). Then the parts that other members read or
  /// write are first copied to or received in `staging`, which must be in SharedMemory::memory() and have room for the
  /// input.
  std::span<std::byte> staging;
  Fold fold;             ///< not used by kinds that fold nothing; several threads call it if `split` is set
  SplitWork split = {};  ///< spreads large folds over threads; if empty, the calling thread folds alone
  /// If true, each run has a stamp, which members send along with their first message to each other. A run in which two
  /// members that exchange messages have different stamps never completes.
  bool stamped = false;
};

/// The memory and the stamp of a run. They may differ from the spec.
struct GroupRun {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  ///< the same memory as the input if and only if it was so in the spec
  std::uint64_t stamp = 0;
};

using GroupCount [[deprecated("Traffic has the same fields")]] = Traffic;

/// One member's part in a collective. It is prepared once with all its addresses, and then run repeatedly without
/// allocating. It never blocks, so several calls (on different channels) may run at the same time, and the caller
/// checks its own deadlines:
///
///     call->start();
///     while (!call->progress()) { check_deadline(); transport.idle(1ms); }
///
/// The input must not change and the output must not be read between start() and the progress() that returns true. If
/// schedule.in_place, input and output may be the same memory: each part is overwritten after all members have read it.
/// The bits of the output depend only on the inputs and the schedule.
///
/// One thread at a time may use it, and only a thread that may use its transport. Errors: the transport's errors.
class GroupCall {
 public:
  GroupCall(const GroupCall&) = delete;
  GroupCall& operator=(const GroupCall&) = delete;
  virtual ~GroupCall() = default;

  /// Starts a run on the memory of the spec.
  virtual void start() = 0;
  /// Starts a run on other memory.
  virtual void start(const GroupRun& run) = 0;
  /// Makes all progress that is possible now. Returns true when this member's part is done.
  [[nodiscard]] virtual bool progress() = 0;
  /// The messages and bytes of all runs, counted as in the schedule, even if members read or write each other's memory
  /// instead of sending.
  [[nodiscard]] const Traffic& moved() const { return moved_; }

 protected:
  GroupCall() = default;

  Traffic moved_;
};

}  // namespace ferry
#pragma GCC visibility pop
