// Metrics: the scalars that a run fetches in each step, and the sinks that store them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ferry {

/// Scalars by name.
using Metrics = std::vector<std::pair<std::string, double>>;

class MetricsSink {
 public:
  virtual ~MetricsSink() = default;
  /// Adds the scalars of a step that has ended; the first step is 1.
  virtual void add(std::int64_t step, std::string_view entry, const Metrics& metrics) = 0;
  virtual void flush() = 0;
};

/// All sinks of a run.
class MetricsSinks {
 public:
  void add(std::unique_ptr<MetricsSink> sink) { sinks_.push_back(std::move(sink)); }
  [[nodiscard]] bool empty() const { return sinks_.empty(); }
  void add(std::int64_t step, std::string_view entry, const Metrics& metrics) {
    for (const auto& sink : sinks_) sink->add(step, entry, metrics);
  }
  void flush() {
    for (const auto& sink : sinks_) sink->flush();
  }

 private:
  std::vector<std::unique_ptr<MetricsSink>> sinks_;
};

}  // namespace ferry
