// Row sums: finds the values that are sums or means over the rows of a batch, which can be added up from parts of the
// batch. For pipeline.hpp; not for users.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/graph.hpp"

namespace ferry {

/// The sums and means over rows from which values are computed.
struct RowSums {
  struct RowSum {
    Value value;
    bool mean = false;  ///< a mean over the rows with equal weights; else a sum
  };
  std::vector<RowSum> ends;  ///< sums and means over the rows, each once
  std::vector<OpId> after;   ///< ops that compute the values from the ends; ascending
};

/// Finds the sums and means over the rows from which `values` are computed. `ops` are the ops between the batch and the
/// values, ascending. For a value of the batch or a result of `ops`, part_of(value) is the same value computed from
/// fewer rows of the batch. A size in which the two differ is a number of rows.
///
/// Throws Error(plan) with the user's line if a value depends on the rows in another way, such as by their maximum. The
/// message begins with `what`.
[[nodiscard]] RowSums find_row_sums(Graph& graph, const Values& batch, std::span<const OpId> ops, const Values& values,
                                    const std::function<Value(ValueId)>& part_of, const std::string& what);

}  // namespace ferry
