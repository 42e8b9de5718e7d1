// Groups: execute the schedules of collectives over a transport.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "comm/transport.hpp"
#include "placement/schedule.hpp"

namespace ferry {

/// output[i] = left[i] (+|max|min) right[i] for `count` elements of the collective's dtype; output may be left or
/// right.
using Fold = std::function<void(std::byte* output, const std::byte* left, const std::byte* right, std::int64_t count)>;

/// Runs body over [0, n) in chunks of `grain`, in any order and at once on several threads; they are done when it
/// returns.
using Split = std::function<void(std::int64_t n, std::int64_t grain,
                                 const std::function<void(std::int64_t begin, std::int64_t end)>& body)>;

/// One member's part in a collective: what GroupCall needs to be prepared.
struct GroupSpec {
  const Schedule& schedule;             ///< must outlive the call
  std::span<const std::int64_t> parts;  ///< elements, as the schedule's kind wants them
  std::span<const std::int32_t> tasks;  ///< of each member
  int member = 0;                       ///< which of them this is
  std::uint32_t channel = 0;            ///< on which no other call of these tasks is under way
  DType dtype = DType::float32;
  const std::byte* input = nullptr;  ///< schedule.input_elements(parts, member) elements
  /// schedule.output_elements(parts, member) elements; they do not overlap the input, or are it where in_place().
  std::byte* output = nullptr;
  std::span<std::byte> staging;  ///< at least staging_bytes(schedule, parts, dtype, member)
  Fold fold;                     ///< unused by kinds that add nothing; called by several threads when there is a split
  Split split = {};              ///< of large folds; empty: the calling thread alone
  bool exact = false;            ///< between hosts the schedule's messages go and no others
};

/// Messages and bytes that a call has moved since it was made.
struct GroupCount {
  std::int64_t sent_messages = 0, sent_bytes = 0;
  std::int64_t received_messages = 0, received_bytes = 0;
  bool operator==(const GroupCount&) const = default;
};

/// A collective of one member, prepared once with all its addresses and run again and again without allocating. It
/// never blocks, so that several calls (on channels of their own) may be under way, and the caller keeps its deadlines:
///
///     call.start();
///     while (!call.progress()) { check_deadline(); transport.idle(1ms); }
///
/// The input must not change and the output must not be read between start() and the progress() that gives true. Where
/// schedule.in_place() the output may be the input: it is taken part by part, as soon as nobody reads that. The bits of
/// the output depend on the inputs and the schedule alone.
///
/// Three things differ from the schedule's letter, not from its result. A short direct all-reduce that need not be
/// exact goes in one round: every member sends all that it has to every other, and each folds by itself. Members that
/// lend to each other write it there instead, and say only that they have. A longer one whose members lend sends none
/// of its input: it is folded from where it lies. And what a member folds for others is written into their memory at
/// once, where the transport has a window to it. moved() counts the schedule's messages all the same.
///
/// Used by one thread at a time, as its transport allows. Errors: those of the transport.
class GroupCall {
 public:
  GroupCall(Transport& transport, const GroupSpec& spec);

  void start();
  /// Goes as far as it can; true when this member's part is done.
  [[nodiscard]] bool progress();
  [[nodiscard]] const GroupCount& moved() const { return moved_; }

 private:
  class Slots;
  /// A step with its addresses. `count` in elements, `bytes` of them.
  struct Step {
    ScheduleStep::Kind kind = ScheduleStep::Kind::wait;
    int peer = 0;
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
    std::int64_t count = 0;
    std::size_t bytes = 0;
    bool started = false;  ///< a receive ahead of its place, as `ticket`
    Ticket ticket = 0;
    std::byte* window = nullptr;  ///< of a send: where its bytes are already
    // When members lend: the number of what is sent, or received in place of a slot; of a fold, the step that got it.
    std::uint64_t lent = 0;
    const Step* lender = nullptr;
  };

  /// Where a sum is written.
  struct Target {
    std::byte* at = nullptr;
    bool around = false;  ///< best around the caches
  };

  [[nodiscard]] Step prepare(const GroupSpec& spec, const ScheduleStep& step, Slots& slots) const;
  void prepare_one_round(const GroupSpec& spec, bool near);
  void prepare_lending(const GroupSpec& spec);
  void find_lent();
  [[nodiscard]] bool meet();
  void start_one_round();
  void write_to_others();
  [[nodiscard]] bool progress_one_round();
  void receive_ahead();
  void fold_for_others();
  void fold_tiles(std::size_t first, std::size_t last) const;
  void split(std::int64_t n, std::int64_t grain, const std::function<void(std::int64_t, std::int64_t)>& body) const;
  void execute(Step& step);
  void fold(const Step& step);
  void count(const Step& step);

  Transport& transport_;
  std::uint32_t channel_;
  Fold fold_;
  Split split_;
  std::vector<Step> steps_;
  std::size_t next_ = 0;
  std::vector<Ticket> sends_, receives_;  // under way
  GroupCount moved_;
  bool folds_for_others_ = false;  ///< a direct all-reduce in two halves
  bool lends_ = false;             ///< its first half without messages
  bool in_place_ = false;          ///< the results take the input's bytes
  std::span<const std::byte> mine_;
  std::shared_ptr<std::byte>
      shared_;  ///< the transport's memory: of others' contributions, or to lend a copy of `mine_`

  // What an all-reduce folds at once: contributions in the order of the members, the own one among them.
  std::size_t element_ = 1;  ///< bytes
  std::vector<const std::byte*> contributions_;
  std::vector<Target> targets_;  ///< the own output first

  // In one round.
  bool one_round_ = false, started_ = false, folded_ = false;
  std::size_t member_ = 0;
  std::vector<int> others_;           ///< their tasks
  std::vector<std::byte> plain_;      ///< what they send, if it is not in `shared_`
  std::vector<std::byte*> received_;  ///< that of each of them
  std::size_t slot_ = 0;              ///< bytes for one contribution
  bool meets_ = false;  ///< members write to each other and send nothing; each has two slots for each other
  bool meeting_ = false, odd_ = false;
  std::vector<std::uint64_t> here_, there_;  ///< numbers of the slots that others write, and that this member does
  std::vector<std::byte*> windows_;          ///< the latter
};

}  // namespace ferry
