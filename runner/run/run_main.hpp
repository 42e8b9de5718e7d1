// run_main: gives a program that builds a graph the options of `ferry run`.
#pragma once

#include <functional>
#include <string>

#include "graph/graph.hpp"
#include "runner/options/program_options.hpp"
#include "runner/run/training_loop.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Runs `graph` as `ferry run` would run its file, with the options in argv (--help lists them). With --save-graph
/// FILE.pb it writes the graph and runs nothing. Returns the exit code (docs/reference/exit_codes.md); errors are
/// printed on stderr. Every process of a job calls it, once, from its main thread.
///
///     int main(int argc, char** argv) {
///       ferry::Graph g;
///       g.fetch("run", "c", g.constant({1, 2}) + g.constant({3, 4}));
///       return ferry::run_main(argc, argv, g);
///     }
///
/// With a `loop`, runs the steps that the loop asks for (training_loop.hpp); without one, all steps.
[[nodiscard]] int run_main(int argc, char** argv, Graph& graph, const Loop& loop = {}) noexcept;

/// Builds a graph; `data` is the folder that --data names, or empty. Every process of a job must build the same graph.
using MakeGraph = std::function<void(Graph& graph, const std::string& data)>;

/// Does the same for a graph that depends on the program's own options `own`: `make` builds it after they are read.
///
///     std::int64_t rows = 100;
///     ProgramOptions own;
///     own.number("--rows", rows, "Rows of the table");
///     return run_main(argc, argv, own, [&](Graph& graph, const std::string&) {
///       graph.fetch("run", "sum", sum(uniform(graph, {rows})));
///     });
[[nodiscard]] int run_main(int argc, char** argv, const ProgramOptions& own, const MakeGraph& make,
                           const Loop& loop = {}) noexcept;

}  // namespace ferry
#pragma GCC visibility pop
