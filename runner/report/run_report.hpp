// RunReport: the output of `ferry run --report`, assembled during the run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "executor/session/session.hpp"
#include "graph/op/op_def.hpp"
#include "plan/plan.hpp"
#include "runner/report/curves.hpp"
#include "runner/report/step_memory.hpp"
#include "runner/report/traced_run.hpp"

namespace ferry {

/// Collects the data of a report; json() returns them. Used from one thread.
///
///     report.add_plan("train", session.plan(request).plan, ops);
///     report.set_stats(session.stats());
///     report.set_trace(trace);
///     local_files().write(path, report_page({report.json()}));
class RunReport {
 public:
  /// The most events on a page. Only events of whole steps are shown; sums cover the whole trace.
  static constexpr std::size_t kMostEvents = 50'000;

  /// `command`: the command line; empty for a report of a trace, which has no date either.
  explicit RunReport(std::string command);

  [[nodiscard]] Curves& curves() { return curves_; }
  /// Adds a plan that the run uses, and the entry that it runs. Add the plan that ran last as the last one: the
  /// statistics belong to it.
  void add_plan(std::string_view entry, const Plan& plan, const OpSet& ops);
  void set_stats(RunStats stats) { stats_ = std::move(stats); }
  /// Reads the trace of all tasks. If the text is not a trace, Error(file) names it as `name`.
  void set_trace(std::string_view trace, const std::string& name) { run_ = read_trace(trace, name); }

  /// One JSON object: docs/guide/report_data.md has its keys.
  [[nodiscard]] std::string json() const;

 private:
  struct Arena {
    std::string device;
    std::uint64_t step_bytes = 0, state_bytes = 0;
  };

  /// The data on the page of the plan with which an entry ran last.
  struct EntryPlan {
    std::string fingerprint;
    std::string drawing;  ///< placed_plan_json()
    std::vector<StepMemory> memory;
  };

  std::string command_;
  std::int64_t began_ = 0;  // seconds since the beginning of 1970, UTC; 0: not known
  Curves curves_;
  std::map<std::string, EntryPlan> plans_;            // by entry
  std::map<std::string, std::string> entry_of_;       // by the plan's fingerprint, as in a trace
  std::vector<std::vector<Arena>> arenas_;            // by task, of the last plan
  std::vector<std::map<std::string, double>> times_;  // by task: seconds of one run of each instruction
  RunStats stats_;
  TracedRun run_;
};

}  // namespace ferry
