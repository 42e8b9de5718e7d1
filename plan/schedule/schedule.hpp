// Schedules of collectives, as plain data. Planning chooses them, and comm/group executes them unchanged.
//
// A collective moves a vector that is cut into parts. A schedule is one list of steps for all members: peers and parts
// are named by number, or relative to the member that executes the list. Sums are folded in the order of the list, so
// every transport and every run gives the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/types/dtype.hpp"
#include "graph/types/layout.hpp"
#include "plan/schedule/member_ref.hpp"

#pragma GCC visibility push(default)
namespace ferry {

enum class CollectiveKind : std::uint8_t {
  all_reduce,      ///< all members get the fold of all contributions
  reduce_scatter,  ///< member i gets part i of the fold
  all_gather,      ///< all members get the concatenation of the parts
  all_to_all,      ///< member i gets part i of every member
  broadcast,       ///< all members get the root's vector
  scatter,         ///< member i gets part i of the root's vector
  gather,          ///< the root gets the concatenation of the parts
  reduce           ///< the root gets the fold of all contributions
};

[[nodiscard]] std::string_view name_of(CollectiveKind kind);

/// True for the kinds in which one member, the root, has another role than the other members.
[[nodiscard]] constexpr bool is_rooted(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::scatter || kind == CollectiveKind::gather ||
         kind == CollectiveKind::reduce;
}

/// How contributions reach other members.
enum class Via : std::uint8_t {
  messages,  ///< each send step sends the bytes that it names
  put,       ///< members write their input into the other members' memory; send_input announces it
  get,       ///< members read the other members' input in its place; send_input announces where it is
  library    ///< without steps, the library of the members' GPUs carries out the whole collective in its own way; with
             ///< steps, it carries the messages, and each GPU folds
};

[[nodiscard]] std::string_view name_of(Via via);

/// One step of a member. A part has the same index in inputs, outputs and slots, even on a member that holds only this
/// part.
struct ScheduleStep {
  enum class Kind : std::uint8_t {
    send_input,      ///< sends part `part` of the input to `peer`
    send_output,     ///< sends part `part` of the output to `peer`
    receive_output,  ///< receives part `part` of the output from `peer`
    receive_slot,    ///< receives part `part` of the input of `peer`, or a fold of such parts, into slot `slot`
    wait,            ///< waits until all receives so far have arrived
    copy,            ///< target = contribution (see `slot` and `source`)
    fold,            ///< target = target (+|max|min) contribution
    send_slot,       ///< sends slot `slot`, which holds part `part`, to `peer`
    wait_sends,      ///< waits until all sends so far have left, so that their memory may be overwritten
    join  ///< folds slot `source`, received from `peer`, into this member's slot `slot`; the left operand belongs to
          ///< the member with the lower number. Afterwards slot `source` is empty
  };
  static constexpr std::int32_t kAll = -1;
  static constexpr std::int32_t kOfPeer = -1;

  Kind kind = Kind::wait;
  MemberRef peer;
  MemberRef part;
  /// Only this member executes the step, or all members except this one. See also Schedule::period.
  std::int32_t only = kAll;
  std::int32_t except = kAll;
  /// The index of a slot. kOfPeer: for receive_slot, the slot of `peer`; for copy and fold, the target is output part
  /// `part`, not a slot.
  std::int32_t slot = kOfPeer;
  /// For copy and fold: the contribution, as the index of a slot. kOfPeer: the slot of `peer`, or part `part` of the
  /// own input if `peer` is the executing member.
  std::int32_t source = kOfPeer;

  bool operator==(const ScheduleStep&) const = default;
};

/// Elements [begin, begin + count) of a member's input or output; `count` is 0 if the member does not hold the part.
struct PartRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  bool operator==(const PartRange&) const = default;
};

