#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "runner/command/commands.hpp"
#include "runner/command/planned.hpp"
#include "runner/report/quote.hpp"

namespace ferry {
namespace {

struct QuoteOptions : PlanCommandOptions {
  std::optional<double> price;
  bool as_json = false;
  bool share_memory = false;  ///< plan for tasks of this machine that share memory on a host
};

constexpr int kLeastTable = 8;  // the table goes up to at least this many tasks
constexpr double kMostPrice = 1e12;

double price_in(const std::string& text) {
  double price = 0;
  if (parse_real(text, price) == NumberFault::none && price >= 0 && price <= kMostPrice) return price;
  throw not_a_number("--price", text, "a number", "0", "1e12");
}

/// Drops the log messages of plans that are made only for the table.
class Silence {
 public:
  Silence() : before_(log_sink([](LogLevel, std::string_view) { return true; })) {}
  ~Silence() { log_sink(std::move(before_)); }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 private:
  LogSink before_;
};

/// Whether the command line describes tasks of this machine.
bool describes_tasks(const ClusterOptions& cluster) {
  return cluster.tasks > 0 || cluster.threads > 0 || cluster.hosts > 0 || !cluster.jobs.empty() ||
         cluster.memory_bytes > 0 || cluster.gpu_memory_bytes > 0;
}

/// If the command line describes the tasks, takes from the cluster file only the costs, as in a run, and whether tasks
/// of a host share memory.
void choose_tasks(QuoteOptions& options) {
  ClusterOptions& cluster = options.cluster;
  if (!cluster.elsewhere || !describes_tasks(cluster)) return;
  cluster.costs = *cluster.elsewhere;
  options.share_memory = cluster.elsewhere->tasks[0].memory_group >= 0;
  cluster.elsewhere.reset();
  if (*cluster.costs == PlanningCosts())
    throw Error(Code::usage, "--cluster {}: the file has no costs of its own, and other options describe the tasks",
                options.cluster_file)
        .hint("give the file, or --tasks, --threads, --hosts, --jobs, --memory and --gpu-memory");
}

/// Plans for the tasks of the options as if they were processes, which share memory on a host.
void plan_for_processes(ClusterOptions& cluster) {
  cluster.transport = "inproc";
  Topology topology = Cluster::connect(cluster).topology();
  for (TaskInfo& task : topology.tasks) task.memory_group = task.host;
  cluster.elsewhere = std::move(topology);
  cluster.threads = 0;  // the topology has them
}

/// The first `count` tasks of the cluster. If the cluster has fewer, adds hosts like its last one.
Topology resize_cluster(Topology cluster, std::size_t count) {
  std::vector<TaskInfo>& tasks = cluster.tasks;
  const auto on_last = static_cast<std::size_t>(std::ranges::count(tasks, tasks.back().host, &TaskInfo::host));
  while (tasks.size() < count) {
    TaskInfo task = tasks[tasks.size() - on_last];
    task.index_in_job += static_cast<std::int32_t>(on_last);
    ++task.host;
    task.host_name = "host " + std::to_string(task.host);
    if (task.memory_group >= 0) task.memory_group = task.host;
    tasks.push_back(std::move(task));
  }
  tasks.resize(count);
  return cluster;
}

/// The options with `tasks` tasks.
QuoteOptions with_tasks(QuoteOptions options, int tasks) {
  ClusterOptions& cluster = options.cluster;
  if (cluster.elsewhere)
    cluster.elsewhere = resize_cluster(std::move(*cluster.elsewhere), static_cast<std::size_t>(tasks));
  cluster.tasks = tasks;
  cluster.hosts = std::min(cluster.hosts, tasks);
  return options;
}

/// Calls f with the plan, its estimate, the selection and the batches of its data.
template <class F>
void with_estimate(QuoteOptions options, const F& f) {
  if (options.share_memory) plan_for_processes(options.cluster);
  std::optional<Batches> data;
  options.on_selection = [&](Graph& graph, const Selection& selection) { data = data_of(graph, selection); };
  with_session(options, [&](Session& session, const Selection& selection) {
    const PlanResult result = session.plan(selection.request);
    double last = result.step->step_seconds;
    if (data && data->uneven()) {
      RunRequest request = selection.request;
      request.planned_step = data->steps() - 1;
      last = session.plan(request).step->step_seconds;
    }
    f(result, estimate(result, data, last), selection, data);
  });
}

/// The numbers of tasks in the table: 1, 2, 4, …, and `tasks`.
std::vector<int> table_of(int tasks) {
  std::vector<int> table{tasks};
  for (int count = 1; count <= std::max(tasks, kLeastTable); count *= 2)
    if (count != tasks) table.push_back(count);
  std::ranges::sort(table);
  return table;
}

Quote::Row row_of(const QuoteOptions& options, int tasks) {
  const Silence silence;
  Quote::Row row{tasks, {}};
  try {
    with_estimate(with_tasks(options, tasks),
                  [&](const PlanResult&, Estimate made, const auto&...) { row.estimate = std::move(made); });
  } catch (const Error& error) {
    if (error.code() != Code::plan && error.code() != Code::usage) throw;
    row.estimate = std::string(split(error.text(), '\n')[0]);
  }
  return row;
}

int quote(QuoteOptions options) {
  if (is_plan_file(options.file))
    throw Error(Code::usage, "quote: a .plan file does not hold the work of its steps").hint("ferry quote GRAPH.pb");
  choose_tasks(options);
  options.plan.step_estimate = true;
  Quote quote;
  quote.price = options.price;
  quote.costs = options.cluster_file;
  quote.here = !options.cluster.elsewhere;
  with_estimate(options, [&](const PlanResult& result, Estimate made, const Selection& selection,
                             const std::optional<Batches>& data) {
    quote.entry = selection.entry;
    quote.data = data;
    quote.job = std::move(made);
    add_work(*result.step, quote);
  });
  if (!options.cluster.elsewhere) options.cluster.threads = static_cast<int>(quote.job.roles[0].threads);
  for (const int tasks : table_of(quote.job.tasks))
    quote.table.push_back(tasks == quote.job.tasks ? Quote::Row{tasks, quote.job} : row_of(options, tasks));
  print(options.as_json ? quote_json(quote) : quote_text(quote));
  return 0;
}

}  // namespace

void add_quote_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("quote", "Predicts memory, time and price of a step without running it");
  auto options = std::make_shared<QuoteOptions>();
  command->add_option("FILE", options->file, "A graph (.pb, .pbtxt) or an ONNX model (.onnx)")->required();
  add_job_options(*command, *options);
  command->remove_option(
      command->get_option("--invariant"));  // its tasks share cores, which planned times do not take into account
  add_hosts_options(*command, *options)
      ->description(
          "Plans for the hosts, tasks and links that a file describes; where other options describe the tasks, with "
          "the costs of the file alone");
  add_shape_option(*command, options->shapes);
  command
      ->add_option_function<std::string>(
          "--price", [options](const std::string& text) { options->price = price_in(text); },
          "The price of one task for one hour, in any currency: also prints the price of an epoch, or of 1000 steps")
      ->type_name("PRICE");
  command->add_flag("--json", options->as_json, "Prints JSON");
  add_examples(*command, R"(
    ferry quote model.pb --tasks 2                     memory and time of a step
    ferry quote model.pb --tasks 2 --cluster m.pbtxt   with costs that ferry calibrate measured
    ferry quote model.pb --cluster c.pbtxt --price 2   for a cluster that is somewhere else)");
  command->callback([&action, options] { action = [options] { return quote(*options); }; });
}

}  // namespace ferry
