#include "runner/run/run_main.hpp"

#include <CLI/CLI.hpp>
#include <utility>

#include "base/error.hpp"
#include "base/float_state.hpp"
#include "base/process/descriptor.hpp"
#include "base/system/log.hpp"
#include "base/system/output.hpp"
#include "graph/file/graph_file.hpp"
#include "runner/options/command_line.hpp"
#include "runner/options/own_options.hpp"
#include "runner/run/job.hpp"
#include "runner/run/run.hpp"

namespace ferry {
namespace {

/// Calls `graph_for` after the options are read, to get the graph.
int run_program(int argc, char** argv, const ProgramOptions& own,
                const std::function<Graph&(const RunOptions&)>& graph_for, const Loop& loop) noexcept {
  open_standard();
  const WithoutWriteSignals no_signals;
  const DefaultFloats floats;
  return guarded([&] {
    CLI::App app("Runs this program's graph.", CLI::detail::split(argv[0], '/').back());
    RunOptions options;
    std::string save_graph_file;
    add_own_options(app, own);
    add_run_options(app, options);
    app.add_option("--save-graph", save_graph_file, "Writes the graph and runs nothing")->type_name("FILE.pb");
    if (!run_before_job(options.cluster, [&] { return parse_command_line(app, argc, argv); })) return 0;
    if (options.steps == 0 && options.epochs == 0) options.steps = own.default_steps();
    Graph& graph = *run_before_job(options.cluster, [&] { return &graph_for(options); });
    if (save_graph_file.empty()) return run_graph(graph, options, loop);
    if (options.balance)
      throw Error(Code::usage, "--balance: --save-graph writes the graph as the program makes it")
          .hint("give --balance to the run of the file");
    save_graph(graph, save_graph_file);
    return 0;
  });
}

}  // namespace

int run_main(int argc, char** argv, Graph& graph, const Loop& loop) noexcept {
  return run_program(
      argc, argv, {}, [&](const RunOptions&) -> Graph& { return graph; }, loop);
}

int run_main(int argc, char** argv, const ProgramOptions& own, const MakeGraph& make, const Loop& loop) noexcept {
  Graph graph;
  const auto made = [&](const RunOptions& options) -> Graph& {
    try {
      const ProgramFloats theirs;
      make(graph, options.run.data_folder);
    } catch (...) {
      throw as_error(std::current_exception(), Code::program, "the program");
    }
    return graph;
  };
  return run_program(argc, argv, own, made, loop);
}

}  // namespace ferry