/// The steps of a collective over `members`. It does not contain the sizes of the parts. Functions take them as
/// `parts`, in elements, with part_count() entries:
/// - broadcast, reduce, a `whole` all_reduce: one entry, the whole vector;
/// - all_to_all: members² entries; entry i * members + j is the part that i gives to j;
/// - the other kinds: one entry for each member; parts may be empty.
/// Input and output of a member must not overlap; if `in_place`, they may be the same bytes.
struct Schedule {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string algorithm;  ///< "direct", "one-shot", "ring", "doubling", "tree", "hierarchical"
  std::int32_t members = 1;
  std::int32_t root = 0;  ///< for broadcast, scatter, gather and reduce
  /// The root has no part of the value: no output of a broadcast, no input of a reduce, an empty part of a scatter or
  /// gather.
  bool guest_root = false;
  bool whole = false;  ///< for an all_reduce: the vector is one part
  /// Number of staging slots, each of slot_elements() elements, of a member that receives contributions. If steps name
  /// slots by kOfPeer, there are members - 1 slots: the slot of `peer` is number peer - (peer > self).
  std::int32_t slots = 0;
  std::vector<ScheduleStep> steps;
  /// A member's output may be in the memory of its input: no member reads a byte of an input after it was overwritten.
  bool in_place = false;
  Via via = Via::messages;
  /// If > 0, a divisor of `members`: `only` and `except` of a step then name a member's number modulo `period`. So all
  /// members with the same index on their hosts share steps, and the size of the list does not depend on the number of
  /// hosts.
  std::int32_t period = 0;

  /// The number of members that may have steps of their own; all other members repeat their steps.
  [[nodiscard]] constexpr int scripts() const { return period > 0 ? period : members; }
  [[nodiscard]] constexpr bool concerns(const ScheduleStep& step, int member) const {
    const int script = member % scripts();
    return (step.only == ScheduleStep::kAll || step.only == script) &&
           (step.except == ScheduleStep::kAll || step.except != script);
  }
  /// Whether the library of the members' GPUs carries out the whole collective.
  [[nodiscard]] bool library_does_all() const { return via == Via::library && steps.empty(); }
  /// The number of messages that `member` sends or receives, including messages of empty parts.
  [[nodiscard]] std::int64_t sends_of(int member) const;
  [[nodiscard]] std::int64_t receives_of(int member) const;
  /// The number of elements in these messages.
  [[nodiscard]] std::int64_t sent_elements(std::span<const std::int64_t> parts, int member) const;
  [[nodiscard]] std::int64_t received_elements(std::span<const std::int64_t> parts, int member) const;

  /// Whether `member` has an input, or an output.
  [[nodiscard]] bool has_input(int member) const;
  [[nodiscard]] bool has_output(int member) const;
  /// The number of entries of `parts`.
  [[nodiscard]] std::int32_t part_count() const;
  /// The position of `part` in the input or output of `member`.
  [[nodiscard]] PartRange input_part(std::span<const std::int64_t> parts, int member, int part) const;
  [[nodiscard]] PartRange output_part(std::span<const std::int64_t> parts, int member, int part) const;
  /// The number of elements of the whole input or output of `member`; 0 if it has none.
  [[nodiscard]] std::int64_t input_elements(std::span<const std::int64_t> parts, int member) const;
  [[nodiscard]] std::int64_t output_elements(std::span<const std::int64_t> parts, int member) const;
  /// The number of slots of `member`: all of them if it uses any, 0 if contributions do not come by message.
  [[nodiscard]] std::int32_t slots_of(int member) const;
  /// Whether some member uses slots; for kinds with a root, whether some member other than the root uses slots.
  [[nodiscard]] bool non_root_uses_slots() const;
  /// The number of elements of a slot: the elements of the largest part.
  [[nodiscard]] std::int64_t slot_elements(std::span<const std::int64_t> parts) const;

  bool operator==(const Schedule&) const = default;
};

