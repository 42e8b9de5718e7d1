// Signature: the feeds, fetches and targets that a plan is made for.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The feeds, fetches and targets of a run, on which all tasks agree before planning.
struct Signature {
  struct Feed {
    ValueId value = 0;      ///< of an Input op
    std::int32_t task = 0;  ///< who gives it, unless by parts
    std::vector<std::int64_t> sizes;
    bool by_parts = false;  ///< each task gives rows (of dim 0)
    bool operator==(const Feed&) const = default;
  };
  std::vector<Feed> feeds;       ///< sorted by value
  std::vector<ValueId> fetches;  ///< in the caller's order
  std::vector<OpId> targets;     ///< sorted
  std::int32_t fetch_to = 0;
  bool fetch_parts = false;  ///< each task gets its part of the fetches; fetch_to gets constants
  /// How many rows the step takes of batches that are smaller at the end of an epoch, by Batches::symbol(). A size that
  /// is not here is the size of whole batches.
  std::map<std::string, std::int64_t> rows = {};
  bool initial = false;  ///< gives variables their first values: the graph's budget is not for that
  bool operator==(const Signature&) const = default;
};

}  // namespace ferry
#pragma GCC visibility pop
