// Schedules of collectives: plain data. Chosen in planning, executed as they stand by comm/group.
//
// A collective moves a vector that is cut into parts. A schedule is a list of steps that is the same for all members:
// peers and parts are named either by number or by their place from the member that executes the list. Sums are folded
// in the order of the list: every transport and every run gives the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/types/dtype.hpp"
#include "graph/types/layout.hpp"

namespace ferry {

enum class CollectiveKind : std::uint8_t {
  all_reduce,      ///< all get the fold of all contributions
  reduce_scatter,  ///< member i gets part i of the fold
  all_gather,      ///< all get the concatenation of the parts
  all_to_all,      ///< member i gets part i of every member
  broadcast,       ///< all get the root's vector
  scatter,         ///< member i gets part i of the root's vector
  gather,          ///< the root gets the concatenation of the parts
  reduce           ///< the root gets the fold of all contributions
};

[[nodiscard]] std::string_view name_of(CollectiveKind kind);

/// True for the kinds with one member, the root, that does something else than the others.
[[nodiscard]] constexpr bool is_rooted(CollectiveKind kind) {
  return kind == CollectiveKind::broadcast || kind == CollectiveKind::scatter || kind == CollectiveKind::gather ||
         kind == CollectiveKind::reduce;
}

/// How contributions get from member to member.
enum class Via : std::uint8_t {
  messages,  ///< each step sends what it says
  put,  ///< members share memory and write their input where the others fold it from; send_input says that it is there
  get   ///< members share memory and read the others' input where it lies; send_input says where that is
};

[[nodiscard]] std::string_view name_of(Via via);

/// A member or part.
struct MemberRef {
  enum class By : std::uint8_t {
    number,  ///< `value`
    shift,   ///< (own index + value) mod members
    flip     ///< own index xor value, where the members are a power of two
  };
  By by = By::number;
  std::int32_t value = 0;

  [[nodiscard]] constexpr int resolve(int self, int members) const {
    switch (by) {
      case By::shift:
        return (self + value) % members;
      case By::flip:
        return self ^ value;
      default:
        return value;
    }
  }
  bool operator==(const MemberRef&) const = default;
};

/// One step of a member. Parts have the same number in the input, in the output and in a slot, also where a member
/// holds only its own one.
struct ScheduleStep {
  enum class Kind : std::uint8_t {
    send_input,      ///< part `part` of the input, to `peer`
    send_output,     ///< part `part` of the output, to `peer`
    receive_output,  ///< into part `part` of the output, from `peer`
    receive_slot,    ///< part `part`, or a fold of such parts, of `peer`, into slot `slot`
    wait,            ///< until all receives so far have arrived
    copy,            ///< place = contribution
    fold,            ///< place = place (+|max|min) contribution
    send_slot,       ///< slot `slot`, which holds part `part`, to `peer`
    wait_sends,      ///< until all sends so far have left: what they read may be written again
    join  ///< folds slot `source`, which is `peer`'s, into slot `slot`, one's own; that of the member with the
          ///< lower number is the left operand. Slot `source` holds nothing then
  };
  static constexpr std::int32_t kAll = -1;
  static constexpr std::int32_t kOfPeer = -1;

  Kind kind = Kind::wait;
  MemberRef peer;
  MemberRef part;
  std::int32_t only = kAll;    ///< this member alone executes the step
  std::int32_t except = kAll;  ///< everybody but this member
  /// A slot by its number. kOfPeer: of receive_slot the slot of `peer`; of copy and fold the place is no slot but
  /// output part `part`.
  std::int32_t slot = kOfPeer;
  /// Of copy and fold, the contribution: a slot by its number. kOfPeer: the slot of `peer`, or part `part` of the own
  /// input when that is oneself.
  std::int32_t source = kOfPeer;

  [[nodiscard]] constexpr bool concerns(int member) const {
    return (only == kAll || only == member) && (except == kAll || except != member);
  }
  bool operator==(const ScheduleStep&) const = default;
};

/// Elements [begin, begin + count) of a member's input or output; `count` is 0 where the member does not hold the part.
struct PartRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  bool operator==(const PartRange&) const = default;
};

/// The steps of a collective over `members`. Its part sizes come beside it, in elements (`parts` below, part_count()
/// entries):
/// - broadcast, reduce, a `whole` all_reduce: one, the whole vector;
/// - all_to_all: members², what i gives to j is at i * members + j;
/// - the others: one for each member; parts may be empty.
/// Input and output of a member must not overlap; where `in_place`, they may be the same bytes.
struct Schedule {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string algorithm;  ///< "direct", "one-shot", "ring", "doubling", "tree", "hierarchical"
  std::int32_t members = 1;
  std::int32_t root = 0;  ///< of broadcast, scatter, gather and reduce
  /// The root is a guest: of a broadcast it has no output, of a reduce no input (of scatter and gather its part is
  /// empty).
  bool guest_root = false;
  bool whole = false;  ///< of an all_reduce: the vector is not cut, it is one part
  /// Staging slots of a member that receives contributions, each of slot_elements(). Where steps name them by their
  /// peer they are members - 1: the slot of `peer` is number peer - (peer > self).
  std::int32_t slots = 0;
  std::vector<ScheduleStep> steps;
  /// A member's output may take the bytes of its input: nobody reads a byte of an input after the output's has been
  /// written over it.
  bool in_place = false;
  Via via = Via::messages;

