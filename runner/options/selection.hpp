// Selection: the part of a graph that is run, by names as the command line gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "executor/session/session.hpp"
#include "graph/graph.hpp"
#include "graph/types/batches.hpp"
#include "plan/plan.hpp"

namespace ferry {

/// The values that one entry runs, with the names under which results are shown and saved.
struct Selection {
  std::string entry;  ///< its name; empty: the graph's outputs are run
  std::vector<std::string> names;
  RunRequest request;  ///< fetches (one for each name) and targets; no feeds yet
};

/// The entry of that name; an empty name: `train` if there is one, else the only entry besides `init`, else the outputs
/// of the graph (values that no op uses and no entry runs for its effect). If `fetches` (lists
/// of comma-separated names of fetches or values) is not empty, they replace the entry's own. Error(usage) for an
/// unknown name (it names the most similar one), a value inside a body, a name given twice, and when there is nothing
/// to run.
[[nodiscard]] Selection select_entry(Graph& graph, std::string_view entry, const std::vector<std::string>& fetches);

/// Renames the fetches of a selection's plan to `names`, those that the entry has for them.
void name_fetches(Plan& plan, const std::vector<std::string>& names);

/// For each op of the graph, whether the selection needs it.
[[nodiscard]] std::vector<bool> needed_ops(const Graph& graph, const Selection& selection);

/// Whether it runs updates that servers make for each worker by itself (ops/train/asynchronous.hpp).
[[nodiscard]] bool is_asynchronous(const Graph& graph, const Selection& selection);

/// The batches in which a selection reads its data: of several those with the most steps in an epoch; none if it reads
/// none.
[[nodiscard]] std::optional<Batches> data_of(const Graph& graph, const Selection& selection);

/// The names of the variables that the selection reads, if it sets none; else empty.
[[nodiscard]] std::vector<std::string> variables_only_read(const Graph& graph, const Selection& selection);

/// The files that the graph's data ops read, bodies of loops and branches included, as paths below the data folder.
[[nodiscard]] std::vector<std::string> data_files(const Graph& graph);

}  // namespace ferry