/// The bytes of one slot, and of all staging of `member`. Each slot begins at a multiple of kSlotAlign.
inline constexpr std::int64_t kSlotAlign = 64;
[[nodiscard]] std::int64_t slot_bytes(const Schedule& schedule, std::span<const std::int64_t> parts, DType dtype);
[[nodiscard]] std::int64_t staging_bytes(const Schedule& schedule, std::span<const std::int64_t> parts, DType dtype,
                                         int member);

/// A collective between GPUs; each member runs it on a queue. The library determines the bits of sums.
[[nodiscard]] Schedule library_schedule(CollectiveKind kind, int members, int root = 0, bool guest_root = false);

/// Maximum number of members of a sum that GPUs fold themselves: one kernel reads all contributions.
inline constexpr int kMostFolded = 64;

/// `schedule`, a direct or one-shot sum of up to kMostFolded members, for GPUs: their library carries the messages (all
/// messages before a wait together), and each GPU folds. The bits equal those from hosts.
[[nodiscard]] Schedule folded_on_gpus(Schedule schedule);

/// Each member exchanges messages directly with each other member. This is the fastest algorithm for large vectors on
/// one host or few hosts. An all-reduce is a reduce-scatter and an all-gather: a member sends 2 (n-1)/n of the vector
/// in 2 (n-1) messages.
[[nodiscard]] Schedule direct_schedule(CollectiveKind kind, int members, int root = 0, bool guest_root = false);

/// A direct all-to-all for exactly these parts (members² entries, see Schedule), without messages for empty parts.
[[nodiscard]] Schedule sparse_exchange(int members, std::span<const std::int64_t> parts);

/// An all-reduce in one round: each member sends its whole input to each other member, and folds all inputs. It moves
/// n/2 times the bytes of a direct all-reduce, in half as many messages. The sums are folded in the same order, so the
/// bits are the same.
[[nodiscard]] Schedule one_shot_schedule(int members);

/// `schedule` for members that share memory: if it is in_place, inputs are put (one-shot) or got (direct) instead of
/// sent.
[[nodiscard]] Schedule in_shared_memory(Schedule schedule);

/// An all-reduce of `bytes` bytes that is folded in the order of its members. It is one-shot if a member then receives
/// at most 16 KB, because sending so little costs less than a second round; otherwise it is direct.
[[nodiscard]] Schedule ordered_all_reduce(int members, std::int64_t bytes, bool share_memory);

/// Each member sends only to the next member. An all_reduce sends 2 (n-1)/n of the vector in 2 (n-1) rounds; an
/// all_gather needs half of both. Part p of a sum is folded in ring order, from member p + 1 to member p. (Patarasuk,
/// Yuan 2009: bandwidth optimal.)
[[nodiscard]] Schedule ring_schedule(CollectiveKind kind, int members);

/// An all_reduce of the whole vector in about log2 n rounds (recursive doubling); in each round the peer has twice the
/// distance of the round before. Sums are a binary tree in the order of the members: ((0 + 1) + (2 + 3)) + …
[[nodiscard]] Schedule doubling_schedule(int members);

/// A broadcast or reduce along a binomial tree: about log2 n rounds. In a reduce, a member folds its own input onto the
/// result of its nearest child, and then the results of its other children onto this, the nearest first.
[[nodiscard]] Schedule tree_schedule(CollectiveKind kind, int members, int root = 0, bool guest_root = false);

/// Works separately within hosts and between them; `hosts` has the host of each member. A broadcast or reduce is a tree
/// of trees. An all_reduce needs the same number of members on each host. They divide the vector among themselves, so
/// that each byte leaves a host 2 (h-1)/h times for h hosts. Part p of a sum is folded within each host in the order of
/// its members, then over the hosts, beginning with the host of member p.
[[nodiscard]] Schedule hierarchical_schedule(CollectiveKind kind, std::span<const std::int32_t> hosts, int root = 0,
                                             bool guest_root = false);

}  // namespace ferry
#pragma GCC visibility pop
