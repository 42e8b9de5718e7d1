#include "runner/run_main.hpp"

#include <CLI/CLI.hpp>

#include "base/log.hpp"
#include "graph/graph_file.hpp"
#include "runner/command_line.hpp"
#include "runner/run.hpp"

namespace ferry {

int run_main(int argc, char** argv, Graph& graph) noexcept {
  return guarded([&] {
    ignore_sigpipe();
    CLI::App app("Runs this program's graph.", CLI::detail::split(argv[0], '/').back());
    RunOptions options;
    std::string save_graph_file;
    add_run_options(app, options);
    app.add_option("--save-graph", save_graph_file, "Writes the graph and runs nothing")->type_name("FILE.pb");
    if (!parse_command_line(app, argc, argv)) return 0;
    if (save_graph_file.empty()) return run_graph(graph, options);
    save_graph(graph, save_graph_file);
    return 0;
  });
}

}  // namespace ferry
