#include "runner/command/planned.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>

#include "base/files/files.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "executor/session/session.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/train/pipeline.hpp"
#include "plan/file/plan_file.hpp"
#include "runner/files/cluster_file.hpp"
#include "runner/options/budget_option.hpp"
#include "runner/options/device_rules.hpp"
#include "runner/options/feeds.hpp"
#include "runner/options/number_options.hpp"

namespace ferry {
namespace {

/// An example of an argument of --shape for an input of that shape: "x=SIZE,784".
std::string example_of(const std::string& name, const Shape& shape) {
  std::vector<std::string> sizes;
  sizes.reserve(static_cast<std::size_t>(shape.rank()));
  for (int d = 0; d < shape.rank(); ++d) sizes.push_back(shape[d].known() ? std::to_string(shape[d].size()) : "SIZE");
  return formatted("{}={}", name, as_is(join(sizes, ",")));
}

/// Sets the types of the inputs that --feed does not name. A plan depends on nothing else of an input.
void add_types(const Graph& graph, const InputSizes& shapes, Selection& selection) {
  const std::vector<bool> needed = needed_ops(graph, selection);
  for (OpId id = 0; id < graph.size(); ++id) {
    const Op op = graph.op(id);
    const std::string name(op.name());
    if (!needed[id] || op.def().role != OpRole::input || selection.request.feeds.contains(name)) continue;
    const Type& type = graph.type(op.output(0));
    const auto given = shapes.find(name);
    if (given == shapes.end() && !type.shape.known())
      throw Error(Code::usage, "the shape of input '{}' is open: {}", name, as_is(type.str()))
          .at(op.line())
          .hint("--shape " + example_of(name, type.shape));
    selection.request.feed_types[name] =
        given == shapes.end() ? type : Type{type.dtype, Shape(std::span<const std::int64_t>(given->second))};
  }
}

}  // namespace

void with_session(const PlanCommandOptions& options, const std::function<void(Session&, const Selection&)>& f) {
  const InputSizes shapes = parse_shapes(options.shapes);
  const LoadedGraph loaded = load_any_graph(options.file, options, shapes);
  const std::unique_ptr<Graph>& graph = loaded.graph;
  if (!options.device_rules.empty()) apply_device_rules(*graph, options.device_rules);
  apply_budget(*graph, options.budget);
  Selection selection = select_entry(*graph, options.entry, options.fetches);
  if (options.on_selection) options.on_selection(*graph, selection);
  selection.request.fetch_to = options.fetch_to;
  selection.request.planned_step = options.step;
  ClusterOptions cluster = options.cluster;
  cluster.transport = "inproc";
  SessionOptions for_session = session_options(options);
  for_session.plan.reasons = true;
  const Cluster job = Cluster::connect(cluster);
  selection.request.feeds = parse_feeds(inputs_of(*graph), {loaded.feeds, options.feed_parts}, job.local_tasks());
  add_types(*graph, shapes, selection);
  if (options.balance) balance_stages(*graph, job.size(), job.topology().compute);
  Session session(*graph, job, for_session);
  f(session, selection);
}

InputSizes parse_shapes(const std::vector<std::string>& texts) {
  InputSizes shapes;
  for (const std::string& text : texts) {
    const auto fail = [&] {
      return Error(Code::usage, "--shape {}: expected NAME=SIZE,SIZE", text).hint("for example --shape x=64,784");
    };
    const std::size_t equals = text.rfind('=');
    if (equals == 0 || equals == std::string::npos) throw fail();
    std::vector<std::int64_t> sizes;
    for (const std::string_view item : split(std::string_view(text).substr(equals + 1), ',')) {
      std::int64_t size = 0;
      const auto [end, error] = std::from_chars(item.data(), item.data() + item.size(), size);
      if (error != std::errc() || end != item.data() + item.size() || size < 0) throw fail();
      sizes.push_back(size);
    }
    if (!shapes.emplace(text.substr(0, equals), std::move(sizes)).second)
      throw Error(Code::usage, "--shape {}: given twice", text).hint("give one shape for it");
  }
  return shapes;
}

void add_shape_option(CLI::App& app, std::vector<std::string>& shapes) {
  app.add_option("--shape", shapes, "An input's shape, where the graph leaves it open; repeatable")
      ->type_name("NAME=SIZE,SIZE")
      ->allow_extra_args(false);
}

CLI::Option* add_hosts_options(CLI::App& app, JobOptions& options) {
  restrict_range(
      app.add_option("--hosts", options.cluster.hosts,
                     "Plans for this number of hosts like this one, which share the tasks in order; default: one"),
      1, kMostTasks);
  return app
      .add_option_function<std::string>(
          "--cluster",
          [&options](const std::string& path) {
            options.cluster_file = path;
            DescribedCluster described = read_cluster(path);
            warn_of_other_origin(path, described.origin);
            options.cluster.elsewhere = std::move(described.topology);
          },
          "Plans for the hosts, tasks and links that a file describes, which need not be here")
      ->type_name("CLUSTER.pbtxt");
}

void add_plan_options(CLI::App& app, PlanCommandOptions& options) {
  app.add_option("FILE", options.file, "A graph (.pb, .pbtxt), an ONNX model (.onnx) or a plan (.plan)")->required();
  add_job_options(app, options);
  CLI::Option* const elsewhere = add_hosts_options(app, options);
  for (const char* other : {"--tasks", "--invariant", "--jobs", "--threads", "--memory", "--gpu-memory", "--hosts"})
    elsewhere->excludes(app.get_option(other));
  add_shape_option(app, options.shapes);
  restrict_range(
      app.add_option("--step", options.step,
                     "Which step to plan, the first being 0: where the last batch of an epoch is smaller than the "
                     "others, it has a plan of its own"),
      std::int64_t{0}, kMostSteps);
  const CLI::Option* const takes[] = {app.get_help_ptr(), app.get_option("FILE"), app.get_option("--ops")};
  for (const CLI::Option* option : app.get_options())
    if (std::ranges::find(takes, option) == std::end(takes)) options.graph_only_options.push_back(option);
}

void refuse_options_of_graphs(const PlanCommandOptions& options, const std::string& plan,
                              std::span<const std::string_view> used) {
  for (const CLI::Option* option : options.graph_only_options) {
    const std::string name = option->get_name();
    if (option->count() == 0 || std::ranges::find(used, name) != used.end()) continue;
    if (name == "--device" && !places_ops(options)) continue;
    throw Error(Code::usage, "{}: {} is a plan already", as_is(name), plan)
        .hint((plan == options.file ? "give the graph, or leave " : "leave ") + name + " out");
  }
}

PlanResult plan_of(const PlanCommandOptions& options) {
  PlanResult result;
  if (!is_plan_file(options.file)) {
    with_session(options, [&](Session& session, const Selection& selection) {
      result = session.plan(selection.request);
      name_fetches(result.plan, selection.names);
    });
    return result;
  }
  refuse_options_of_graphs(options, options.file);
  if (options.plan.on_pass || options.plan.check_passes)
    throw Error(Code::usage, "{} is a plan: no pass makes it", options.file).hint("give the graph");
  result.plan = read_plan(local_files(), options.file);
  return result;
}

}  // namespace ferry
