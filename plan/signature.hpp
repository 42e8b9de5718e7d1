// Signature: the feeds, fetches and targets for which a plan is made.
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
    ValueId value = 0;      ///< output of an Input op
    std::int32_t task = 0;  ///< the task that gives it, unless it is given by parts
    std::vector<std::int64_t> sizes;
    bool by_parts = false;  ///< each task gives some rows (of dim 0)
    bool operator==(const Feed&) const = default;
  };
  std::vector<Feed> feeds;       ///< sorted by value
  std::vector<ValueId> fetches;  ///< in the caller's order
  std::vector<OpId> targets;     ///< sorted
  std::int32_t fetch_to = 0;
  bool fetch_parts = false;  ///< each task gets its part of the fetches; the task fetch_to gets constants
  /// The number of rows of a smaller batch at the end of an epoch, by Batches::symbol(). A symbol that is missing has
  /// the size of whole batches.
  std::map<std::string, std::int64_t> rows = {};
  bool initial = false;  ///< sets the initial values of variables; the graph's budget does not apply
  bool operator==(const Signature&) const = default;
};

}  // namespace ferry
#pragma GCC visibility pop
