#include "runner/run/run.hpp"

#include <algorithm>
#include <optional>

#include "base/files/files.hpp"
#include "base/process/process_state.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "executor/session/session.hpp"
#include "ops/op_set.hpp"
#include "ops/train/pipeline.hpp"
#include "placement/planner.hpp"
#include "plan/file/plan_file.hpp"
#include "runner/files/model_files.hpp"
#include "runner/options/budget_option.hpp"
#include "runner/options/command_line.hpp"
#include "runner/options/device_rules.hpp"
#include "runner/options/feeds.hpp"
#include "runner/options/selection.hpp"
#include "runner/report/report_page.hpp"
#include "runner/report/run_report.hpp"
#include "runner/run/invariant_cost.hpp"
#include "runner/run/job.hpp"
#include "runner/run/metrics_sinks.hpp"
#include "runner/run/own_feeds.hpp"
#include "runner/run/progress.hpp"
#include "runner/run/tuning_text.hpp"

namespace ferry {
namespace {

class Run {
 public:
  Run(Graph& graph, const RunOptions& options)
      : graph_(graph),
        options_(options),
        selection_(select_entry(graph, options.entry, options.fetches)),
        data_(data_of(graph, selection_)),
        total_(total_steps()) {
    if (options_.eval_every > 0) eval_ = select_entry(graph_, "eval", {});
    require_inputs(inputs_of(graph_),
                   {options_.feeds, options_.feed_parts});  // all tasks find the same, so one of them says it
    require_turns();
    selection_.request.fetch_to = options_.fetch_to;
    if (eval_) eval_->request.fetch_to = options_.fetch_to;
  }

  void run(const Cluster& cluster) {
    cluster_ = &cluster;
    check_written_files(options_, selection_.names, is_main(), has_fetches());
    require_own_parts(cluster, options_.feed_parts);
    selection_.request.feeds = parse_feeds(inputs_of(graph_), {own_feeds(cluster, options_.feeds), options_.feed_parts},
                                           cluster.local_tasks());
    std::optional<ModelFolder> model = model_folder(options_, cluster);
    SessionOptions options = session_options(options_, options_.run);
    RunReport report(started_as());
    std::string trace;
    if (!options_.report.empty()) options.run.on_trace = [&](std::string_view text) { trace = text; };
    if (options_.balance) balance_stages(graph_, cluster.size());
    Session session(graph_, cluster, options);
    if (!options_.model.empty()) session.restore(is_main() ? read_model(options_.model) : TensorMap());
    std::optional<Checkpoints> checkpoints;
    if (!options_.checkpoint.empty()) {
      CheckpointOptions saving = checkpoint_options(options_);
      saving.before_save = [this](int task) {
        if (task == options_.fetch_to) metrics_.flush();
      };
      checkpoints.emplace(session, selection_.request, std::move(saving));
      selection_.request.checkpoints = &*checkpoints;
      tell_beginning(*checkpoints);
    }
    if (is_main() && options_.model.empty() && (!checkpoints || checkpoints->step() == 0)) warn_of_initial_values();
    if (options_.tune) tune(session);
    Results results;
    results.names = selection_.names;
    const std::int64_t before = checkpoints ? checkpoints->step() : 0;
    results.fetched = all_steps(session, checkpoints ? &*checkpoints : nullptr, report.curves(), results);
    if (model) results.model = &*model;
    if (eval_ && before < total_) evaluate_at_end(session, checkpoints ? &*checkpoints : nullptr, results);
    if (checkpoints) checkpoints->save();
    const bool ran = !checkpoints || checkpoints->step() < total_;  // false: the checkpoint is of the last step
    if ((!options_.stats.empty() || !options_.report.empty()) && ran) results.stats = session.stats();
    if (!options_.report.empty()) add_plans(session, report);
    // Last, because it is a run of its own, and stats() describes the last run.
    if (!options_.save.empty() && results.variables.empty()) results.variables = session.variables();
    if (options_.cluster.invariant > 0) tell_cost(session);
    if (!options_.save_plan.empty()) results.plan = plan_file(session);
    Attempts attempts;
    attempts([&] { session.close(); });  // writes the trace
    if (!options_.report.empty() && !ran && is_main())
      log_warn("--report: no step was left to run, so there is nothing to write");
    if (!options_.report.empty() && ran && is_main()) {
      report.set_stats(results.stats);
      report.set_trace(trace, "the trace of this run");
      results.report = report_page({{"", report.json()}});
    }
    deliver(options_, results, is_main(), attempts);
    attempts.finish();
  }

