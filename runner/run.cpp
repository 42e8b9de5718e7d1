#include "runner/run.hpp"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/files.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "executor/session.hpp"
#include "runner/command_line.hpp"
#include "runner/feeds.hpp"
#include "runner/model_files.hpp"
#include "runner/progress.hpp"
#include "runner/selection.hpp"
#include "runner/signals.hpp"
#include "runner/stats_json.hpp"
#include "runner/tensor_files.hpp"

namespace ferry {
namespace {

void write_stderr(std::string_view text) {
  // A terminal that takes nothing loses a progress line, no more.
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

/// The scalars among the fetches.
Metrics metrics_of(const std::vector<std::string>& names, std::span<const Tensor> fetched) {
  Metrics metrics;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (fetched[i].defined() && fetched[i].rank() == 0) metrics.emplace_back(names[i], fetched[i].number(0));
  return metrics;
}

class Run {
 public:
  Run(Graph& graph, const RunOptions& options, const Cluster& cluster)
      : graph_(graph),
        options_(options),
        cluster_(cluster),
        selection_(select_entry(graph, options.entry, options.fetches)),
        data_(data_of(graph, selection_)),
        total_(total_steps()) {
    if (options_.eval_every > 0) eval_ = select_entry(graph_, "eval", {});
    if (is_main()) selection_.request.feeds = parse_feeds(graph_, options_.feeds);
  }

  void run() {
    SessionOptions session_options;
    session_options.seed = options_.seed;
    session_options.data_folder = options_.data;
    session_options.soft_placement = options_.soft_placement;
    session_options.trace_file = options_.trace;
    Session session(graph_, cluster_, session_options);
    if (!options_.model.empty()) session.restore(is_main() ? read_model(options_.model) : TensorMap());
    const std::vector<Tensor> fetched = all_steps(session);
    const RunStats stats = options_.stats.empty() ? RunStats() : session.stats();
    const TensorMap variables = options_.save.empty() ? TensorMap() : session.variables();
    session.close();
    if (is_main()) deliver(fetched, variables, stats);
  }

 private:
  [[nodiscard]] bool is_main() const { return cluster_.rank() == 0; }

  [[nodiscard]] std::int64_t total_steps() const {
    if (options_.epochs == 0) return std::max<std::int64_t>(options_.steps, 1);
    if (data_.steps == 0)
      throw Error(Code::usage, "--epochs: the entry '" + escaped(selection_.entry) +
                                   "' reads no data in batches, so it has no epochs")
          .hint("--steps N");
    return options_.epochs * data_.steps;
  }

  std::vector<Tensor> all_steps(Session& session) {
    const int columns = is_main() && total_ > 1 ? terminal_columns() : 0;
    ProgressBar bar({.steps = total_, .samples_per_step = data_.batch, .columns = columns}, system_clock(),
                    write_stderr);
    std::int64_t done = 0;
    if (columns > 0)
      selection_.request.on_step = [&](std::int64_t, std::span<const Tensor> fetched) {
        bar.update(++done, metrics_of(selection_.names, fetched));
      };
    std::vector<Tensor> fetched;
    for (std::int64_t from = 0; from < total_; from += selection_.request.steps) {
      selection_.request.steps = std::min(eval_ ? options_.eval_every : total_, total_ - from);
      fetched = session.run(selection_.request);
      if (!eval_) continue;
      bar.clear();
      evaluate(session, from + selection_.request.steps);
    }
    bar.clear();
    return fetched;
  }

  /// One pass of the eval entry over its data; its scalars, averaged over the steps, on stdout.
  void evaluate(Session& session, std::int64_t step) {
    Metrics sums;
    eval_->request.steps = std::max<std::int64_t>(data_of(graph_, *eval_).steps, 1);
    eval_->request.on_step = [&](std::int64_t, std::span<const Tensor> fetched) {
      const Metrics now = metrics_of(eval_->names, fetched);
      if (sums.empty())
        sums = now;
      else
        for (std::size_t i = 0; i < sums.size(); ++i) sums[i].second += now[i].second;
    };
    static_cast<void>(session.run(eval_->request));
    if (!is_main()) return;
    std::string line = "eval after step " + std::to_string(step) + ":";
    for (const auto& [name, sum] : sums) {
      char text[32];
      std::snprintf(text, sizeof text, "%.6g", sum / static_cast<double>(eval_->request.steps));
      line += " " + escaped(name) + " = " + text;
    }
    print(line + "\n");
  }

  void deliver(const std::vector<Tensor>& fetched, const TensorMap& variables, const RunStats& stats) const {
    if (!options_.out.empty()) write_npy_files(options_.out, selection_.names, fetched);
    if (!options_.save.empty()) write_model(options_.save, variables);
    if (!options_.stats.empty()) local_files().write(options_.stats, stats_json(stats));
    if (options_.out.empty())
      for (std::size_t i = 0; i < fetched.size(); ++i) print(result_line(selection_.names[i], fetched[i]));
  }

  Graph& graph_;
  const RunOptions& options_;
  const Cluster& cluster_;
  Selection selection_;
  DataSize data_;
  std::int64_t total_;
  std::optional<Selection> eval_;
};

/// Tells the other tasks why this process gives up.
void abort_job(const Cluster& cluster, const Report& report) noexcept {
  for (const int task : cluster.local_tasks())
    cluster.transport(task).abort({task, static_cast<Code>(report.exit_code), report.text});
}

/// The code with which all tasks end: that of the one that failed first.
Code code_of_job(const Cluster& cluster, const Error& error) {
  const auto failure = cluster.transport(cluster.rank()).failure();
  return error.code() == Code::peer_lost && failure ? failure->code : error.code();
}

}  // namespace

std::string result_line(std::string_view name, const Tensor& value) {
  return escaped(name) + " = " + value.str() + "  " + value.type().str() + "\n";
}

int run_graph(Graph& graph, const RunOptions& options) {
  const SignalGuard signals;
  ClusterOptions cluster_options = options.cluster;
  cluster_options.deadline = std::chrono::milliseconds(std::llround(options.deadline_seconds * 1000));
  const Cluster cluster = Cluster::connect(cluster_options);
  if (cluster.local_tasks().size() < static_cast<std::size_t>(cluster.size())) log_task(cluster.rank());
  try {
    Run(graph, options, cluster).run();
  } catch (const Error& error) {
    abort_job(cluster, report_of(std::current_exception()));
    throw Error(code_of_job(cluster, error), error.text());
  } catch (...) {
    abort_job(cluster, report_of(std::current_exception()));
    throw;
  }
  return 0;
}

}  // namespace ferry
