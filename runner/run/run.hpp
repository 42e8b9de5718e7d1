// Running a graph as `ferry run` does.
#pragma once

#include "graph/graph.hpp"
#include "runner/options/run_options.hpp"
#include "runner/run/training_loop.hpp"

namespace ferry {

/// Joins or starts the job, runs the entry for its steps, or as `loop` decides if there is one, and prints or saves
/// what was asked for. Every process of the job calls it. The task of --fetch-to prints or writes the fetches and
/// metrics; task 0 writes the other results. Result files are written only if all steps succeed; checkpoints and
/// metrics are written during the run. Returns 0, or throws Error after telling the other tasks.
[[nodiscard]] int run_graph(Graph& graph, RunOptions options, const Loop& loop = {});

/// Runs the plan in options.file, which `ferry plan --save` wrote, on as many tasks as it was made for. As run_graph;
/// Error(usage) for options that only a graph can follow.
[[nodiscard]] int run_plan(RunOptions options);

/// "c = [11 22 33]  int32[3]".
[[nodiscard]] std::string result_line(std::string_view name, const Tensor& value);

}  // namespace ferry
