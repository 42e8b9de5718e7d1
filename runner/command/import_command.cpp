#include <CLI/CLI.hpp>
#include <memory>

#include "base/format.hpp"
#include "base/text.hpp"
#include "graph/file/graph_file.hpp"
#include "runner/command/commands.hpp"
#include "runner/command/planned.hpp"
#include "runner/files/graph_files.hpp"

namespace ferry {
namespace {

struct ImportOptions : JobOptions {
  std::string from, to;
  std::vector<std::string> shapes;
};

int import(const ImportOptions& options) {
  if (!is_onnx_file(options.from)) throw Error(Code::usage, "{}: only ONNX models (.onnx) are imported", options.from);
  std::vector<GivenFile> read = files_read(options);
  read.push_back({"", options.from});
  require_distinct_files(read, {{"OUT", options.to}});
  const LoadedGraph loaded = load_any_graph(options.from, options, parse_shapes(options.shapes));
  save_graph(*loaded.graph, options.to);
  print(formatted("{}: {}\n", options.to, plural(loaded.graph->size(), "op")));
  return 0;
}

}  // namespace

void add_import_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("import", "Converts an ONNX model to a graph file");
  auto options = std::make_shared<ImportOptions>();
  command->add_option("IN.onnx", options->from, "The model (.onnx); its external data must be in the same folder")
      ->required();
  command->add_option("OUT.pb", options->to, "The graph (.pb), or with .pbtxt the graph as text")->required();
  add_dim_option(*command, *options);
  add_shape_option(*command, options->shapes);
  add_feed_option(*command, *options);
  add_examples(*command, R"(
    ferry import model.onnx model.pb    symbolic dims stay symbolic
    ferry import model.onnx model.pb --dim batch=4    where their numbers are needed
    ferry import model.onnx model.pb --feed lengths=l.npy    for these values of an input that decides shapes)");
  command->callback([&action, options] { action = [options] { return import(*options); }; });
}

}  // namespace ferry
