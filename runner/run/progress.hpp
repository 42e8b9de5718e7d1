// Progress: one line on stderr that is drawn over and over while a run lasts, only for a terminal; and lines that stay,
// where they are asked for.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/system/clock.hpp"
#include "graph/types/tensor.hpp"
#include "runner/files/metrics_file.hpp"

namespace ferry {

/// How long a run is.
struct RunLength {
  std::int64_t steps = 1;             ///< of the whole run
  std::int64_t before = 0;            ///< of those, how many an earlier run has done
  std::int64_t samples_per_step = 0;  ///< 0: steps/s are shown instead
};

/// "412/938 [########----------] loss 0.312  accuracy 0.91  41,230 samples/s  3 s left". Used from one thread.
class ProgressBar {
 public:
  using Sink = std::function<void(std::string_view)>;

  /// `columns`: those of the terminal. A line that is longer loses the bar, and if it is still longer it is cut.
  ProgressBar(const RunLength& run, int columns, Clock& clock, Sink sink);
  /// Call it when `done` steps are over. Draws at most ten times a second, and always the last step.
  void update(std::int64_t done, const Metrics& metrics);
  /// Wipes the line, so that something else can be written there.
  void clear();

 private:
  [[nodiscard]] std::string line(std::int64_t done, const Metrics& metrics, double seconds) const;
  [[nodiscard]] std::string bar(std::int64_t done) const;

  RunLength run_;
  int columns_;
  Clock* clock_;
  Sink sink_;
  TimePoint begin_, drawn_;
  bool shown_ = false;
};

/// Means of metrics over steps.
class MeanMetrics {
 public:
  /// The metrics of one more step, the same names in each.
  void add(const Metrics& metrics);
  /// The means of what was added since the last call; begins anew.
  [[nodiscard]] Metrics take();

 private:
  Metrics sums_;
  std::int64_t steps_ = 0;
};

/// "step 50/1500: loss = 0.312 accuracy = 0.91, 41,230 samples/s" after every `every` steps and the last one: means
/// and speed since the line before. Used from one thread.
class StepLines {
 public:
  StepLines(const RunLength& run, std::int64_t every, Clock& clock)
      : run_(run), every_(every), clock_(&clock), begin_(clock.now()), printed_(run.before) {}
  /// Call it when `done` steps are over. Returns the line, with its end, if one is due, else "".
  [[nodiscard]] std::string update(std::int64_t done, const Metrics& metrics);
  /// Leaves the time since the last line out of the speed: it went to an evaluation.
  void resume() { begin_ = clock_->now(); }

 private:
  RunLength run_;
  std::int64_t every_;
  Clock* clock_;
  TimePoint begin_;
  std::int64_t printed_;
  MeanMetrics means_;
};

/// Lines every few seconds where there is no terminal: "step 412/938: loss = 0.312, 41,230 samples/s, 3 s left". Used
/// from one thread.
class TimedLines {
 public:
  TimedLines(const RunLength& run, Clock& clock)
      : run_(run), clock_(&clock), begin_(clock.now()), printed_(run.before) {}
  /// Whether a line is due after `done` steps; none is after the last, whose results are printed.
  [[nodiscard]] bool due(std::int64_t done) const { return done < run_.steps && clock_->now() - begin_ >= kBetween; }
  /// The line, ended. Metrics are those of the last step, the speed is that since the line before.
  [[nodiscard]] std::string line(std::int64_t done, const Metrics& metrics);
  /// Does the same as StepLines::resume().
  void resume() { begin_ = clock_->now(); }

 private:
  static constexpr std::chrono::seconds kBetween{5};

  RunLength run_;
  Clock* clock_;
  TimePoint begin_;
  std::int64_t printed_;
};

/// Notices the first step that fetches a scalar which is NaN or Inf. Used from one thread.
class FiniteWatch {
 public:
  /// `names`: of the fetches.
  explicit FiniteWatch(std::vector<std::string> names) : names_(std::move(names)) {}
  /// Looks at step `done`, the first being 1. Returns "step 7: loss is nan; …" once, else "".
  [[nodiscard]] std::string update(std::int64_t done, std::span<const Tensor> fetched);

 private:
  std::vector<std::string> names_;
  bool told_ = false;
};

/// Reports on the steps of a run: on stderr the bar or lines every few seconds, lines on stdout and in a file where
/// they are asked for, and a warning of numbers that are not finite. Used from one thread.
class StepReport {
 public:
  struct Options {
    std::int64_t print_every = 0;    ///< 0: no lines
    int columns = 0;                 ///< of the terminal; 0: no bar
    bool timed = false;              ///< lines every few seconds
    MetricsFile* metrics = nullptr;  ///< null: none
    std::string entry = {};          ///< that runs, for the file
  };
  StepReport(std::vector<std::string> names, const RunLength& run, const Options& options, Clock& clock);

  /// Call it when one more step is over.
  void update(std::span<const Tensor> fetched);
  /// Clears the bar, so that something else can be printed; the time until resume() does not count as that of steps.
  void pause() { bar_.clear(); }
  void resume() {
    lines_.resume();
    timed_.resume();
  }

 private:
  std::vector<std::string> names_;
  Options options_;
  std::int64_t done_;
  ProgressBar bar_;
  StepLines lines_;
  TimedLines timed_;
  FiniteWatch finite_;
};

/// The options for a run of so many steps: the bar where stderr is a terminal, elsewhere lines every few seconds,
/// unless `print_every` asks for lines.
[[nodiscard]] StepReport::Options step_report_options(std::int64_t print_every, std::int64_t steps);

/// " loss = 0.312 accuracy = 0.91", names escaped.
[[nodiscard]] std::string text_of(const Metrics& metrics);

/// The scalars among the fetches.
[[nodiscard]] Metrics metrics_of(const std::vector<std::string>& names, std::span<const Tensor> fetched);

/// A sink that writes to stderr. A terminal that takes nothing loses lines, no more.
void write_stderr(std::string_view text);

/// Columns of the terminal that stderr is; 0: it is none.
[[nodiscard]] int terminal_columns();

/// 41230 → "41,230"; below 100 with one decimal.
[[nodiscard]] std::string readable(double number);
/// 3.2 → "3 s", 200 → "3 min 20 s", 7300 → "2 h 1 min".
[[nodiscard]] std::string readable_seconds(double seconds);

}  // namespace ferry
