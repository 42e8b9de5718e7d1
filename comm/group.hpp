// Groups: execute the schedules of collectives over a transport.
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
  /// Drops those that are done; true when none is left.
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

/// One member's part in a collective: what a GroupCall is prepared from.
struct GroupSpec {
  const Schedule& schedule;             ///< must outlive the call
  std::span<const std::int64_t> parts;  ///< sizes of the parts in elements, as Schedule defines them for its kind
  std::span<const std::int32_t> tasks;  ///< the task of each member
  int member = 0;                       ///< which member this task is
  std::uint32_t channel = 0;            ///< no other call of these tasks uses it at the same time
  DType dtype = DType::float32;
  const std::byte* input = nullptr;  ///< schedule.input_elements(parts, member) elements
  /// schedule.output_elements(parts, member) elements; they do not overlap the input, or are it where
  /// schedule.in_place.
  std::byte* output = nullptr;
  /// At least staging_bytes(schedule, parts, dtype, member), except for a one-shot all-reduce that is stamped. With
  /// Via::get, what others read of an input that does not lie in SharedMemory::memory() is copied here first, and what
  /// they write of such an output comes here first; then staging lies there, and has room for the input.
  std::span<std::byte> staging;
  Fold fold;             ///< unused by kinds that fold nothing; called by several threads where `split` is set
  SplitWork split = {};  ///< spreads large folds over threads; if empty, the calling thread folds alone
  /// Each run has a stamp, which members send along with their first message to each other. A run in which two members
  /// that exchange messages have different stamps never completes.
  bool stamped = false;
};

/// What a run may change of the spec.
struct GroupRun {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;  ///< the input's memory exactly if it was so in the spec
  std::uint64_t stamp = 0;
};

using GroupCount [[deprecated("Traffic has the same fields")]] = Traffic;

/// One member's part in a collective, prepared once with all its addresses and run again and again without allocating.
/// It never blocks, so several calls (on different channels) may be under way, and the caller checks its own deadlines:
///
///     call->start();
///     while (!call->progress()) { check_deadline(); transport.idle(1ms); }
///
/// The input must not change and the output must not be read between start() and the progress() that returns true. If
/// schedule.in_place, input and output may be the same memory: each part is overwritten once nobody reads it any more.
/// The bits of the output depend on the inputs and the schedule alone.
///
/// Used by one thread at a time, as its transport allows. Errors: the transport's errors.
class GroupCall {
 public:
  GroupCall(const GroupCall&) = delete;
  GroupCall& operator=(const GroupCall&) = delete;
  virtual ~GroupCall() = default;

  /// Starts a run on the memory of the spec.
  virtual void start() = 0;
  /// Starts a run on other memory.
  virtual void start(const GroupRun& run) = 0;
  /// Goes as far as it can; true when this member's part is done.
  [[nodiscard]] virtual bool progress() = 0;
  /// The messages and bytes that the call has moved since it was made, as the schedule names them, also where members
  /// read or write each other's memory instead.
  [[nodiscard]] const Traffic& moved() const { return moved_; }

 protected:
  GroupCall() = default;

  Traffic moved_;
};

/// Prepares a call that carries out the schedule as it stands. With Via::messages it sends exactly the schedule's
/// messages. With Via::put and Via::get the messages of the input report only that it has been written, or its address
/// (with Via::put the first run may also exchange addresses). What a member folds for others is written straight into
/// their memory where the transport has a window to it. Error(plan) when the schedule is for members that share memory,
/// and these do not lend to each other.
[[nodiscard]] std::unique_ptr<GroupCall> prepare_call(Transport& transport, const GroupSpec& spec);

}  // namespace ferry
#pragma GCC visibility pop