  /// Messages that `member` sends and receives; those of empty parts count.
  [[nodiscard]] std::int64_t sends_of(int member) const;
  [[nodiscard]] std::int64_t receives_of(int member) const;
  /// Elements in them.
  [[nodiscard]] std::int64_t sent_elements(std::span<const std::int64_t> parts, int member) const;
  [[nodiscard]] std::int64_t received_elements(std::span<const std::int64_t> parts, int member) const;

  /// Whether `member` has an input, and an output.
  [[nodiscard]] bool gives(int member) const;
  [[nodiscard]] bool gets(int member) const;
  /// Entries of `parts`.
  [[nodiscard]] std::int32_t part_count() const;
  /// Where `part` lies in the input or output of `member`.
  [[nodiscard]] PartRange input_part(std::span<const std::int64_t> parts, int member, int part) const;
  [[nodiscard]] PartRange output_part(std::span<const std::int64_t> parts, int member, int part) const;
  /// Elements of the whole input or output of `member`; 0 where it has none.
  [[nodiscard]] std::int64_t input_elements(std::span<const std::int64_t> parts, int member) const;
  [[nodiscard]] std::int64_t output_elements(std::span<const std::int64_t> parts, int member) const;
  /// Slots that `member` uses: none where contributions do not come by message.
  [[nodiscard]] std::int32_t slots_of(int member) const;
  /// Some member uses slots; in kinds with a root, one that is not the root.
  [[nodiscard]] bool others_stage() const;
  /// Elements of a slot: those of the largest part.
  [[nodiscard]] std::int64_t slot_elements(std::span<const std::int64_t> parts) const;

  bool operator==(const Schedule&) const = default;
};

/// Bytes of staging that `member` needs; each slot begins at a multiple of kSlotAlign.
inline constexpr std::int64_t kSlotAlign = 64;
[[nodiscard]] std::int64_t slot_bytes(const Schedule& schedule, std::span<const std::int64_t> parts, DType dtype);
[[nodiscard]] std::int64_t staging_bytes(const Schedule& schedule, std::span<const std::int64_t> parts, DType dtype,
                                         int member);

/// Each member talks to each other member directly: the fastest for large vectors on one host, or few. An all-reduce is
/// a reduce-scatter and an all-gather: a member sends 2 (n-1)/n of the vector in 2 (n-1) messages.
[[nodiscard]] Schedule direct_schedule(CollectiveKind kind, int members, int root = 0, bool guest_root = false);

/// An all-reduce in one round: each member sends all that it has to each other one, and folds by itself. It moves n/2
/// times the bytes of a direct one in half its messages. The sums are folded in the same order, and so are the bits.
[[nodiscard]] Schedule one_shot_schedule(int members);

/// The same schedule for members that share memory: they put or get what they give where it works in place.
[[nodiscard]] Schedule in_shared_memory(Schedule schedule);

/// An all-reduce of `bytes` bytes that is folded in the order of its members: one-shot where a member receives no more
/// than 16 KB by that (a round costs more than its bytes then), else direct.
[[nodiscard]] Schedule ordered_all_reduce(int members, std::int64_t bytes, bool share_memory);

/// Each member talks to the next one only. An all_reduce sends 2 (n-1)/n of the vector and has 2 (n-1) rounds, an
/// all_gather half of both. Part p of a sum is folded from member p + 1 on, round to p. (Patarasuk, Yuan 2009:
/// bandwidth optimal.)
[[nodiscard]] Schedule ring_schedule(CollectiveKind kind, int members);

/// An all_reduce of the whole vector in about log2 n rounds, each with the member at twice the distance (recursive
/// doubling). Sums are a binary tree in the order of the members: ((0 + 1) + (2 + 3)) + …
[[nodiscard]] Schedule doubling_schedule(int members);

/// A broadcast or reduce along a binomial tree: about log2 n rounds. A reduce folds each subtree from its nearest child
/// outwards: (child, own), next child, ….
[[nodiscard]] Schedule tree_schedule(CollectiveKind kind, int members, int root = 0, bool guest_root = false);

/// First among the members of each host, then between the hosts; `hosts` has the host of each member. A broadcast or
/// reduce is a tree of trees. An all_reduce needs the same number of members on each host: they share the vector, so
/// that each byte of it leaves a host 2 (h-1)/h times for h hosts; sums are folded in a host in the order of its
/// members, then over the hosts, beginning with the host of the member whose number the part has.
[[nodiscard]] Schedule hierarchical_schedule(CollectiveKind kind, std::span<const std::int32_t> hosts, int root = 0,
                                             bool guest_root = false);

}  // namespace ferry
