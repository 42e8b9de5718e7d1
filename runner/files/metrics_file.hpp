// --metrics FILE.jsonl: writes the scalars that a run fetches, step by step.
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

/// Writes a line for each step, such as {"step":12,"seconds":3.4,"entry":"train","values":{"loss":0.31}}. A number that
/// is not finite is null. Used from one thread.
class MetricsFile final : public MetricsSink {
 public:
  /// A run that resumes after step `before` keeps the lines up to that step and drops later ones. A run from the
  /// beginning (0) empties the file. If the run repeats an evaluation after step `before`, the file keeps the old line.
  /// Errors as FileSystem::write; Error(file) if the old lines cannot be read.
  MetricsFile(const std::string& path, std::int64_t before, FileSystem& files, Clock& clock);

  void add(std::int64_t step, std::string_view entry, const Metrics& metrics) override;
  void flush() override { file_.flush(); }

 private:
  const std::int64_t before_;
  std::set<std::string, std::less<>> at_before_;  ///< entries to which the previous run wrote a line for step before_
  Clock& clock_;
  const TimePoint begin_;
  GrowingFile file_;
};

}  // namespace ferry
