#include "runner/run/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/format.hpp"
#include "base/number_text.hpp"
#include "base/system/log.hpp"
#include "base/system/output.hpp"
#include "runner/options/command_line.hpp"

namespace ferry {
namespace {

constexpr int kBarCells = 20;
constexpr Duration kBetweenDraws = std::chrono::milliseconds(100);

double seconds_of(Duration time) {
  return std::chrono::duration<double>(time).count();
}

/// The speed of the steps from timer.from() to `to`: "41,230 samples/s", or if the samples are not known, "12.5
/// steps/s" or "31.0 s/step". Empty if there are no such steps.
std::string speed(const RunLength& run, const StepTimer& timer, std::int64_t to) {
  const std::int64_t from = timer.from();
  const double seconds = seconds_of(timer.time());
  if (to == from || seconds <= 0) return {};
  if (run.samples)
    return readable(static_cast<double>(run.samples->before(to) - run.samples->before(from)) / seconds) + " samples/s";
  const double rate = static_cast<double>(to - from) / seconds;
  return rate < 1 && rate > 0 ? readable(1 / rate) + " s/step" : readable(rate) + " steps/s";
}

/// The time until the last step at the speed of the steps from timer.from() to `done`: "6 s left".
std::string time_left(const RunLength& run, const StepTimer& timer, std::int64_t done) {
  const double left = seconds_of(timer.time()) * static_cast<double>(run.steps - done);
  return readable_seconds(left / static_cast<double>(done - timer.from())) + " left";
}

/// "step 20/100: loss = 0.5, 41,230 samples/s". `rate` is the last part, or empty.
std::string step_line(std::int64_t done, const RunLength& run, const Metrics& metrics, const std::string& rate) {
  const std::string between = rate.empty() ? "" : metrics.empty() ? " " : ", ";
  return "step " + std::to_string(done) + "/" + std::to_string(run.steps) + ":" + text_of(metrics) + between + rate +
         "\n";
}

}  // namespace

ProgressBar::ProgressBar(const RunLength& run, Columns columns, Clock& clock, Sink sink)
    : run_(run),
      columns_(std::move(columns)),
      clock_(&clock),
      sink_(std::move(sink)),
      timer_(run, clock),
      drawn_(clock.now() - kBetweenDraws) {}

void ProgressBar::update(std::int64_t done, const Metrics& metrics) {
  timer_.update(done);
  const TimePoint now = clock_->now();
  if (now - drawn_ < kBetweenDraws && done < run_.steps) return;
  drawn_ = now;
  shown_ = true;
  sink_("\r\x1b[K" + line(done, metrics));
}

void ProgressBar::clear() {
  if (shown_) sink_("\r\x1b[K");
  shown_ = false;
}

std::string ProgressBar::line(std::int64_t done, const Metrics& metrics) const {
  const std::string place = std::to_string(done) + "/" + std::to_string(run_.steps);
  std::string text = epoch(done);
  for (const auto& [name, value] : metrics) text += formatted(" {} {} ", name, as_is(digits_text(value, 4)));
  if (const std::string rate = speed(run_, timer_, done); !rate.empty())
    text += " " + rate + (done < run_.steps ? "  " + time_left(run_, timer_, done) : "");
  const auto room = static_cast<std::size_t>(std::max(columns_() - 1, 1));
  const std::string whole = place + " " + bar(done) + text;
  return whole.size() <= room ? whole : (place + text).substr(0, room);
}

std::string ProgressBar::bar(std::int64_t done) const {
  const double share = run_.steps > 0 ? static_cast<double>(done) / static_cast<double>(run_.steps) : 1;
  const auto filled = static_cast<std::size_t>(std::lround(share * kBarCells));
  return "[" + std::string(filled, '#') + std::string(kBarCells - filled, '-') + "]";
}

/// " epoch 2/4 "; empty without epochs of several steps.
std::string ProgressBar::epoch(std::int64_t done) const {
  const std::int64_t steps = run_.samples ? run_.samples->steps() : 1;
  if (steps <= 1 || done == 0) return "";
  const auto of = [&](std::int64_t step) { return std::to_string((step - 1) / steps + 1); };
  return " epoch " + of(done) + "/" + of(run_.steps) + " ";
}

void MeanMetrics::add(const Metrics& metrics, double weight) {
  if (sums_.empty())
    for (const auto& metric : metrics) sums_.emplace_back(metric.first, 0);
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i].second += weight * metrics[i].second;
  weights_ += weight;
}

Metrics MeanMetrics::take() {
  for (auto& metric : sums_) metric.second /= weights_;
  weights_ = 0;
  return std::exchange(sums_, {});
}

