// ScratchFolder: for the files of a benchmark.
#pragma once

#include <string>

namespace ferry::bench {

/// A new folder, gone with all in it when this ends. Error(resource) when there is no place for one.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace ferry::bench
