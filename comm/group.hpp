// Groups: execute the schedules of collectives over a transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "comm/transport.hpp"
#include "placement/schedule.hpp"

namespace ferry {

/// output[i] = left[i] (+|max|min) right[i] for `count` elements of the collective's dtype; output may be left or
/// right.
using Fold = std::function<void(std::byte* output, const std::byte* left, const std::byte* right, std::int64_t count)>;

/// Runs body over [0, n) in chunks of `grain`, in any order and at once on several threads; they are done when it
/// returns.
using SplitWork = std::function<void(std::int64_t n, std::int64_t grain,
                                     const std::function<void(std::int64_t begin, std::int64_t end)>& body)>;

/// One member's part in a collective: what a GroupCall is prepared from.
struct GroupSpec {
  const Schedule& schedule;             ///< must outlive the call
  std::span<const std::int64_t> parts;  ///< elements, as the schedule's kind wants them
  std::span<const std::int32_t> tasks;  ///< of each member
  int member = 0;                       ///< which of them this is
  std::uint32_t channel = 0;            ///< on which no other call of these tasks is under way
  DType dtype = DType::float32;
  const std::byte* input = nullptr;  ///< schedule.input_elements(parts, member) elements
  /// schedule.output_elements(parts, member) elements; they do not overlap the input, or are it where
  /// schedule.in_place.
  std::byte* output = nullptr;
  /// At least staging_bytes(schedule, parts, dtype, member). Where others get the input and it does not lie in
  /// Transport::memory(), room for it there.
  std::span<std::byte> staging;
  Fold fold;             ///< unused by kinds that add nothing; called by several threads when there is a split
  SplitWork split = {};  ///< of large folds; empty: the calling thread alone
};

/// Messages and bytes that a call has moved since it was made.
struct GroupCount {
  std::int64_t sent_messages = 0, sent_bytes = 0;
  std::int64_t received_messages = 0, received_bytes = 0;
  bool operator==(const GroupCount&) const = default;
  GroupCount& operator+=(const GroupCount& other);
};

/// A collective of one member, prepared once with all its addresses and run again and again without allocating. It
/// never blocks, so that several calls (on channels of their own) may be under way, and the caller keeps its deadlines:
///
///     call->start();
///     while (!call->progress()) { check_deadline(); transport.idle(1ms); }
///
/// The input must not change and the output must not be read between start() and the progress() that gives true. Where
/// schedule.in_place the output may be the input: it is taken part by part, as soon as nobody reads that. The bits of
/// the output depend on the inputs and the schedule alone.
///
/// Used by one thread at a time, as its transport allows. Errors: those of the transport.
class GroupCall {
 public:
  GroupCall(const GroupCall&) = delete;
  GroupCall& operator=(const GroupCall&) = delete;
  virtual ~GroupCall() = default;

  virtual void start() = 0;
  /// Goes as far as it can; true when this member's part is done.
  [[nodiscard]] virtual bool progress() = 0;
  /// In the schedule's messages, however they are sent.
  [[nodiscard]] const GroupCount& moved() const { return moved_; }

 protected:
  GroupCall() = default;

  GroupCount moved_;
};

/// Carries out the schedule as it stands: its messages and no others, each with the bytes that it names, but for those
/// of the input where schedule.via says otherwise (they say that it is there, or where). What a member folds for others
/// is written into their memory at once, where the transport has a window to it. Error(plan) when the schedule is for
/// members that share memory, and these do not lend to each other.
[[nodiscard]] std::unique_ptr<GroupCall> prepare_call(Transport& transport, const GroupSpec& spec);

}  // namespace ferry
