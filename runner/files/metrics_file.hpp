// --metrics FILE.jsonl: the scalars that a run fetches, step by step.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/files/files.hpp"
#include "base/system/clock.hpp"

namespace ferry {

/// Scalars by name.
using Metrics = std::vector<std::pair<std::string, double>>;

/// A line for each step, {"step":12,"seconds":3.4,"entry":"train","values":{"loss":0.31}}; a number that is not finite
/// is null. Lines are buffered, and written about five times a second and by flush() and the destructor. If writing
/// fails, the run goes on: one warning says so, and no more lines are written. Used from one thread.
class MetricsFile {
 public:
  /// A run that resumes after step `before` keeps the lines up to that step and drops later ones. A run from the
  /// beginning (0) empties the file. Errors as FileSystem::write; Error(file) when lines that are to be kept cannot be
  /// read.
  MetricsFile(std::string path, std::int64_t before, FileSystem& files, Clock& clock);
  ~MetricsFile() { flush(); }
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  /// Adds the line of a step that is over; the first step is 1.
  void add(std::int64_t step, std::string_view entry, const Metrics& metrics);
  void flush();

 private:
  const std::string path_;
  FileSystem& files_;
  Clock& clock_;
  const TimePoint begin_;
  TimePoint flushed_;
  std::string lines_;
  bool full_ = false;  ///< writing failed, so nothing more is written
};

}  // namespace ferry