void EpochMeans::update(std::int64_t done, const Metrics& metrics) {
  if (!run_.samples || metrics.empty()) return;
  if (done_ >= first_ && (done - 1) % run_.samples->steps() == 0) {
    static_cast<void>(means_.take());
    first_ = done;
  }
  done_ = done;
  means_.add(metrics, run_.weight(done - 1));
}

std::string EpochMeans::label() const {
  const std::int64_t steps = run_.samples ? run_.samples->steps() : 1;
  if (first_ % steps == 1 % steps && done_ == first_ + steps - 1 && steps > 1)
    return "mean of epoch " + std::to_string(done_ / steps);
  if (first_ == done_) return "step " + std::to_string(done_);
  return "mean of steps " + std::to_string(first_) + " to " + std::to_string(done_);
}

std::string StepLines::update(std::int64_t done, const Metrics& metrics) {
  means_.add(metrics, run_.weight(done - 1));
  timer_.update(done);
  if (done % every_ != 0 && done != run_.steps) return "";
  const std::string rate = speed(run_, timer_, done);
  timer_.restart(done);
  return step_line(done, run_, means_.take(), rate);
}

std::string TimedLines::update(std::int64_t done, const Metrics& metrics) {
  const bool due = done < run_.steps && timer_.time() >= kBetween;
  timer_.update(done);
  if (!due) return "";
  std::string rate = speed(run_, timer_, done);
  if (!rate.empty()) rate += ", " + time_left(run_, timer_, done);
  timer_.restart(done);
  return step_line(done, run_, metrics, rate);
}

std::string FiniteWatch::update(std::int64_t done, std::span<const Tensor> fetched) {
  for (std::size_t i = 0; i < names_.size() && !reported_; ++i) {
    if (!fetched[i].defined() || fetched[i].rank() != 0) continue;
    const double value = fetched[i].number(0);
    if (std::isfinite(value)) continue;
    reported_ = true;
    return formatted("step {}: {} is {}; run the graph with --check-numerics to learn which op made it", done,
                     names_[i],
                     as_is(std::isnan(value) ? "nan"
                           : value > 0       ? "inf"
                                             : "-inf"));
  }
  return "";
}

StepReport::StepReport(std::vector<std::string> names, const RunLength& run, const Options& options, Clock& clock)
    : names_(std::move(names)),
      options_(options),
      done_(run.before),
      bar_(run, options.columns, clock, write_stderr),
      lines_(run, std::max<std::int64_t>(options.print_every, 1), clock),
      timed_(run, clock),
      means_(run),
      finite_(names_) {}

void StepReport::update(std::span<const Tensor> fetched) {
  ++done_;
  if (const std::string warning = finite_.update(done_, fetched); !warning.empty()) {
    bar_.clear();
    log_warn(warning);
  }
  const Metrics metrics = metrics_of(names_, fetched);
  means_.update(done_, metrics);
  if (options_.metrics != nullptr) options_.metrics->add(done_, options_.entry, metrics);
  if (options_.timed) write_stderr(timed_.update(done_, metrics));
  if (options_.print_every > 0)
    if (const std::string line = lines_.update(done_, metrics); !line.empty()) {
      bar_.clear();
      print(line);
    }
  if (options_.columns) bar_.update(done_, metrics);
}

StepReport::Options step_report_options(std::int64_t print_every, std::int64_t steps) {
  StepReport::Options options{.print_every = print_every};
  if (steps > 1 && terminal_columns() > 0) options.columns = terminal_columns;
  options.timed = steps > 1 && !options.columns && print_every == 0;
  return options;
}

std::string text_of(const Metrics& metrics) {
  std::string text;
  for (const auto& [name, value] : metrics) text += formatted(" {} = {}", name, as_is(digits_text(value, 6)));
  return text;
}

Metrics metrics_of(const std::vector<std::string>& names, std::span<const Tensor> fetched) {
  Metrics metrics;
  for (std::size_t i = 0; i < names.size(); ++i)
    if (fetched[i].defined() && fetched[i].rank() == 0) metrics.emplace_back(names[i], fetched[i].number(0));
  return metrics;
}

void write_stderr(std::string_view text) {
  write_all(STDERR_FILENO, text);
}

int terminal_columns() {
  if (isatty(STDERR_FILENO) == 0) return 0;
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string readable(double number) {
  if (number < 100) return decimals_text(number, 1);
  std::string digits = std::to_string(std::llround(number));
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string readable_seconds(double seconds) {
  const auto whole = std::llround(seconds);
  if (whole < 60) return std::to_string(whole) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
  if (whole < 48 * 3600) return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
  return std::to_string(whole / 86400) + " d " + std::to_string(whole / 3600 % 24) + " h";
}

}  // namespace ferry
