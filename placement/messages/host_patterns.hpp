// HostPatterns: how the groups of a program's groupings are spread over hosts.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "placement/program/program.hpp"

namespace ferry {

/// A group's pattern is the list of its members' hosts, numbered in the order of their first members. Groups with equal
/// patterns get equal schedules. The patterns of a grouping are computed once, at the first of(). Not thread-safe; the
/// program must outlive it.
class HostPatterns {
 public:
  struct OfGrouping {
    std::vector<std::vector<std::int32_t>> patterns;  ///< sorted
    std::vector<std::uint32_t> of_group;              ///< for each group: index of its pattern
  };

  explicit HostPatterns(const Program& program);
  /// The patterns of Program::groupings[grouping]. The reference stays valid.
  const OfGrouping& of(std::uint32_t grouping);

 private:
  /// The reference is valid until the next call.
  const std::vector<std::int32_t>& pattern_of(const std::vector<std::int32_t>& group);

  const Program& program_;
  std::vector<std::uint32_t> host_of_;  // for each task; hosts are numbered from 0
  struct Seen {
    std::uint32_t group = 0;  // the last group (counted from 1) with a member on the host
    std::int32_t number = 0;  // number of the host in that group's pattern
  };
  std::vector<Seen> seen_;  // for each host
  std::uint32_t groups_ = 0;
  std::vector<std::int32_t> pattern_;
  std::unordered_map<std::uint32_t, OfGrouping> known_;
};

}  // namespace ferry
