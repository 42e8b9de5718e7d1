// GrowingFile: a file that a run appends to.
#pragma once

#include <string>
#include <string_view>

#include "base/files/files.hpp"
#include "base/system/clock.hpp"

namespace ferry {

/// Buffers bytes, and writes them about five times a second, in flush() and in the destructor. If writing fails, ferry
/// prints one warning, the run continues, and nothing more is written. Used from one thread.
class GrowingFile {
 public:
  /// Creates the file with `content`. `option`: the option that names the file, for the warning. Errors as
  /// FileSystem::write.
  GrowingFile(std::string path, std::string_view content, std::string option, FileSystem& files, Clock& clock);
  ~GrowingFile() { flush(); }
  GrowingFile(const GrowingFile&) = delete;
  GrowingFile& operator=(const GrowingFile&) = delete;

  void add(std::string_view bytes);
  void flush();

 private:
  const std::string path_, option_;
  FileSystem& files_;
  Clock& clock_;
  TimePoint flushed_;
  std::string unwritten_;
  bool full_ = false;  ///< writing failed
};

}  // namespace ferry
