// --metrics FILE.jsonl: the scalars that a run fetches, step by step.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "base/files/files.hpp"
#include "base/system/clock.hpp"
#include "runner/files/growing_file.hpp"
#include "runner/files/metrics.hpp"

namespace ferry {

/// A line for each step, {"step":12,"seconds":3.4,"entry":"train","values":{"loss":0.31}}; a number that is not finite
/// is null. Used from one thread.
class MetricsFile final : public MetricsSink {
 public:
  /// A run that resumes after step `before` keeps the lines up to that step and drops later ones. A run from the
  /// beginning (0) empties the file. An evaluation after step `before` that is repeated keeps its line. Errors as
  /// FileSystem::write; Error(file) when lines that are to be kept cannot be read.
  MetricsFile(const std::string& path, std::int64_t before, FileSystem& files, Clock& clock);

  void add(std::int64_t step, std::string_view entry, const Metrics& metrics) override;
  void flush() override { file_.flush(); }

 private:
  const std::int64_t before_;
  std::set<std::string, std::less<>> at_before_;  ///< entries with a line for that step, of the run before
  Clock& clock_;
  const TimePoint begin_;
  GrowingFile file_;
};

}  // namespace ferry
