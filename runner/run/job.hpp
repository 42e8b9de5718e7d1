// What running a graph and running a plan have in common: joining the job, and writing the results.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/session/session.hpp"
#include "runner/files/metrics.hpp"
#include "runner/files/model_files.hpp"
#include "runner/options/run_options.hpp"

namespace ferry {

/// Returns f(), which is what a process does before it joins its job. An Error in it is told to the other processes,
/// and printed once where all find the same (Cluster::decline).
template <class F>
auto before_job(const ClusterOptions& options, F f) {
  try {
    return f();
  } catch (const Error& error) {
    Cluster::decline(options, error);
  }
}

/// Joins the job, or starts it in this process, and calls `body`. Tells the other tasks about an exception of `body`,
/// and rethrows it. All processes end with the exit code of the task that failed first. Only Error(preempted), which
/// every task throws by itself, is not told. Ctrl-C and SIGTERM end the run in good order; with `saves` (the run saves
/// checkpoints), SIGTERM makes it save one first.
void in_job(const JobOptions& options, bool saves, const std::function<void(const Cluster& cluster)>& body);

/// Notes in `options.cluster` which options must be given alike to all tasks: connect() compares them.
void add_alike_options(RunOptions& options);

/// Error(file) if a file that the run writes at its end has no folder, or is one; other errors if it cannot be written.
/// Before the first step, in all processes: task 0's (`is_main`) checks all files, another with fetches checks --out.
/// `names`: of the fetches.
void check_written_files(const RunOptions& options, std::span<const std::string> names, bool is_main, bool has_fetches);

/// Does all parts of a work though one fails.
class Attempts {
 public:
  template <class F>
  void operator()(const F& part) {
    try {
      part();
    } catch (const Error& error) {
      note(error);
    }
  }
  /// Throws the first error, with the others as notes.
  void finish() const;

 private:
  void note(const Error& error);
  std::optional<Error> first_;
};

/// The folder of --save, in the process of task 0.
[[nodiscard]] std::optional<ModelFolder> model_folder(const RunOptions& options, const Cluster& cluster);

/// The results of a run after all steps have succeeded.
struct Results {
  std::vector<std::string> names;  ///< names of the fetches
  std::vector<Tensor> fetched;
  Metrics means = {};            ///< scalars whose means are printed instead, in the process that has the fetches
  std::string means_label;       ///< of which steps
  TensorMap variables;           ///< with --save
  ModelFolder* model = nullptr;  ///< where the variables go; null: nowhere
  std::vector<std::byte> plan;   ///< with --save-plan, in the process of task 0: the file's content
  RunStats stats;                ///< with --stats or --report
  std::string report;            ///< with --report: the page, in the process of task 0
};

/// Writes the files that were asked for, or prints a line for each fetch. All processes call it: the process that has a
/// fetch writes it; the process of task 0 (`is_main`) writes everything else. A file that cannot be written keeps
/// nothing else from being written or printed; `attempts` has the error.
void deliver(const RunOptions& options, const Results& results, bool is_main, Attempts& attempts);

}  // namespace ferry
