// Progress of a run. If stderr is a terminal, one line on it is redrawn; if not, a line is printed every few seconds.
// Lines on stdout are printed if requested.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/system/clock.hpp"
#include "graph/types/batches.hpp"
#include "graph/types/tensor.hpp"
#include "runner/files/metrics.hpp"

namespace ferry {

/// The length of a run.
struct RunLength {
  std::int64_t steps = 1;               ///< in the whole run
  std::int64_t before = 0;              ///< steps that an earlier run has done
  std::optional<Batches> samples = {};  ///< none: steps/s are shown instead of samples/s

  /// The weight of a step (the first is 0) in a mean: 1, or less if its batch is smaller than the others.
  [[nodiscard]] double weight(std::int64_t step) const {
    if (!samples) return 1;
    return static_cast<double>(samples->at(step).count) / static_cast<double>(samples->size);
  }
};

/// The time since the last printed line, for the speed of steps. The first step of a run does not count, because it
/// includes planning and setup. Used from one thread.
class StepTimer {
 public:
  StepTimer(const RunLength& run, Clock& clock)
      : clock_(&clock), first_(run.before + 1), from_(run.before), begin_(clock.now()) {}
  /// Call it when `done` steps have ended.
  void update(std::int64_t done) {
    if (done == first_) restart(done);
  }
  /// Counts from now on; `done` steps have ended.
  void restart(std::int64_t done) {
    from_ = done;
    resume();
  }
  /// Leaves out the time since the last line, but not its steps.
  void resume() { begin_ = clock_->now(); }
  /// The number of ended steps when the time began.
  [[nodiscard]] std::int64_t from() const { return from_; }
  [[nodiscard]] Duration time() const { return clock_->now() - begin_; }

 private:
  Clock* clock_;
  std::int64_t first_, from_;
  TimePoint begin_;
};

/// A line that is redrawn: "412/938 [########----------] epoch 2/4  loss 0.312  accuracy 0.91  41,230 samples/s  3 s
/// left". Used from one thread.
class ProgressBar {
 public:
  using Sink = std::function<void(std::string_view)>;
  using Columns = std::function<int()>;

  /// `columns` returns the width of the terminal, which is asked for each line because the user may resize it. A line
  /// that does not fit is drawn without the bar, and then cut if needed.
  ProgressBar(const RunLength& run, Columns columns, Clock& clock, Sink sink);
  /// Call it when `done` steps have ended. Draws at most ten times a second, but always after the last step.
  void update(std::int64_t done, const Metrics& metrics);
  /// Clears the line, so that other text can be written there.
  void clear();

 private:
  [[nodiscard]] std::string line(std::int64_t done, const Metrics& metrics) const;
  [[nodiscard]] std::string bar(std::int64_t done) const;
  [[nodiscard]] std::string epoch(std::int64_t done) const;

  RunLength run_;
  Columns columns_;
  Clock* clock_;
  Sink sink_;
  StepTimer timer_;
  TimePoint drawn_;
  bool shown_ = false;
};

/// Means of metrics over steps.
class MeanMetrics {
 public:
  /// Adds the metrics of one more step, with a weight above 0. The names must be the same in each step.
  void add(const Metrics& metrics, double weight);
  /// The means over the steps added since the last call; resets them.
  [[nodiscard]] Metrics take();

 private:
  Metrics sums_;
  double weights_ = 0;
};

/// Means of metrics over the steps of the last epoch that this run has done. Used from one thread.
class EpochMeans {
 public:
  explicit EpochMeans(const RunLength& run) : run_(run), first_(run.before + 1), done_(run.before) {}
  /// Call it when `done` steps have ended. Does nothing unless the run has samples.
  void update(std::int64_t done, const Metrics& metrics);
  /// The means; empty without samples. Call it once, after the last step.
  [[nodiscard]] Metrics take() { return done_ < first_ ? Metrics() : means_.take(); }
  /// The steps of the means: "mean of epoch 8", "mean of steps 281 to 300"; "step 300" for a single step.
  [[nodiscard]] std::string label() const;

