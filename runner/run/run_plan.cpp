#include <algorithm>
#include <memory>
#include <optional>

#include "base/files/files.hpp"
#include "base/format.hpp"
#include "base/process/process_state.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "executor/session/session.hpp"
#include "ops/op_set.hpp"
#include "placement/planner.hpp"
#include "plan/file/plan_file.hpp"
#include "runner/files/graph_files.hpp"
#include "runner/files/model_files.hpp"
#include "runner/options/feeds.hpp"
#include "runner/options/selection.hpp"
#include "runner/report/report_page.hpp"
#include "runner/report/run_report.hpp"
#include "runner/run/job.hpp"
#include "runner/run/metrics_sinks.hpp"
#include "runner/run/own_feeds.hpp"
#include "runner/run/progress.hpp"
#include "runner/run/run.hpp"

namespace ferry {
namespace {

/// Error(usage) for options of planning, or options that need the graph. With --graph, --entry and --dim are allowed:
/// they apply to the graph with which the plan is compared.
void refuse_options_of_graphs(const RunOptions& options) {
  const bool alone = options.graph.empty();
  const std::pair<bool, const char*> of_planning[] = {{alone && !options.entry.empty(), "--entry"},
                                                      {options.plan.soft_placement, "--soft-placement"},
                                                      {places_ops(options), "--device"},
                                                      {!options.device_rules.empty(), "--devices"},
                                                      {!options.budget.empty(), "--budget"},
                                                      {alone && !options.dims.empty(), "--dim"},
                                                      {options.balance, "--balance"},
                                                      {!options.cluster.jobs.empty(), "--jobs"},
                                                      {options.fetch_to != 0, "--fetch-to"},
                                                      {!options.cluster_file.empty(), "--cluster"},
                                                      {options.plan.placing.has_value(), "--place"},
                                                      {options.plan.annotations, "--print-annotations"},
                                                      {!options.plan.proves_placing, "--no-equal"}};
  const std::pair<bool, const char*> of_graphs[] = {{options.epochs != 0, "--epochs"},
                                                    {options.eval_every != 0, "--eval-every"},
                                                    {options.tune, "--tune"},
                                                    {!options.checkpoint.empty(), "--checkpoint"},
                                                    {options.run.check_numerics, "--check-numerics"},
                                                    {!options.save_plan.empty(), "--save-plan"}};
  const auto refuse = [](const char* name, const char* remedy) {
    throw Error(Code::usage, std::string(name) + ": a .plan file is placed already, for one entry").hint(remedy);
  };
  for (const auto& [is_given, name] : of_planning)
    if (is_given) refuse(name, "give it to ferry plan, or run the graph's file");
  for (const auto& [is_given, name] : of_graphs)
    if (is_given) refuse(name, "run the graph's file: it is planned when it starts");
}

void require_whole_fetches(const Plan& plan) {
  for (const PlanPort& port : plan.fetches)
    if (port.by_parts())
      throw Error(Code::usage, "the plan leaves its fetch '{}' in parts on the tasks", plan.string(port.name))
          .hint("run it in a program, with Session(plan, cluster), or make a plan without RunRequest::fetch_parts");
}

/// The files that the plan's data ops read, below the data folder.
std::vector<std::string> data_files(const Plan& plan) {
  std::vector<std::string> files;
  for (const Attrs& attrs : plan.attrs)
    if (const AttrValue* path = attrs.find("path"); path != nullptr)
      if (const auto* text = std::get_if<std::string>(path)) files.push_back(*text);
  return files;
}

/// The index in the plan of each requested fetch; all fetches if none is requested.
std::vector<std::size_t> chosen_fetches(const Plan& plan, const std::vector<std::string>& lists) {
  std::vector<std::string> known;
  for (const PlanPort& port : plan.fetches) known.emplace_back(plan.string(port.name));
  std::vector<std::size_t> chosen;
  for (const std::string& list : lists)
    for (const std::string_view item : split(list, ',')) {
      const auto at = std::find(known.begin(), known.end(), trimmed(item));
      const auto index = static_cast<std::size_t>(at - known.begin());
      const auto fail = [&](const std::string& why) { return Error(Code::usage, "--fetch {}{}", item, as_is(why)); };
      if (at == known.end()) throw fail(": the plan has no such fetch").hint("one of {:.300}", join(known, ", "));
      if (std::find(chosen.begin(), chosen.end(), index) != chosen.end())
        throw fail(": given twice").hint("name it once");
      chosen.push_back(index);
    }
  for (std::size_t i = 0; lists.empty() && i < known.size(); ++i) chosen.push_back(i);
  return chosen;
}

/// The parts of feeds for this process's tasks. Also the whole feeds, if the plan takes any feed from one of these
/// tasks, or if one of them is task 0, which checks the options.
FeedMap feeds_here(const Plan& plan, const RunOptions& options, std::span<const int> tasks) {
  std::vector<FeedInput> inputs;
  for (const PlanPort& port : plan.feeds)
    inputs.push_back(
        {std::string(plan.string(port.name)), port.dtype, {}, Shape(std::span<const std::int64_t>(port.sizes))});
  const bool gives = std::any_of(plan.feeds.begin(), plan.feeds.end(), [&](const PlanPort& port) {
    return !port.by_parts() && std::find(tasks.begin(), tasks.end(), port.task) != tasks.end();
  });
  const bool reads = gives || tasks[0] == 0;
  return parse_feeds(inputs, {reads ? options.feeds : std::vector<std::string>(), options.feed_parts}, tasks);
}

/// The graph that the plan must compute, and the request that it must compute: the entry's targets, and the fetches
/// with the names of the plan's fetches.
struct Compared {
  std::unique_ptr<Graph> graph;
  RunRequest request;
};

/// Error(plan) if the graph lacks one of the plan's fetches.
Compared compared_graph(const Plan& plan, const RunOptions& options) {
  std::vector<std::string> fetches;
  InputSizes sizes;
  for (const PlanPort& port : plan.fetches) fetches.emplace_back(plan.string(port.name));
  if (is_onnx_file(options.graph))
    for (const PlanPort& port : plan.feeds)
      sizes[std::string(plan.string(port.name))] = {port.sizes.begin(), port.sizes.end()};
  Compared compared{load_any_graph(options.graph, options, sizes).graph, {}};
  try {
    compared.request = select_entry(*compared.graph, options.entry, fetches).request;
  } catch (const Error& error) {
    if (fetches.empty()) throw;
    throw Error(Code::plan,
                "the plan does not compute what the graph says, its fetches are not there: " + error.text());
  }
  if (!plan.fetches.empty()) compared.request.fetch_to = plan.fetches[0].task;
  return compared;
}

/// The options of the job. If neither the user nor the launcher sets the numbers of tasks and threads, they are the
/// plan's.
JobOptions job_for(const Plan& plan, const RunOptions& options) {
  JobOptions job = options;
  if (job.cluster.tasks == 0 && launched_tasks(job.cluster) == 1) job.cluster.tasks = plan.topology.size();
  for (const PlanClass& c : plan.classes)
    if (options.cluster.threads == 0) job.cluster.threads = std::max(job.cluster.threads, static_cast<int>(c.threads));
  return job;
}

/// A session of the plan. If there is a graph, first proves that the plan computes it.
std::unique_ptr<Session> session_of(Plan given, const Compared& compared, const Cluster& cluster,
                                    const SessionOptions& options) {
  if (compared.graph)
    return std::make_unique<Session>(std::move(given), *compared.graph, compared.request, cluster, options);
  return std::make_unique<Session>(std::move(given), cluster, options);
}

void run_in(const Cluster& cluster, Plan given, const Compared& compared, std::span<const std::size_t> chosen,
            const RunOptions& options) {
  const bool is_main = cluster.rank() == 0;
  std::optional<ModelFolder> model = model_folder(options, cluster);
  SessionOptions for_session = session_options(options, options.run);
  RunReport run_report(command_line());
  std::string trace;
  if (!options.report.empty()) for_session.run.on_trace = [&](std::string_view text) { trace = text; };
  if (is_main && !compared.graph)
    log_info(
        formatted("{} is not compared with its graph: --graph FILE proves that it computes the graph", options.file));
  const std::unique_ptr<Session> made = session_of(std::move(given), compared, cluster, for_session);
  Session& session = *made;
  const Plan& plan = session.plan({}).plan;
  if (!options.model.empty()) session.restore(is_main ? read_model(options.model) : TensorMap());
  std::vector<std::string> names;
  for (const PlanPort& port : plan.fetches) names.emplace_back(plan.string(port.name));
  RunRequest request;
  request.steps = std::max<std::int64_t>(options.steps, 1);
  const auto here = cluster.local_tasks();
  const bool has_fetches =
      !plan.fetches.empty() && std::find(here.begin(), here.end(), plan.fetches[0].task) != here.end();
  std::vector<std::string> chosen_names;
  std::vector<DType> chosen_dtypes;
  for (const std::size_t i : chosen) {
    chosen_names.push_back(names[i]);
    chosen_dtypes.push_back(plan.fetches[i].dtype);
  }
  check_written_files(options, chosen_names, chosen_dtypes, is_main, has_fetches);
  MetricsSinks metrics = has_fetches ? sinks_of(options, 0, run_report.curves()) : MetricsSinks();
  StepReport::Options report_options = step_report_options(options.print_every, request.steps);
  report_options.metrics = metrics.empty() ? nullptr : &metrics;
  report_options.entry = "plan";
  StepReport report(names, {.steps = request.steps}, report_options, system_clock());
  if (has_fetches && (request.steps > 1 || options.print_every > 0 || !metrics.empty()))
    request.on_step = [&](std::int64_t, std::span<const Tensor> fetched) { report.update(fetched); };
  require_own_parts(cluster, options.feed_parts);
  static_cast<void>(own_feeds(cluster, options.feeds));  // only checks: the plan decides who gives them
  request.feeds = feeds_here(plan, options, cluster.local_tasks());
  const std::vector<Tensor> fetched = session.run(request);
  report.pause();
  metrics.flush();
  Results results;
  if (model) results.model = &*model;
  for (const std::size_t i : chosen) {
    results.names.push_back(names[i]);
    results.fetched.push_back(fetched[i]);
  }
  if (!options.stats.empty() || !options.report.empty()) results.stats = session.stats();
  if (!options.save.empty()) results.variables = session.variables();
  if (!options.report.empty()) run_report.add_plan("plan", plan, options.op_set());
  Attempts attempts;
  attempts([&] { session.close(); });  // writes the trace
  if (!options.report.empty() && is_main) {
    run_report.set_stats(results.stats);
    run_report.set_trace(trace, "the trace of this run");
    results.report = report_page({{"", run_report.json()}});
  }
  write_results(options, results, is_main, attempts);
  attempts.finish();
}

}  // namespace

int run_plan(RunOptions options) {
  add_compared_options(options);
  JobOptions job = options;
  std::vector<std::size_t> chosen;
  Compared compared;
  Plan plan = run_before_job(options.cluster, [&] {
    refuse_options_of_graphs(options);
    Plan read = read_plan(local_files(), options.file);
    require_distinct_files(options, data_files(read));
    require_whole_fetches(read);
    chosen = chosen_fetches(read, options.fetches);
    job = job_for(read, options);
    if (!options.graph.empty()) compared = compared_graph(read, options);
    return read;
  });
  run_in_job(job, false, [&](const Cluster& cluster) { run_in(cluster, std::move(plan), compared, chosen, options); });
  return 0;
}

}  // namespace ferry
