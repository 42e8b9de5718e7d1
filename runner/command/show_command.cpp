#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <memory>
#include <span>

#include "base/files/files.hpp"
#include "base/format.hpp"
#include "base/number_text.hpp"
#include "base/text.hpp"
#include "executor/observe/flight_file.hpp"
#include "executor/session/checkpoints.hpp"
#include "plan/file/plan_file.hpp"
#include "plan/requirements.hpp"
#include "runner/command/commands.hpp"
#include "runner/command/planned.hpp"
#include "runner/files/graph_files.hpp"
#include "runner/files/model_files.hpp"
#include "runner/options/number_options.hpp"
#include "runner/options/op_libraries.hpp"

namespace ferry {
namespace {

std::string list(const std::vector<std::string>& names) {
  return formatted("{:.2000}", join(names, ", "));
}

void show_entries(const Graph& graph) {
  for (const auto& [name, entry] : graph.entries()) {
    std::vector<std::string> feeds, fetches, targets;
    for (const Entry::Named& feed : entry.feeds) feeds.push_back(feed.name);
    for (const Entry::Named& fetch : entry.fetches) fetches.push_back(fetch.name);
    for (const OpId target : entry.targets) targets.emplace_back(graph.op(target).name());
    std::string text = formatted("entry {}:", name);
    if (!feeds.empty()) text += " feeds " + list(feeds) + ";";
    if (!fetches.empty()) text += " fetches " + list(fetches) + ";";
    if (!targets.empty()) text += " runs " + list(targets) + ";";
    text.back() = '\n';
    print(text);
  }
}

std::string op_line(const Graph& graph, const Op& op) {
  std::vector<std::string> inputs, types, attrs;
  for (const ValueId input : op.inputs()) inputs.push_back(graph.value_name(input));
  for (int i = 0; i < op.outputs(); ++i) types.push_back(graph.type(op.output(i)).str());
  for (const auto& [name, value] : op.attrs()) attrs.push_back(formatted("{}={:.60}", name, str(value)));
  std::string text = formatted("{} = {}({})", op.name(), op.def().name, as_is(list(inputs)));
  if (!attrs.empty()) text += " {" + join(attrs, ", ") + "}";
  text += " : " + join(types, ", ");
  const Annotation& where = op.annotation();
  if (!where.device.empty()) text += "  on " + where.device.str();
  if (where.mesh != kNoMesh) text += "  on mesh " + graph.meshes()[where.mesh].str();
  if (op.line().known()) text += formatted("  at {}", op.line().str());
  return text;
}

void show_ops(const Graph& graph, const std::string& indent) {
  std::string text;
  for (OpId id = 0; id < graph.size(); ++id) text += indent + op_line(graph, graph.op(id)) + "\n";
  print(text);
  for (std::uint32_t i = 0; i < graph.subgraphs(); ++i) {
    print(indent + "body " + std::to_string(i) + "\n");
    show_ops(graph.subgraph({i}), indent + "  ");
  }
}

struct ShowOptions : JobOptions {
  std::string file, names;
  std::vector<std::string> shapes;
  int last = 10;
};

bool is_graph(const std::string& path) {
  return !path.ends_with(".json") && !is_plan_file(path) && !local_files().is_folder(path);
}

/// Prints the names of one kind, a line each: "entries", "fetches" (of all entries), "inputs" or "ops".
void show_names(const Graph& graph, std::string_view kind) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : graph.entries()) {
    if (kind == "entries") names.push_back(name);
    if (kind != "fetches") continue;
    for (const Entry::Named& fetch : entry.fetches)
      if (std::ranges::find(names, fetch.name) == names.end()) names.push_back(fetch.name);
  }
  if (kind == "ops" || kind == "inputs")
    for (OpId id = 0; id < graph.size(); ++id)
      if (const Op op = graph.op(id); kind == "ops" || op.def().role == OpRole::input) names.emplace_back(op.name());
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  print(text);
}

int show_graph(const ShowOptions& options) {
  if (!options.shapes.empty() && !is_onnx_file(options.file))
    throw Error(Code::usage, "--shape: only an ONNX model is shown for sizes; a graph's are as it says");
  const std::unique_ptr<Graph> graph = load_any_graph(options.file, options, parse_shapes(options.shapes)).graph;
  if (!options.names.empty()) {
    show_names(*graph, options.names);
    return 0;
  }
  print("graph of " + plural(graph->size(), "op") + ", " + plural(graph->variables().size(), "variable") + ", " +
        std::to_string(graph->entries().size()) + (graph->entries().size() == 1 ? " entry\n" : " entries\n"));
  show_entries(*graph);
  show_ops(*graph, "");
  return 0;
}

int show_model(const std::string& folder) {
  std::int64_t bytes = 0;
  std::string text;
  const TensorMap variables = read_model(folder);
  for (const auto& [name, tensor] : variables) {
    text += formatted("{} : {}  {}\n", name, as_is(tensor.type().str()), as_is(tensor.str(3)));
    bytes += static_cast<std::int64_t>(tensor.bytes().size());
  }
  print("model of " + plural(variables.size(), "variable") + ", " + human_bytes(static_cast<std::uint64_t>(bytes)) +
        "\n" + text);
  return 0;
}

/// The local time; "?" if the time cannot be converted.
std::string time_text(std::time_t time) {
  struct tm local {};
  if (localtime_r(&time, &local) == nullptr) return "?";
  char text[32];
  const std::size_t size = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return {text, size};
}