 private:
  [[nodiscard]] bool is_main() const { return cluster_->rank() == 0; }
  /// Whether the fetches arrive in this process.
  [[nodiscard]] bool has_fetches() const {
    const auto here = cluster_->local_tasks();
    return std::find(here.begin(), here.end(), options_.fetch_to) != here.end();
  }

  [[nodiscard]] std::int64_t total_steps() const {
    if (options_.epochs == 0) return std::max<std::int64_t>(options_.steps, 1);
    if (!data_)
      throw Error(Code::usage, "--epochs: the entry '" + escaped(selection_.entry) +
                                   "' reads no data in batches, so it has no epochs")
          .hint("--steps N");
    return options_.epochs * data_->steps();
  }

  void require_turns() const {
    const bool records = !options_.run.record_turns.empty();
    if ((!records && options_.run.replay_turns.empty()) || is_asynchronous(graph_, selection_)) return;
    throw Error(Code::usage, std::string(records ? "--record-turns" : "--replay-turns") + ": the entry '" +
                                 escaped(selection_.entry) +
                                 "' has no asynchronous updates (or with a staleness of 0), so it has no turns")
        .hint("choose an entry that runs what asynchronous() gives");
  }

  /// An entry that reads variables and sets none, such as "eval", is meant for trained ones.
  void warn_of_initial_values() const {
    const std::vector<std::string> read = variables_only_read(graph_, selection_);
    if (read.empty()) return;
    log_warn("the entry '" + escaped(selection_.entry) +
             "' reads variables and sets none, so they have their initial values: " + escaped(join(read, ", "), 200) +
             "; give trained ones by --model DIR, which --save DIR has written");
  }

  void tune(Session& session) {
    const Tuned tuned = session.tune(selection_.request);
    if (is_main()) log_info(tuning_text(tuned));
  }

  /// The file for the plan of the steps, not of the eval entry; empty unless task 0 is here.
  std::vector<std::byte> plan_file(Session& session) {
    Plan plan = session.plan(selection_.request).plan;
    if (!is_main()) return {};
    name_fetches(plan, selection_.names);
    return encode_plan(plan);
  }

  void add_plans(Session& session, RunReport& report) const {
    add_plan(session, selection_, report);
    if (eval_) add_plan(session, *eval_, report);  // the last one, as of what the stats are
  }

  void add_plan(Session& session, const Selection& selection, RunReport& report) const {
    const OpSet& ops = options_.op_set();
    if (const std::optional<Batches> data = data_of(graph_, selection); data && data->uneven()) {
      RunRequest last = selection.request;
      last.planned_step = data->steps() - 1;
      report.add_plan(selection.entry, session.plan(last).plan, ops);
    }
    report.add_plan(selection.entry, session.plan(selection.request).plan, ops);
  }

  void tell_beginning(const Checkpoints& checkpoints) const {
    if (!is_main() || !options_.resume) return;
    const std::string where = in_quotes(options_.checkpoint);
    if (checkpoints.step() == 0)
      log_info("there is no checkpoint in " + where + ": begins with the first step");
    else if (checkpoints.step() < total_)
      log_info("goes on after step " + std::to_string(checkpoints.step()) + " of " + std::to_string(total_) +
               ", from " + where);
    else
      log_info("the checkpoint in " + where + " is of step " + std::to_string(checkpoints.step()) + ": of " +
               std::to_string(total_) + " steps none is left");
  }

  /// The evaluation after the last step. If it fails, what was trained is not lost: the model is saved, and if no
  /// evaluation has shown before that it can be done, a checkpoint, too.
  void evaluate_at_end(Session& session, Checkpoints* checkpoints, Results& results) {
    if (checkpoints != nullptr && !evaluated_) checkpoints->save();
    if (!options_.save.empty()) results.variables = session.variables();
    Attempts attempts;
    bool evaluated = false;
    attempts([&] {
      evaluate(session, total_);
      evaluated = true;
    });
    if (!evaluated && results.model != nullptr) attempts([&] { results.model->write(results.variables); });
    attempts.finish();
    metrics_.flush();
    if (!eval_->request.targets.empty()) results.variables.clear();  // it may have set some
  }

