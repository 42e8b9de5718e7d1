// Progress of a run: one line that is redrawn on stderr if that is a terminal, lines every few seconds if it is not,
// and lines on stdout if they are asked for.
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

/// How long a run is.
struct RunLength {
  std::int64_t steps = 1;               ///< in the whole run
  std::int64_t before = 0;              ///< how many of them an earlier run has done
  std::optional<Batches> samples = {};  ///< none: steps/s are shown instead of samples/s

  /// What counts in a mean for that step (the first is 0): 1, and less for a batch that is smaller than the others.
  [[nodiscard]] double weight(std::int64_t step) const {
    if (!samples) return 1;
    return static_cast<double>(samples->at(step).count) / static_cast<double>(samples->size);
  }
};

/// "412/938 [########----------] loss 0.312  accuracy 0.91  41,230 samples/s  3 s left". Used from one thread.
class ProgressBar {
 public:
  using Sink = std::function<void(std::string_view)>;

  /// `columns` is the width of the terminal. A line that does not fit is drawn without the bar, and then cut if needed.
  ProgressBar(const RunLength& run, int columns, Clock& clock, Sink sink);
  /// To be called when `done` steps are over. Draws at most ten times a second, but always after the last step.
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
  /// Adds the metrics of one more step, with a weight above 0. The names must be the same in each step.
  void add(const Metrics& metrics, double weight);
  /// The means over the steps added since the last call; resets them.
  [[nodiscard]] Metrics take();

 private:
  Metrics sums_;
  double weights_ = 0;
};

/// Means of numbers over the steps of the last epoch, or over the steps of it that were run. Used from one thread.
class EpochMeans {
 public:
  explicit EpochMeans(const RunLength& run) : run_(run), first_(run.before + 1), done_(run.before) {}
  /// To be called when `done` steps are over. Does nothing unless the run has samples.
  void update(std::int64_t done, const Metrics& metrics);
  /// The means; empty without samples. Call it once, after the last step.
  [[nodiscard]] Metrics take() { return done_ < first_ ? Metrics() : means_.take(); }
  /// Which steps these are: "mean of epoch 8", "mean of steps 281 to 300"; "step 300" for a single one.
  [[nodiscard]] std::string label() const;

 private:
  RunLength run_;
  std::int64_t first_, done_;  ///< the first and the last step, counted from 1
  MeanMetrics means_;
};

/// "step 50/1500: loss = 0.312 accuracy = 0.91, 41,230 samples/s" after every `every` steps and the last one: means
/// and speed since the line before. Used from one thread.
class StepLines {
 public:
  StepLines(const RunLength& run, std::int64_t every, Clock& clock)
      : run_(run), every_(every), clock_(&clock), begin_(clock.now()), printed_(run.before) {}
  /// To be called when `done` steps are over. Returns the line, with a line feed, if one is due, else "".
  [[nodiscard]] std::string update(std::int64_t done, const Metrics& metrics);
  /// Leaves the time since the last line out of the speed, as it was spent on an evaluation.
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
  /// Whether a line is due after `done` steps: 5 seconds after the last line, but not after the last step, because its
  /// results are printed anyway.
  [[nodiscard]] bool due(std::int64_t done) const { return done < run_.steps && clock_->now() - begin_ >= kBetween; }
  /// The line, with a line feed: the metrics of this step, and the speed since the line before.
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
  /// `names` are the names of the fetches.
  explicit FiniteWatch(std::vector<std::string> names) : names_(std::move(names)) {}
  /// Looks at the results of step `done`; the first step is 1. Returns "step 7: loss is nan; …" once, else "".
  [[nodiscard]] std::string update(std::int64_t done, std::span<const Tensor> fetched);

 private:
  std::vector<std::string> names_;
  bool told_ = false;
};

/// Reports on the steps of a run: the bar or lines every few seconds on stderr, and lines on stdout and in a file if
/// requested. Warns about numbers that are not finite. Used from one thread.
class StepReport {
 public:
  struct Options {
    std::int64_t print_every = 0;     ///< 0: no lines on stdout
    int columns = 0;                  ///< width of the terminal; 0: no bar
    bool timed = false;               ///< lines every few seconds on stderr
    MetricsSinks* metrics = nullptr;  ///< null: none
    std::string entry = {};           ///< the entry that runs, for these
  };
  StepReport(std::vector<std::string> names, const RunLength& run, const Options& options, Clock& clock);

  /// To be called when one more step is over.
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

/// The options for a run of `steps` steps: if there are several, the bar when stderr is a terminal, else lines every
/// few seconds unless `print_every` asks for lines.
[[nodiscard]] StepReport::Options step_report_options(std::int64_t print_every, std::int64_t steps);

/// " loss = 0.312 accuracy = 0.91", names escaped.
[[nodiscard]] std::string text_of(const Metrics& metrics);

/// The scalars among the fetches that this process has.
[[nodiscard]] Metrics metrics_of(const std::vector<std::string>& names, std::span<const Tensor> fetched);

/// A sink that writes to stderr. Errors are ignored: text may be lost, but the run continues.
void write_stderr(std::string_view text);

/// Columns of the terminal on stderr; 0 if stderr is no terminal.
[[nodiscard]] int terminal_columns();

/// 41230 → "41,230"; below 100 with one decimal.
[[nodiscard]] std::string readable(double number);
/// 3.2 → "3 s", 200 → "3 min 20 s", 7300 → "2 h 1 min", 200000 → "2 d 7 h".
[[nodiscard]] std::string readable_seconds(double seconds);

}  // namespace ferry