 private:
  RunLength run_;
  std::int64_t first_, done_;  ///< the first and the last step, counted from 1
  MeanMetrics means_;
};

/// The lines "step 50/1500: loss = 0.312 accuracy = 0.91, 41,230 samples/s" after every `every` steps and after the
/// last step, with means and speed since the previous line (StepTimer). Used from one thread.
class StepLines {
 public:
  StepLines(const RunLength& run, std::int64_t every, Clock& clock) : run_(run), every_(every), timer_(run, clock) {}
  /// Call it when `done` steps have ended. Returns the line, with a line feed, if one is due, else "".
  [[nodiscard]] std::string update(std::int64_t done, const Metrics& metrics);
  /// Leaves the time since the last line out of the speed, because it was spent on an evaluation.
  void resume() { timer_.resume(); }

 private:
  RunLength run_;
  std::int64_t every_;
  StepTimer timer_;
  MeanMetrics means_;
};

/// The lines every few seconds if stderr is not a terminal: "step 412/938: loss = 0.312, 41,230 samples/s, 3 s left".
/// Used from one thread.
class TimedLines {
 public:
  TimedLines(const RunLength& run, Clock& clock) : run_(run), timer_(run, clock) {}
  /// Call it when `done` steps have ended. Returns a line, with a line feed, 5 seconds after the previous one, else "".
  /// It has the metrics of this step, and the speed since the previous line (StepTimer). The last step has no line,
  /// because its results are printed anyway.
  [[nodiscard]] std::string update(std::int64_t done, const Metrics& metrics);
  /// Does the same as StepLines::resume().
  void resume() { timer_.resume(); }

 private:
  static constexpr std::chrono::seconds kBetween{5};

  RunLength run_;
  StepTimer timer_;
};

/// Finds the first step that fetches a scalar which is NaN or Inf. Used from one thread.
class FiniteWatch {
 public:
  /// `names` are the names of the fetches.
  explicit FiniteWatch(std::vector<std::string> names) : names_(std::move(names)) {}
  /// Checks the results of step `done`; the first step is 1. Returns "step 7: loss is nan; …" once, else "".
  [[nodiscard]] std::string update(std::int64_t done, std::span<const Tensor> fetched);

 private:
  std::vector<std::string> names_;
  bool reported_ = false;
};

/// Reports on the steps of a run: the bar or lines every few seconds on stderr, and lines on stdout and in a file if
/// requested. Warns about numbers that are not finite. Used from one thread.
class StepReport {
 public:
  struct Options {
    std::int64_t print_every = 0;       ///< 0: no lines on stdout
    ProgressBar::Columns columns = {};  ///< width of the terminal; empty: no bar
    bool timed = false;                 ///< lines every few seconds on stderr
    MetricsSinks* metrics = nullptr;    ///< null: none
    std::string entry = {};             ///< the entry that runs, for `metrics`
  };
  StepReport(std::vector<std::string> names, const RunLength& run, const Options& options, Clock& clock);

  /// Call it when one more step has ended.
  void update(std::span<const Tensor> fetched);
  /// The means of the last epoch, with a label. Call it once, after the last step.
  [[nodiscard]] EpochMeans& means() { return means_; }
  /// Clears the bar, so that something else can be printed. After resume(), the speed in the lines (not in the bar)
  /// leaves out the time since the last line.
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
  EpochMeans means_;
  FiniteWatch finite_;
};

/// The options for a run of `steps` steps. If there are several steps: the bar if stderr is a terminal, else lines
/// every few seconds unless `print_every` asks for lines.
[[nodiscard]] StepReport::Options step_report_options(std::int64_t print_every, std::int64_t steps);

/// " loss = 0.312 accuracy = 0.91", names escaped.
[[nodiscard]] std::string text_of(const Metrics& metrics);

/// The scalars among the fetches of this process.
[[nodiscard]] Metrics metrics_of(const std::vector<std::string>& names, std::span<const Tensor> fetched);

/// A sink that writes to stderr. Errors are ignored: text may be lost, but the run continues.
void write_stderr(std::string_view text);

/// Columns of the terminal on stderr; 0 if stderr is no terminal.
[[nodiscard]] int terminal_columns();

/// 41230 becomes "41,230"; numbers below 100 have one decimal.
[[nodiscard]] std::string readable(double number);
/// 3.2 becomes "3 s", 200 "3 min 20 s", 7300 "2 h 1 min", 200000 "2 d 7 h".
[[nodiscard]] std::string readable_seconds(double seconds);

}  // namespace ferry
