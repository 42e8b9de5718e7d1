#include "runner/run/run.hpp"

#include <algorithm>
#include <bit>
#include <optional>

#include "base/files/files.hpp"
#include "base/float_state.hpp"
#include "base/format.hpp"
#include "base/process/process_state.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "executor/session/session.hpp"
#include "ops/op_set.hpp"
#include "ops/train/pipeline.hpp"
#include "placement/planner.hpp"
#include "plan/file/plan_file.hpp"
#include "runner/files/model_files.hpp"
#include "runner/options/annotation_text.hpp"
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
    if (options_.eval_every > 0) select_eval();
    require_inputs(inputs_of(graph_),
                   {options_.feeds, options_.feed_parts});  // all tasks find the same error, so one of them prints it
    require_turns();
    require_placed_by_itself();
    selection_.request.fetch_to = options_.fetch_to;
  }

  void run(const Cluster& cluster, const Loop& loop) {
    cluster_ = &cluster;
    std::vector<DType> dtypes;
    for (const Value& value : selection_.request.fetches) dtypes.push_back(value.dtype());
    check_written_files(options_, selection_.names, dtypes, is_main(), has_fetches());
    require_own_parts(cluster, options_.feed_parts);
    selection_.request.feeds = parse_feeds(inputs_of(graph_), {own_feeds(cluster, options_.feeds), options_.feed_parts},
                                           cluster.local_tasks());
    std::optional<ModelFolder> model = model_folder(options_, cluster);
    SessionOptions options = session_options(options_, options_.run);
    RunReport report(command_line());
    std::string trace;
    if (!options_.report.empty()) options.run.on_trace = [&](std::string_view text) { trace = text; };
    if (options_.balance) balance_stages(graph_, cluster.size(), cluster.topology().compute);
    Session session(graph_, cluster, options);
    if (options_.plan.annotations) print_annotations(session);
    if (!options_.model.empty()) session.restore(is_main() ? read_model(options_.model) : TensorMap());
    std::optional<Checkpoints> checkpoints;
    if (!options_.checkpoint.empty()) {
      CheckpointOptions saving = checkpoint_options(options_);
      saving.before_save = [this](int task) {
        if (task == options_.fetch_to) metrics_.flush();
      };
      checkpoints.emplace(session, selection_.request, std::move(saving));
      selection_.request.checkpoints = &*checkpoints;
      log_resume(*checkpoints);
    }
    if (is_main()) warn_of_forgotten_updates(graph_, static_cast<bool>(loop));
    if (is_main() && options_.model.empty() && (!checkpoints || checkpoints->step() == 0)) warn_of_initial_values();
    Results results;
    results.names = selection_.names;
    if (model) results.model = &*model;
    Steps steps(*this, session, checkpoints ? &*checkpoints : nullptr, report.curves());
    if (loop)
      run_program(loop, steps);
    else
      steps.run_all();
    steps.finish(results);
    const bool ran = steps.ran();  // false: the checkpoint is of the last step
    if (eval_ && ran && evaluated_at_ != steps.done())
      evaluate_at_end(session, checkpoints ? &*checkpoints : nullptr, steps.done(), results);
    if (checkpoints) checkpoints->save();
    if ((!options_.stats.empty() || !options_.report.empty()) && ran) results.stats = session.stats();
    if (!options_.report.empty() && ran) add_plans(session, report);
    // After stats(), which describes the last run: variables() is a run of its own.
    if (!options_.save.empty() && results.variables.empty()) results.variables = session.variables();
    if (options_.cluster.invariant > 0) log_invariant_cost(session);
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
    write_results(options_, results, is_main(), attempts);
    attempts.finish();
  }

 private:
  /// The steps of the run, one after another, with the evaluations between them.
  class Steps final : public TrainingLoop {
   public:
    Steps(Run& run, Session& session, Checkpoints* checkpoints, Curves& curves)
        : run_(run),
          session_(session),
          feeds_(run.selection_.request.feeds),
          before_(checkpoints != nullptr ? checkpoints->step() : 0),
          done_(before_) {
      const RunOptions& options = run_.options_;
      if (run_.has_fetches()) run_.metrics_ = sinks_of(options, done_, curves);
      StepReport::Options report_options = step_report_options(options.print_every, run_.total_);
      report_options.metrics = run_.metrics_.empty() ? nullptr : &run_.metrics_;
      report_options.entry = run_.selection_.entry;
      report_.emplace(run_.selection_.names, RunLength{.steps = run_.total_, .before = done_, .samples = run_.data_},
                      report_options, system_clock());
      if (run_.has_fetches() && (run_.total_ > 1 || options.print_every > 0 || !run_.metrics_.empty()))
        request().on_step = [this](std::int64_t, std::span<const Tensor> fetched) { report_->update(fetched); };
      if (checkpoints != nullptr && run_.eval_missing(*checkpoints, done_)) run_.evaluate(session_, done_);
    }

    /// Runs all steps, and all evaluations except the one after the last step.
    void run_all() {
      while (advance(run_.total_)) {
      }
    }

    /// Sets the fetches of the last step, and the means of the last epoch.
    void finish(Results& results) {
      report_->pause();
      run_.metrics_.flush();
      results.means = report_->means().take();
      results.means_label = report_->means().label();
      results.fetched = fetched_;
    }
    /// Whether this run itself has run a step. The steps of the run that it resumes do not count.
    [[nodiscard]] bool ran() const { return done_ > before_; }

    bool step(const FeedMap& feeds) override {
      const DefaultFloats floats;
      request().feeds = feeds_;
      for (const auto& [name, feed] : feeds) request().feeds.insert_or_assign(name, feed);
      return advance(1);
    }

    [[nodiscard]] std::int64_t done() const override { return done_; }
    [[nodiscard]] std::int64_t total() const override { return run_.total_; }
    [[nodiscard]] Session& session() override { return session_; }

    [[nodiscard]] const Tensor& fetched(std::string_view name) const override {
      const std::size_t i = index_of(name, run_.selection_);
      if (fetched_.empty()) throw Error(Code::usage, "fetched: no step has run yet").hint("call step() first");
      return fetched_[i];
    }

    double evaluate(std::string_view name, const FeedMap& feeds) override {
      const DefaultFloats floats;
      run_.select_eval();
      const std::size_t i = index_of(name, *run_.eval_);
      const Type& type = run_.eval_->request.fetches[i].type();
      if (type.shape.rank() != 0)
        throw Error(Code::usage, "evaluate: '{}' is {}, which is no scalar", name, as_is(type.str()))
            .at(run_.eval_->request.fetches[i].op().line())
            .hint("session().run() fetches other values");
      if (run_.evaluated_at_ != done_ || !feeds.empty()) {
        run_.eval_->request.feeds = feeds;
        evaluate_now();
      }
      const Cluster& cluster = *run_.cluster_;
      const auto at = std::ranges::find(run_.means_, name, &Metrics::value_type::first);
      const double here = at == run_.means_.end() ? 0 : at->second;
      const auto all = cluster.exchange(std::to_string(std::bit_cast<std::uint64_t>(here)));
      return std::bit_cast<double>(std::uint64_t{std::stoull(all[cluster.process_of(run_.options_.fetch_to)])});
    }

   private:
    [[nodiscard]] RunRequest& request() const { return run_.selection_.request; }

    /// Runs at most `most` steps, up to the next evaluation, and evaluates. Returns false if no step is left.
    bool advance(std::int64_t most) {
      if (done_ >= run_.total_) return false;
      if (run_.options_.tune && !ran()) run_.tune(session_);
      const std::int64_t every = run_.options_.eval_every;
      const std::int64_t next = every > 0 ? (done_ / every + 1) * every : run_.total_;
      request().steps = std::min({next - done_, run_.total_ - done_, most});
      fetched_ = session_.run(request());
      done_ += request().steps;
      if (every > 0 && done_ % every == 0 && done_ < run_.total_) evaluate_now();
      return true;
    }

    void evaluate_now() {
      report_->pause();
      run_.evaluate(session_, done_);
      report_->resume();
    }

    static std::size_t index_of(std::string_view name, const Selection& selection) {
      const auto at = std::ranges::find(selection.names, name);
      if (at != selection.names.end()) return static_cast<std::size_t>(at - selection.names.begin());
      Error error(Code::usage, "the entry '{}' fetches no value '{}'", selection.entry, name);
      const std::string like = nearest(name, selection.names);
      throw error.hint(like.empty() ? formatted("it fetches {:.200}", join(selection.names, ", "))
                                    : formatted("{}?", like));
    }

    Run& run_;
    Session& session_;
    FeedMap feeds_;  // from the command line
    std::int64_t before_, done_;
    std::optional<StepReport> report_;
    std::vector<Tensor> fetched_;
  };

  /// Calls the program's loop, in the program's floating-point settings.
  static void run_program(const Loop& loop, Steps& steps) {
    try {
      const ProgramFloats theirs;
      loop(steps);
    } catch (...) {
      throw as_error(std::current_exception(), Code::program, "the program");
    }
  }

  [[nodiscard]] bool is_main() const { return cluster_->rank() == 0; }
  /// Whether the fetches arrive in this process.
  [[nodiscard]] bool has_fetches() const {
    const auto here = cluster_->local_tasks();
    return std::find(here.begin(), here.end(), options_.fetch_to) != here.end();
  }

  [[nodiscard]] std::int64_t total_steps() const {
    if (options_.epochs == 0) return std::max<std::int64_t>(options_.steps, 1);
    if (!data_)
      throw Error(Code::usage, "--epochs: the entry '{}' reads no data in batches, so it has no epochs",
                  selection_.entry)
          .hint("--steps N");
    return options_.epochs * data_->steps();
  }

  void require_turns() const {
    const bool records = !options_.run.record_turns.empty();
    if ((!records && options_.run.replay_turns.empty()) || is_asynchronous(graph_, selection_)) return;
    throw Error(Code::usage,
                "{}: the entry '{}' has no asynchronous updates (or with a staleness of 0), so it has no turns",
                as_is(records ? "--record-turns" : "--replay-turns"), selection_.entry)
        .hint("choose an entry that runs what asynchronous() gives");
  }

  /// Error(usage) for options of placement by itself if the annotations decide the graph's placement.
  void require_placed_by_itself() const {
    const bool prints = options_.plan.annotations;
    if ((!prints && options_.plan.proves_placing) || is_placed_by_itself(graph_, options_.plan)) return;
    throw Error(Code::usage, std::string(prints ? "--print-annotations" : "--no-equal") +
                                 ": the annotations of the graph decide its placement")
        .hint("--place auto");
  }

  void print_annotations(Session& session) const {
    const PlanResult& planned = session.plan(selection_.request);
    if (is_main()) print(annotation_text(*planned.placement));
  }

  /// Warns if the entry reads variables and sets none. Such an entry, for example "eval", is meant for trained
  /// variables.
  void warn_of_initial_values() const {
    const std::vector<std::string> read = variables_only_read(graph_, selection_);
    if (read.empty()) return;
    log_warn(
        formatted("the entry '{}' reads variables and sets none, so they have their initial values: {:.200}; give "
                  "trained ones by --model DIR, which --save DIR has written",
                  selection_.entry, join(read, ", ")));
  }

  void select_eval() {
    if (eval_) return;
    if (!graph_.entries().contains("eval"))
      throw Error(Code::usage, "{}: the graph has no entry 'eval'",
                  as_is(options_.eval_every > 0 ? "--eval-every" : "evaluate"))
          .hint("leave it out, or add an entry 'eval' to the graph");
    eval_ = select_entry(graph_, "eval", {});
    eval_->request.fetch_to = options_.fetch_to;
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
    if (eval_) add_plan(session, *eval_, report);  // last, because the stats are of the last plan that ran
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

  void log_resume(const Checkpoints& checkpoints) const {
    if (!is_main() || !options_.resume) return;
    const std::string where = formatted("{:?}", options_.checkpoint);
    if (checkpoints.step() == 0)
      log_info("there is no checkpoint in " + where + ": the run begins with the first step");
    else if (checkpoints.step() < total_)
      log_info("continues after step " + std::to_string(checkpoints.step()) + " of " + std::to_string(total_) +
               ", from " + where);
    else
      log_info("training is already complete: the checkpoint in " + where + " is at step " +
               std::to_string(checkpoints.step()) + " of " + std::to_string(total_));
  }

  /// Runs the evaluation after the last step. The training is not lost if the evaluation fails: the model is saved
  /// then, and a checkpoint is saved first if no evaluation has succeeded yet.
  void evaluate_at_end(Session& session, Checkpoints* checkpoints, std::int64_t done, Results& results) {
    if (checkpoints != nullptr && evaluated_at_ < 0) checkpoints->save();
    if (!options_.save.empty()) results.variables = session.variables();
    Attempts attempts;
    bool evaluated = false;
    attempts([&] {
      evaluate(session, done);
      evaluated = true;
    });
    if (!evaluated && results.model != nullptr) attempts([&] { results.model->write(results.variables); });
    attempts.finish();
    metrics_.flush();
    if (!eval_->request.targets.empty()) results.variables.clear();  // the evaluation may have changed them
  }

  /// How many steps the eval entry takes to go over its data once.
  [[nodiscard]] std::int64_t eval_steps() const {
    const std::optional<Batches> data = data_of(graph_, *eval_);
    return data ? data->steps() : 1;
  }

  /// Whether the run that this run resumes ended after `done` steps, before the evaluation that follows them.
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
    evaluated_at_ = step;
    if (!has_fetches()) return;
    means_ = means.take();
    print("eval after step " + std::to_string(step) + ":" + text_of(means_) + "\n");
    metrics_.add(step, eval_->entry, means_);
  }

  /// Logs the cost of --invariant, compared with the same run without it if that run can be planned.
  void log_invariant_cost(Session& session) {
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
    as_many.costs = options_.cluster.costs;
    std::optional<Session> without;
    const Plan* other = nullptr;
    try {
      without.emplace(graph_, Cluster::connect(as_many), session_options(options_));
      other = &without->plan(selection_.request).plan;
    } catch (const Error&) {  // no plan: the graph or --jobs names more tasks than `tasks`
    }
    log_info(invariant_cost(plan, tasks, other));
  }

  Graph& graph_;
  const RunOptions& options_;
  const Cluster* cluster_ = nullptr;  // null before run()
  Selection selection_;
  std::optional<Batches> data_;  // none: the entry reads no data in batches
  std::int64_t total_;
  std::optional<Selection> eval_;
  std::int64_t evaluated_at_ = -1;  // the step after which the last evaluation was; -1: none yet
  Metrics means_;                   // of the last evaluation, in the process that has the fetches
  MetricsSinks metrics_;
};

}  // namespace

int run_graph(Graph& graph, RunOptions options, const Loop& loop) {
  add_compared_options(options);
  Run run = run_before_job(options.cluster, [&] {
    read_costs(options);
    if (!options.device_rules.empty()) apply_device_rules(graph, options.device_rules);
    apply_budget(graph, options.budget);
    require_distinct_files(options, data_files(graph));
    return Run(graph, options);
  });
  run_in_job(options, !options.checkpoint.empty(), [&](const Cluster& cluster) { run.run(cluster, loop); });
  return 0;
}

}  // namespace ferry
