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

/// A line for each step, {"step":12,"seconds":3.4,"entry":"train","values":{"loss":0.31}}; what is not finite is null.
/// Lines are written some times a second, and when the file is flushed or destroyed. Where they cannot be, the run goes
/// on: a warning says so, once, and no more are written. Used from one thread.
class MetricsFile {
 public:
  /// A run that goes on after step `before` goes on in the file: later lines are taken out. A run from the beginning
  /// empties it. Errors as FileSystem::write; Error(file) when lines that are to be kept cannot be read.
  MetricsFile(std::string path, std::int64_t before, FileSystem& files, Clock& clock);
  ~MetricsFile() { flush(); }
  MetricsFile(const MetricsFile&) = delete;
  MetricsFile& operator=(const MetricsFile&) = delete;

  /// `step` is over, the first is 1.
  void add(std::int64_t step, std::string_view entry, const Metrics& metrics);
  void flush();

 private:
  const std::string path_;
  FileSystem& files_;
  Clock& clock_;
  const TimePoint begin_;
  TimePoint flushed_;
  std::string lines_;
  bool full_ = false;  ///< nothing can be written any more
};

}  // namespace ferry
