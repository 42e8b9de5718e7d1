#include "runner/run/job.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/files/files.hpp"
#include "base/format.hpp"
#include "base/system/interrupt.hpp"
#include "base/system/log.hpp"
#include "comm/transport.hpp"
#include "runner/files/stats_json.hpp"
#include "runner/files/tensor_files.hpp"
#include "runner/files/written_files.hpp"
#include "runner/options/command_line.hpp"
#include "runner/run/signals.hpp"

namespace ferry {
namespace {

/// Aborts the job: sends the error of this process to the other tasks.
void abort_job(const Cluster& cluster, const Report& report) noexcept {
  for (const int task : cluster.local_tasks())
    cluster.transport(task).abort({task, static_cast<Code>(report.exit_code), report.text, !report.told_elsewhere});
}

/// The error if it is Error(preempted). All tasks throw it by themselves, so it is not sent to them, and each task
/// leaves the job as usual.
std::optional<Error> preemption(const std::exception_ptr& thrown) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& error) {
    if (error.code() == Code::preempted) return error;
  } catch (...) {
  }
  return std::nullopt;
}

/// Joins the job. Error(preempted) if SIGTERM or SIGHUP arrives first and the run would save a checkpoint because of
/// it.
Cluster join_job(const ClusterOptions& options) {
  try {
    return Cluster::connect(options);
  } catch (const Error& error) {
    if (error.code() != Code::interrupted || !preemption_requested()) throw;
    throw Error(Code::preempted, "stopped before the first step, as asked for").hint("start it again");
  }
}

/// "c = [11 22 33]  int32[3]".
std::string result_line(std::string_view name, const Tensor& value) {
  return formatted("{} = {}  {}\n", name, as_is(value.str()), as_is(value.type().str()));
}

/// "loss = 0.5  float32[], mean of epoch 8".
std::string mean_line(const Metrics::value_type& mean, const Type& type, const std::string& label) {
  const Tensor value =
      type.dtype == DType::float64 ? Tensor::scalar(mean.second) : Tensor::scalar(static_cast<float>(mean.second));
  return formatted("{} = {}  {}, {}\n", mean.first, as_is(value.str()), as_is(type.str()), as_is(label));
}

}  // namespace

void run_in_job(const JobOptions& options, bool saves, const std::function<void(const Cluster& cluster)>& body) {
  warn_of_lost_reader();
  SignalGuard signals(saves);
  std::optional<Error> preempted;
  {
    const Cluster cluster = join_job(options.cluster);
    signals.joined();
    try {
      body(cluster);
    } catch (...) {
      preempted = preemption(std::current_exception());
      if (!preempted) {
        abort_job(cluster, report_of(std::current_exception()));
        throw;
      }
    }
  }
  if (preempted) throw *preempted;
}

std::optional<ModelFolder> model_folder(const RunOptions& options, const Cluster& cluster) {
  if (options.save.empty() || cluster.rank() != 0) return std::nullopt;
  return std::optional<ModelFolder>(std::in_place, options.save);
}

void add_compared_options(RunOptions& options) {
  const auto number = [&](const char* name, auto value) {
    if (value != 0) options.cluster.alike[name] = std::to_string(value);
  };
  const auto given = [&](const char* name, bool is_given) {
    if (is_given) options.cluster.alike[name] = "given";
  };
  number("--seed", options.run.seed);
  number("--steps", options.steps);
  number("--epochs", options.epochs);
  number("--eval-every", options.eval_every);
  number("--check-replicas", options.run.check_replicas);
  if (!options.checkpoint_every.empty()) options.cluster.alike["--checkpoint-every"] = options.checkpoint_every;
  number("--checkpoint-keep", options.checkpoint_keep);
  given("--check-numerics", options.run.check_numerics);
  given("--tune", options.tune);
  given("--resume", options.resume);
  given("--model", !options.model.empty());
  given("--save", !options.save.empty());
  given("--save-plan", !options.save_plan.empty());
  given("--checkpoint", !options.checkpoint.empty());
  given("--stats", !options.stats.empty());
  given("--trace", !options.run.trace_file.empty());
  given("--report", !options.report.empty());
}

void check_written_files(const RunOptions& options, std::span<const std::string> names, std::span<const DType> dtypes,
                         bool is_main, bool has_fetches) {
  if (!options.out.empty() && (is_main || has_fetches)) {
    check_npy_files(names, dtypes);
    check_written_folder("--out", options.out);
  }
  if (!is_main) return;
  for (const auto& [option, path] :
       {std::pair("--report", &options.report), std::pair("--trace", &options.run.trace_file),
        std::pair("--stats", &options.stats), std::pair("--save-plan", &options.save_plan)})
    if (!path->empty()) check_written_file(option, *path);
}

void Attempts::note(const Error& error) {
  if (first_)
    first_->note("and: " + error.text());
  else
    first_ = error;
}

void Attempts::finish() const {
  if (first_) throw Error(*first_);
}

void write_results(const RunOptions& options, const Results& results, bool is_main, Attempts& attempts) {
  Results here;
  for (std::size_t i = 0; i < results.fetched.size(); ++i) {
    if (!results.fetched[i].defined()) continue;
    here.names.push_back(results.names[i]);
    here.fetched.push_back(results.fetched[i]);
  }
  if (results.model != nullptr) attempts([&] { results.model->write(results.variables); });
  if (!options.out.empty() && (is_main || !here.names.empty()))
    attempts([&] { write_npy_files(options.out, here.names, here.fetched); });
  if (!results.plan.empty()) attempts([&] { local_files().write(options.save_plan, results.plan); });
  if (is_main && !options.stats.empty() && !results.stats.tasks.empty())
    attempts([&] { local_files().write(options.stats, stats_json(results.stats)); });
  if (is_main && !results.report.empty()) attempts([&] { local_files().write(options.report, results.report); });
  if (!options.out.empty()) return;
  for (std::size_t i = 0; i < here.names.size(); ++i) {
    const auto mean = std::find_if(results.means.begin(), results.means.end(),
                                   [&](const auto& metric) { return metric.first == here.names[i]; });
    const bool has_mean = mean != results.means.end() && is_float(here.fetched[i].dtype());
    print(has_mean ? mean_line(*mean, here.fetched[i].type(), results.means_label)
                   : result_line(here.names[i], here.fetched[i]));
  }
}

}  // namespace ferry
