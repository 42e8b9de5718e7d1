// Schedules of collectives: plain data. Chosen in planning, executed as they stand by comm/group.
//
// A collective moves a vector that is cut into parts. A schedule is a list of steps that is the same for all members:
// peers and parts are named either absolutely or relative to the member that executes the list. Sums are folded in the
// order of the list, which is the order of the members: every transport and every run gives the same bits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/dtype.hpp"
#include "graph/layout.hpp"

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

/// A member or part: `value`, or (own index + value) mod members.
struct MemberRef {
  bool relative = false;
  std::int32_t value = 0;

  [[nodiscard]] constexpr int resolve(int self, int members) const {
    return relative ? (self + value) % members : value;
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
    receive_slot,    ///< part `part` of `peer`'s input, into the slot of `peer`
    wait,            ///< until all receives so far have arrived
    copy,            ///< output part `part` = contribution of `peer` (its slot, or part `part` of the own input)
    fold             ///< output part `part` = output part (+|max|min) contribution of `peer`
  };
  static constexpr std::int32_t kAll = -1;

  Kind kind = Kind::wait;
  MemberRef peer;
  MemberRef part;
  std::int32_t only = kAll;    ///< this member alone executes the step
  std::int32_t except = kAll;  ///< everybody but this member

  [[nodiscard]] constexpr bool concerns(int member) const {
    return (only == kAll || only == member) && (except == kAll || except != member);
  }
  bool operator==(const ScheduleStep&) const = default;
};

/// Elements [begin, begin + count) of a member's input or output. Count 0 of a part that the member does not hold.
struct PartRange {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  bool operator==(const PartRange&) const = default;
};

/// The steps of a collective over `members`. Its part sizes come beside it, in elements (`parts` below, part_count()
/// entries):
///   all_reduce, reduce_scatter, all_gather, scatter, gather   one for each member; parts may be empty
///   broadcast, reduce                                         one: the whole vector
///   all_to_all                                                members²: what i gives to j is at i * members + j
/// Input and output of a member must not overlap.
struct Schedule {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string algorithm;  ///< "direct", later "ring", "tree", …
  std::int32_t members = 1;
  std::int32_t root = 0;  ///< of broadcast, scatter, gather and reduce
  /// The root is a guest: of a broadcast it has no output, of a reduce no input (of scatter and gather its part is
  /// empty).
  bool guest_root = false;
  /// Staging slots of a member that receives contributions, each of slot_elements(); members - 1, or 0. The slot of
  /// `peer` is number peer - (peer > self).
  std::int32_t slots = 0;
  std::vector<ScheduleStep> steps;

  /// Messages that `member` sends and receives; those of empty parts count.
  [[nodiscard]] std::int64_t sends_of(int member) const;
  [[nodiscard]] std::int64_t receives_of(int member) const;
  /// Elements in them.
  [[nodiscard]] std::int64_t sent_elements(std::span<const std::int64_t> parts, int member) const;
  [[nodiscard]] std::int64_t received_elements(std::span<const std::int64_t> parts, int member) const;

  /// Entries of `parts`.
  [[nodiscard]] std::int32_t part_count() const;
  /// Where `part` lies in the input or output of `member`.
  [[nodiscard]] PartRange input_part(std::span<const std::int64_t> parts, int member, int part) const;
  [[nodiscard]] PartRange output_part(std::span<const std::int64_t> parts, int member, int part) const;
  /// Elements of the whole input or output of `member`; 0 where it has none.
  [[nodiscard]] std::int64_t input_elements(std::span<const std::int64_t> parts, int member) const;
  [[nodiscard]] std::int64_t output_elements(std::span<const std::int64_t> parts, int member) const;
  /// Slots that `member` uses, and the elements of each.
  [[nodiscard]] std::int32_t slots_of(int member) const;
  [[nodiscard]] std::int64_t slot_elements(std::span<const std::int64_t> parts) const;

  bool operator==(const Schedule&) const = default;
};

/// Bytes of staging that `member` needs; each slot begins at a multiple of kSlotAlign.
inline constexpr std::int64_t kSlotAlign = 64;
[[nodiscard]] std::int64_t slot_bytes(const Schedule& schedule, std::span<const std::int64_t> parts, DType dtype);
[[nodiscard]] std::int64_t staging_bytes(const Schedule& schedule, std::span<const std::int64_t> parts, DType dtype,
                                         int member);

/// Each member talks to each other member directly: on one host the fastest, and on few hosts. An all-reduce is a
/// reduce-scatter and an all-gather: a member sends 2 (n-1)/n of the vector in 2 (n-1) messages.
[[nodiscard]] Schedule direct_schedule(CollectiveKind kind, int members, int root = 0, bool guest_root = false);

}  // namespace ferry
