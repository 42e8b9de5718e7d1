// Selection: the part of a graph to run, chosen by names from the command line.
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

/// The values to run for one entry, with the names under which their results are shown and saved.
struct Selection {
  std::string entry;  ///< the entry's name; empty: the graph's outputs are run
  std::vector<std::string> names;
  RunRequest request;  ///< fetches (one for each name) and targets; no feeds yet
};

/// Selects the entry with that name. If the name is empty, selects `train` if it exists, else the only entry besides
/// `init`, else the outputs of the graph (values that no op uses and no entry runs for its effect). If `fetches` is not
/// empty, its names replace the entry's own fetches; each string is a list of comma-separated names of fetches or
/// values. Error(usage) for an unknown name (names the most similar one), a value inside a body, or a name given twice,
/// and if there is nothing to run.
[[nodiscard]] Selection select_entry(Graph& graph, std::string_view entry, const std::vector<std::string>& fetches);

/// Renames the fetches of a selection's plan to `names`, the entry's names for them.
void name_fetches(Plan& plan, const std::vector<std::string>& names);

/// For each op of the graph, whether the selection needs it.
[[nodiscard]] std::vector<bool> needed_ops(const Graph& graph, const Selection& selection);

/// Whether the selection runs updates that servers make for each worker separately (ops/train/asynchronous.hpp).
[[nodiscard]] bool is_asynchronous(const Graph& graph, const Selection& selection);

/// The batches in which a selection reads its data; none if it reads none. Of several batches, the ones with the most
/// steps in an epoch.
[[nodiscard]] std::optional<Batches> data_of(const Graph& graph, const Selection& selection);

/// The names of the variables that the selection reads, if it sets none; else empty. Leaves out variables with initial
/// values from data files.
[[nodiscard]] std::vector<std::string> variables_only_read(const Graph& graph, const Selection& selection);

/// The updates that no entry runs, if no entry sets their variable. Empty if the graph has no entries except `init`.
/// `runs_others`: the program also runs requests of its own; then empty if an entry sets a variable.
[[nodiscard]] std::vector<OpId> forgotten_updates(const Graph& graph, bool runs_others);
/// Prints a warning about forgotten_updates(), with the name and line of one of them.
void warn_of_forgotten_updates(const Graph& graph, bool runs_others);

/// The files that the graph's data ops read, bodies of loops and branches included, as paths below the data folder.
[[nodiscard]] std::vector<std::string> data_files(const Graph& graph);

}  // namespace ferry
