// Row sums: which values are sums or means over the rows of a batch, so that they can be added up from parts of the
// batch. Not for users: pipeline.hpp.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace ferry {

/// What values are made of.
struct RowSums {
  struct End {
    Value value;
    bool mean = false;  ///< a mean over the rows with equal weights; else a sum
  };
  std::vector<End> ends;    ///< sums and means over the rows, each once
  std::vector<OpId> after;  ///< ops that make the values of these; ascending
};

/// Finds the sums and means over the rows that `values` are made of. `ops`, ascending, are those between the batch and
/// the values. part_of(value) is the value that fewer rows of the batch give in its place, for the batch and for the
/// results of `ops`; sizes in which the two differ are numbers of rows.
///
/// Error(plan) with the user's line, beginning with `what`, if a value is made of the rows in another way, such as by
/// the largest of them.
[[nodiscard]] RowSums find_row_sums(Graph& graph, const Values& batch, std::span<const OpId> ops, const Values& values,
                                    const std::function<Value(ValueId)>& part_of, const std::string& what);

}  // namespace ferry
