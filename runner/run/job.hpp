// Common parts of running a graph and running a plan: joining the job, and writing the results.
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

/// Returns f(), the work of a process before it joins its job. Sends an Error of f() to the other processes. If all
/// processes find the same error, it is printed once (Cluster::decline).
template <class F>
auto run_before_job(const ClusterOptions& options, F f) {
  try {
    return f();
  } catch (const Error& error) {
    Cluster::decline(options, error);
  }
}

/// Joins the job, or starts it in this process, and calls `body`. Reports an exception of `body` to the other tasks,
/// and rethrows it. All processes end with the exit code of the task that failed first. Only Error(preempted) is not
/// reported, because every task throws it by itself. Ctrl-C and SIGTERM end the run in an orderly way. With `saves`
/// (the run saves checkpoints), SIGTERM first makes it save one.
void run_in_job(const JobOptions& options, bool saves, const std::function<void(const Cluster& cluster)>& body);

/// Notes in `options.cluster` the options that must be the same on all tasks: connect() compares them.
void add_compared_options(RunOptions& options);

/// Error(file) if a file that the run writes at its end has no folder, or is a folder; other errors if it cannot be
/// written. All processes call it before the first step. The process of task 0 (`is_main`) checks all files; another
/// process that has fetches checks --out. `names` and `dtypes`: the names and dtypes of the fetches.
void check_written_files(const RunOptions& options, std::span<const std::string> names, std::span<const DType> dtypes,
                         bool is_main, bool has_fetches);

/// Runs all parts of a work even if one of them fails.
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

/// The folder of --save, in the process of task 0; else none.
[[nodiscard]] std::optional<ModelFolder> model_folder(const RunOptions& options, const Cluster& cluster);

/// The results of a run after all steps have succeeded.
struct Results {
  std::vector<std::string> names;  ///< names of the fetches
  std::vector<Tensor> fetched;
  Metrics means = {};            ///< means to print in place of scalars, in the process that has the fetches
  std::string means_label;       ///< the steps of the means
  TensorMap variables;           ///< with --save
  ModelFolder* model = nullptr;  ///< the folder for the variables; null: they are not saved
  std::vector<std::byte> plan;   ///< with --save-plan, in the process of task 0: the file's content
  RunStats stats;                ///< with --stats or --report
  std::string report;            ///< with --report: the page, in the process of task 0
};

/// Writes the requested files, or prints a line for each fetch. All processes call it: the process that has a fetch
/// writes it; the process of task 0 (`is_main`) writes everything else. If a file cannot be written, everything else is
/// still written or printed, and `attempts` has the error.
void write_results(const RunOptions& options, const Results& results, bool is_main, Attempts& attempts);

}  // namespace ferry
