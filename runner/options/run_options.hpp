// The options of `ferry run`, which are also the options of programs that use run_main().
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "executor/session/checkpoints.hpp"
#include "executor/session/session.hpp"
#include "kernels/user_ops.hpp"
#include "ops/op_set.hpp"
#include "runner/files/written_files.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace ferry {

/// Options that form the job and choose the part of the graph to run. The commands run, plan, check, explain and quote
/// have them.
struct JobOptions {
  std::string entry;
  std::vector<std::string> fetches;
  std::int32_t fetch_to = 0;
  std::vector<std::string> feeds, feed_parts;  ///< FeedOptions
  std::vector<std::string> dims;               ///< "batch=4"
  std::string device = "auto";                 ///< auto, cpu, gpu, sim, sim:SEED
  std::string device_rules;                    ///< file for apply_device_rules
  std::string cluster_file;                    ///< file that sets cluster.elsewhere, or cluster.costs of a run
  PlanningOptions plan;
  bool balance = false;  ///< for balance_stages
  Budget budget;         ///< for apply_budget
  ClusterOptions cluster;
  /// The ops that a graph may use, and their kernels; null: ferry's own.
  std::shared_ptr<const UserOps> ops;
  /// The ops of `ops`, or ferry's.
  [[nodiscard]] const OpSet& op_set() const { return ops ? ops->ops : default_ops(); }
};

struct RunOptions : JobOptions {
  std::string file;        ///< file of the graph or plan; empty: the program makes the graph
  std::string graph;       ///< file of the graph that the plan in `file` must compute; empty: not compared
  std::string out;         ///< folder for the fetches as NAME.npy; empty: ferry prints them
  std::int64_t steps = 0;  ///< 0: one step, or as many as `epochs` take
  std::int64_t epochs = 0;
  std::int64_t eval_every = 0;
  std::int64_t print_every = 0;
  std::string model, save;
  ExecutionOptions run;
  std::string stats, metrics, tensorboard, report;
  bool tune = false;
  std::string save_plan;
  std::string checkpoint;        ///< folder; empty: the run saves no checkpoints
  std::string checkpoint_every;  ///< "100" steps, "30s"; empty: at the end, and when the run is asked to stop
  int checkpoint_keep = CheckpointOptions().keep;
  bool resume = false;
};

/// The options of Checkpoints, from the options of the run. Error(usage) if `checkpoint_every` is neither a number of
/// steps nor a time.
[[nodiscard]] CheckpointOptions checkpoint_options(const RunOptions& options);

/// The options of Session, from the options of the job and of its run. They point to kernels and ops in `options.ops`,
/// which must stay alive.
[[nodiscard]] SessionOptions session_options(const JobOptions& options, ExecutionOptions run = {});

/// Reads the costs in the file that --cluster names, in the process of task 0, which sends them to the other tasks
/// (ClusterOptions::costs). Logs a warning if another machine or version measured them. Errors as read_cluster();
/// Error(plan) for a file without costs of its own.
void read_costs(RunOptions& options);

/// The files that a job with these options reads, besides the graph.
[[nodiscard]] std::vector<GivenFile> files_read(const JobOptions& options);
/// Error(usage) if a run would overwrite a file that it reads, or write one file twice. `data` are the files of the
/// graph's data ops, below the folder --data. Call it before anything runs.
void require_distinct_files(const RunOptions& options, const std::vector<std::string>& data);

/// Whether --device only places ops, which a plan has already done. A simulated device does more: it defines a task's
/// GPUs.
[[nodiscard]] bool places_ops(const JobOptions& options);

/// True if the path names a plan file.
[[nodiscard]] bool is_plan_file(const std::string& path);
/// Makes `option` take the name of a plan file. Error(usage) for another name, which no command would read as a plan.
CLI::Option* require_plan_file(CLI::Option* option);

/// Each adds one option: --dim (for ONNX models), --feed.
void add_dim_option(CLI::App& app, JobOptions& options);
void add_feed_option(CLI::App& app, JobOptions& options);
/// Adds --entry, --fetch, --fetch-to, --feed, --feed-part, --dim, --ops, --tasks, --invariant, --jobs, --threads,
/// --memory, --gpu-memory, --device, --devices, --soft-placement, --balance, --budget.
void add_job_options(CLI::App& app, JobOptions& options);
/// Adds the options of add_job_options() and all other options of `ferry run`, except FILE.
void add_run_options(CLI::App& app, RunOptions& options);

}  // namespace ferry