  /// Returns the fetches of the last step, and sets the means of the last epoch. All evaluations are done except the
  /// one after the last step.
  std::vector<Tensor> all_steps(Session& session, const Checkpoints* checkpoints, Curves& curves, Results& results) {
    std::int64_t done = checkpoints != nullptr ? checkpoints->step() : 0;
    if (has_fetches()) metrics_ = sinks_of(options_, done, curves);
    StepReport::Options told = step_report_options(options_.print_every, total_);
    told.metrics = metrics_.empty() ? nullptr : &metrics_;
    told.entry = selection_.entry;
    StepReport report(selection_.names, {.steps = total_, .before = done, .samples = data_}, told, system_clock());
    if (has_fetches() && (total_ > 1 || options_.print_every > 0 || !metrics_.empty()))
      selection_.request.on_step = [&](std::int64_t, std::span<const Tensor> fetched) { report.update(fetched); };
    std::vector<Tensor> fetched;
    if (checkpoints != nullptr && eval_missing(*checkpoints, done)) evaluate(session, done);
    while (done < total_) {
      const std::int64_t next = eval_ ? (done / options_.eval_every + 1) * options_.eval_every : total_;
      selection_.request.steps = std::min(next, total_) - done;
      fetched = session.run(selection_.request);
      done += selection_.request.steps;
      if (!eval_ || done == total_) continue;
      report.pause();
      evaluate(session, done);
      report.resume();
    }
    report.pause();
    metrics_.flush();
    results.means = report.means().take();
    results.means_label = report.means().label();
    return fetched;
  }

  /// How many steps the eval entry takes to go over its data once.
  [[nodiscard]] std::int64_t eval_steps() const {
    const std::optional<Batches> data = data_of(graph_, *eval_);
    return data ? data->steps() : 1;
  }

  /// Whether the earlier run, which this one resumes, ended after `done` steps without the evaluation that is due then.
  [[nodiscard]] bool eval_missing(const Checkpoints& checkpoints, std::int64_t done) const {
    if (!eval_ || done == 0) return false;
    const bool last = done == total_ && total_ % options_.eval_every != 0;
    return checkpoints.steps_of(eval_->request) / eval_steps() < done / options_.eval_every + (last ? 1 : 0);
  }

  /// Runs the eval entry once over its data, and prints its scalars, averaged over the rows.
  void evaluate(Session& session, std::int64_t step) {
    MeanMetrics means;
    eval_->request.steps = eval_steps();
    const RunLength epoch{.steps = eval_->request.steps, .samples = data_of(graph_, *eval_)};
    eval_->request.on_step = [&](std::int64_t i, std::span<const Tensor> fetched) {
      means.add(metrics_of(eval_->names, fetched), epoch.weight(i));
    };
    static_cast<void>(session.run(eval_->request));
    evaluated_ = true;
    if (!has_fetches()) return;
    const Metrics metrics = means.take();
    print("eval after step " + std::to_string(step) + ":" + text_of(metrics) + "\n");
    metrics_.add(step, eval_->entry, metrics);
  }

  /// Logs what --invariant costs, compared with the same run without it where that can be planned.
  void tell_cost(Session& session) {
    const Plan& plan = session.plan(selection_.request).plan;
    if (!is_main()) return;
    const int processes = cluster_->process_of(cluster_->size() - 1) + 1;
    const int tasks = processes > 1 ? processes : std::max(options_.cluster.tasks, 1);
    ClusterOptions as_many;
    as_many.tasks = tasks;
    as_many.threads = 1;
    as_many.transport = "inproc";
    as_many.jobs = options_.cluster.jobs;
    as_many.simulated = options_.cluster.simulated;
    std::optional<Session> without;
    const Plan* other = nullptr;
    try {
      without.emplace(graph_, Cluster::connect(as_many), session_options(options_));
      other = &without->plan(selection_.request).plan;
    } catch (const Error&) {  // cannot be planned: the graph or --jobs names more tasks than this
    }
    log_info(invariant_cost(plan, tasks, other));
  }

  Graph& graph_;
  const RunOptions& options_;
  const Cluster* cluster_ = nullptr;  // once it runs
  Selection selection_;
  std::optional<Batches> data_;  // none: the entry reads none in batches
  std::int64_t total_;
  std::optional<Selection> eval_;
  bool evaluated_ = false;  // at least once
  MetricsSinks metrics_;
};

}  // namespace

std::string result_line(std::string_view name, const Tensor& value) {
  return escaped(name) + " = " + value.str() + "  " + value.type().str() + "\n";
}

int run_graph(Graph& graph, RunOptions options) {
  add_alike_options(options);
  Run run = before_job(options.cluster, [&] {
    if (!options.device_rules.empty()) apply_device_rules(graph, options.device_rules);
    apply_budget(graph, options.budget);
    require_apart(options, data_files(graph));
    return Run(graph, options);
  });
  in_job(options, !options.checkpoint.empty(), [&](const Cluster& cluster) { run.run(cluster); });
  return 0;
}

}  // namespace ferry
