// Curves: the values of the scalars that a run fetches, by step.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runner/files/metrics.hpp"

namespace ferry {

/// The scalars of a run by entry and name, step by step. In a long run only every second, fourth, … step is kept.
class Curves {
 public:
  struct Curve {
    std::vector<std::int64_t> steps;
    std::vector<double> values;
    std::int64_t added = 0, stride = 1;
  };
  static constexpr std::size_t kMostPoints = 4096;  ///< most points of a curve

  void add(std::int64_t step, std::string_view entry, const Metrics& metrics);
  [[nodiscard]] const std::map<std::pair<std::string, std::string>, Curve>& all() const { return curves_; }

 private:
  std::map<std::pair<std::string, std::string>, Curve> curves_;
};

/// A sink that adds a run's scalars to the curves of its report.
class CurvesSink final : public MetricsSink {
 public:
  explicit CurvesSink(Curves& curves) : curves_(curves) {}
  void add(std::int64_t step, std::string_view entry, const Metrics& metrics) override {
    curves_.add(step, entry, metrics);
  }
  void flush() override {}

 private:
  Curves& curves_;
};

/// Reads curves from the output of `ferry run --metrics`. An incomplete last line is left out. For any other text,
/// Error(file) names `file`.
[[nodiscard]] Curves curves_in_metrics(std::string_view text, const std::string& file);

/// Reads curves from the JSON of a report, which run_in_page() returns.
[[nodiscard]] Curves curves_in_run(std::string_view json);

}  // namespace ferry
