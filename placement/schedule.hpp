// Schedules of collectives: plain data. Chosen in planning, executed as they stand by comm/group.
//
// A collective moves a vector that is cut into parts, one for each member of a group. A schedule is a list of steps
// that is the same for all members: peers, parts and contributions are named either absolutely or relative to the
// member that executes the list, so one list serves 2 or 4,096 members. Sums are folded in the order of the list, which
// is the order of the members: every transport and every run gives the same bits.
#pragma once

#include <cstdint>
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

/// A member, part or contribution: `value`, or (own index + value) mod members.
struct MemberRef {
  bool relative = false;
  std::int32_t value = 0;

  [[nodiscard]] constexpr int resolve(int self, int members) const {
    return relative ? (self + value) % members : value;
  }
  bool operator==(const MemberRef&) const = default;
};

/// One step of a member. `only` restricts it to one member (of broadcast, gather …), kAll means everybody.
struct ScheduleStep {
  enum class Kind : std::uint8_t {
    send_input,      ///< part `part` of the input, to `peer`
    send_output,     ///< part `part` of the output, to `peer`
    receive_output,  ///< into part `part` of the output, from `peer`
    receive_slot,    ///< part `part` of `peer`'s input, into the slot of `peer`
    wait,            ///< until all receives so far have arrived
    copy,            ///< output part `part` = contribution of `peer` (its slot, or the own input)
    fold,            ///< output part `part` = output part (+|max|min) contribution of `peer`
    copy_own         ///< output part `part` = own input part 0 (all-gather and gather)
  };
  static constexpr std::int32_t kAll = -1;

  Kind kind = Kind::wait;
  MemberRef peer;
  MemberRef part;
  std::int32_t only = kAll;
  std::int32_t except = kAll;  ///< everybody but this member

  bool operator==(const ScheduleStep&) const = default;
};

/// The steps of a collective over `members`. The input and the output of a member are each cut as `input_parts` and
/// `output_parts` say: `whole` in one part, or one part for each member.
struct Schedule {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::string algorithm;  ///< "direct", later "ring", "tree", …
  std::int32_t members = 1;
  std::int32_t root = 0;   ///< of broadcast, scatter, gather and reduce
  std::int32_t slots = 0;  ///< staging slots of a member, each of the largest part's bytes; slot i belongs to member i
  std::vector<ScheduleStep> steps;

  /// Sends that `member` executes, in messages.
  [[nodiscard]] std::int64_t sends_of(int member) const;
  bool operator==(const Schedule&) const = default;
};

/// Each member talks to each other member directly: on one host the fastest, and on few hosts.
[[nodiscard]] Schedule direct_schedule(CollectiveKind kind, int members, int root = 0);

}  // namespace ferry