/// The time when the file was last written; "?" if it cannot be read.
std::string time_of(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 ? time_text(status.st_mtime) : "?";
}

/// Prints the number of checkpoints, and a line for each: its name, time, step, tasks and bytes, and whether it can be
/// loaded.
int show_checkpoints(const std::string& folder) {
  const std::vector<CheckpointFacts> all = checkpoints_in(folder, local_files());
  std::size_t sound = 0;
  std::string text;
  for (const CheckpointFacts& facts : all) {
    const std::string when = time_of(folder + "/" + facts.name + "/manifest.json");
    if (facts.problem.empty()) ++sound;
    text += formatted("{}  {}", facts.name, as_is(when));
    if (facts.step >= 0)
      text +=
          "  step " + std::to_string(facts.step) + "  " + plural(facts.tasks, "task") + "  " + human_bytes(facts.bytes);
    text += facts.problem.empty() ? "  sound\n" : "  cannot be loaded: " + facts.problem + "\n";
  }
  print(plural(all.size(), "checkpoint") + ", " + std::to_string(sound) + " sound\n" + text);
  return 0;
}

std::string port_line(const Plan& plan, const PlanPort& port, const char* what) {
  return formatted("  {} {} : {}  on {}\n", as_is(what), plan.string(port.name),
                   as_is(Type{port.dtype, Shape(std::span<const std::int64_t>(port.sizes))}.str()),
                   as_is(task_text(port)));
}

int show_plan(const std::string& file) {
  const Plan plan = read_plan(local_files(), file);
  std::string text = "plan of " + plural(plan.topology.size(), "task") + " in " + std::to_string(plan.classes.size()) +
                     (plan.classes.size() == 1 ? " class, " : " classes, ") + plural(plan.channels.size(), "channel") +
                     ", " + plural(plan.collectives.size(), "collective") + "\n";
  for (const PlanPort& port : plan.feeds) text += port_line(plan, port, "feed");
  for (const PlanPort& port : plan.fetches) text += port_line(plan, port, "fetch");
  for (const auto& [name, type] : variables_of(plan))
    text += formatted("  variable {} : {}\n", name, as_is(type.str()));
  print(formatted("{}ferry plan {} prints what each task does\n", as_is(text), file));
  return 0;
}

/// Prints the last events of each task of a failed job, with their times before the end.
int show_flight(const ShowOptions& options) {
  const FlightFile flight = read_flight_file(local_files(), options.file);
  std::string text = "flight of " + plural(flight.tasks.size(), "task") + ", which failed at " +
                     time_text(static_cast<std::time_t>(flight.time)) + "\nerror: " + flight.error + "\n";
  for (const FlightFile::Task& task : flight.tasks) {
    text += task.who + (task.state.empty() ? "" : " " + task.state) + "\n";
    if (task.events.empty()) text += "  its last events are unknown\n";
    const bool threads =
        std::ranges::any_of(task.events, [](const FlightFile::Event& event) { return event.thread != 0; });
    const std::size_t shown = std::min(task.events.size(), static_cast<std::size_t>(options.last));
    for (const FlightFile::Event& event : std::span(task.events).last(shown)) {
      text += right_aligned(decimals_text(-event.age, 6), 12) + " s  " +
              (threads ? "thread " + std::to_string(event.thread) + "  " : std::string()) + event.what + "\n";
    }
  }
  print(text);
  return 0;
}

}  // namespace

void add_show_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand(
      "show",
      "Shows the contents of a graph, a plan, a saved model, a folder of checkpoints or a file of --flight-recorder");
  auto options = std::make_shared<ShowOptions>();
  command
      ->add_option(
          "FILE", options->file,
          "A graph (.pb, .pbtxt), an ONNX model (.onnx), a plan (.plan), a file of --flight-recorder (.json), or a "
          "folder written by --save or --checkpoint")
      ->required();
  command
      ->add_option("--names", options->names,
                   "Of a graph: prints only the names of this kind, a line each; of all "
                   "entries the fetches")
      ->check(CLI::IsMember({"entries", "fetches", "inputs", "ops"}));
  add_ops_option(*command, options->ops);
  add_dim_option(*command, *options);
  add_shape_option(*command, options->shapes);
  restrict_range(
      command->add_option("--last", options->last, "The number of events of each task of a failed job; default 10"), 1,
      1 << 20);
  add_examples(*command, R"(
    ferry show add.pb    entries, then a line for each op
    ferry show add.pb --names entries    the names of its entries
    ferry show add.plan  its feeds, fetches and variables
    ferry show model     the variables of a saved model
    ferry show saved     the checkpoints of a run, and whether they can be loaded
    ferry show last.json --last 3    what each task of a failed job did last)");
  command->callback([&action, options] {
    action = [options] {
      if (!options->names.empty() && !is_graph(options->file))
        throw Error(Code::usage, "--names: {:?} is not a graph (.pb, .pbtxt, .onnx)", options->file)
            .hint("leave it out");
      if (local_files().is_folder(options->file))
        return has_checkpoints(options->file, local_files()) ? show_checkpoints(options->file)
                                                             : show_model(options->file);
      if (options->file.ends_with(".json")) return show_flight(*options);
      return is_plan_file(options->file) ? show_plan(options->file) : show_graph(*options);
    };
  });
}

}  // namespace ferry
