// Checks that the texts of forms say all that passes read.
#pragma once

#include <string>

#include "graph/graph.hpp"
#include "kernels/traits.hpp"
#include "placement/planner.hpp"

namespace ferry::test {

/// Plans the graph pass by pass. Before each pass the form is printed, read and printed again; then the pass works on
/// the form and on the one that was read. Returns the first place where two texts differ, or "". Errors of passes must
/// be the same for both; the plan ends there.
[[nodiscard]] std::string differing_form(const Graph& graph, const Signature& signature, const Topology& topology,
                                         const KernelLookup& kernels, const PlanOptions& options);

/// The line where the texts differ, and its number; "" if they are equal.
[[nodiscard]] std::string difference(const std::string& expected, const std::string& found);

}  // namespace ferry::test
