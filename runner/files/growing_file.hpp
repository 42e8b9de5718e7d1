// GrowingFile: a file that a run extends while it lasts.
#pragma once

#include <string>
#include <string_view>

#include "base/files/files.hpp"
#include "base/system/clock.hpp"

namespace ferry {

/// Bytes are buffered, and written about five times a second and by flush() and the destructor. If writing fails, ferry
/// prints one warning, the run continues, and nothing more is written. Used from one thread.
class GrowingFile {
 public:
  /// The file has `content` at first. `option`: what asked for it, for the warning. Errors as FileSystem::write.
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
