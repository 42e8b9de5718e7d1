#include "runner/run/run_main.hpp"

#include <utility>

#include "base/error.hpp"
#include "base/float_state.hpp"
#include "base/process/descriptor.hpp"
#include "base/system/log.hpp"
#include "base/system/output.hpp"
#include "base/text.hpp"
#include "graph/file/graph_file.hpp"
#include "runner/options/command_line.hpp"
#include "runner/options/number_options.hpp"
#include "runner/run/job.hpp"
#include "runner/run/run.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kMostNumber = 1'000'000'000;

void add_own_options(CLI::App& app, const ProgramOptions& own) {
  for (const ProgramOptions::Option& option : own.options()) {
    if (option.number != nullptr)
      within(app.add_option(option.name, *option.number, option.help), std::int64_t{1}, kMostNumber)
          ->capture_default_str();
    else
      app.add_option(option.name, *option.word, option.help)
          ->check(CLI::IsMember(option.choices).description(""))
          ->type_name(join(option.choices, "|"))
          ->capture_default_str();
  }
}

/// `graph_for` is called after the options are read, and gives the graph.
int run_program(int argc, char** argv, const ProgramOptions& own,
                const std::function<Graph&(const RunOptions&)>& graph_for) noexcept {
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
    if (!before_job(options.cluster, [&] { return parse_command_line(app, argc, argv); })) return 0;
    Graph& graph = *before_job(options.cluster, [&] { return &graph_for(options); });
    if (save_graph_file.empty()) return run_graph(graph, options);
    if (options.balance)
      throw Error(Code::usage, "--balance: --save-graph writes the graph as the program makes it")
          .hint("give --balance to the run of the file");
    save_graph(graph, save_graph_file);
    return 0;
  });
}

}  // namespace

void ProgramOptions::number(std::string_view name, std::int64_t& value, std::string_view help) {
  options_.push_back({.name = std::string(name), .help = std::string(help), .number = &value, .choices = {}});
}

void ProgramOptions::word(std::string_view name, std::string& value, std::vector<std::string> choices,
                          std::string_view help) {
  options_.push_back(
      {.name = std::string(name), .help = std::string(help), .word = &value, .choices = std::move(choices)});
}

int run_main(int argc, char** argv, Graph& graph) noexcept {
  return run_program(argc, argv, {}, [&](const RunOptions&) -> Graph& { return graph; });
}

int run_main(int argc, char** argv, const ProgramOptions& own, const MakeGraph& make) noexcept {
  Graph graph;
  return run_program(argc, argv, own, [&](const RunOptions& options) -> Graph& {
    try {
      const ProgramFloats theirs;
      make(graph, options.run.data_folder);
    } catch (...) {
      throw as_error(std::current_exception(), Code::program, "the program");
    }
    return graph;
  });
}

}  // namespace ferry
