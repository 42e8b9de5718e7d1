// Runs a graph or a plan as `ferry run` does.
#pragma once

#include "graph/graph.hpp"
#include "runner/options/run_options.hpp"
#include "runner/run/training_loop.hpp"

namespace ferry {

/// Joins or starts the job, runs the steps of the entry, and prints or saves the requested results. If there is a
/// `loop`, the loop runs the steps. Every process of the job calls run_graph(). The task of --fetch-to prints or writes
/// the fetches and metrics; task 0 writes the other results. Result files are written only if all steps succeed;
/// checkpoints and metrics are written during the run. Returns 0, or throws Error after reporting it to the other
/// tasks.
[[nodiscard]] int run_graph(Graph& graph, RunOptions options, const Loop& loop = {});

/// Runs the plan in options.file, which `ferry plan --save` wrote, on the number of tasks that it was made for.
/// Otherwise as run_graph(). Error(usage) for options that need a graph.
[[nodiscard]] int run_plan(RunOptions options);

}  // namespace ferry
