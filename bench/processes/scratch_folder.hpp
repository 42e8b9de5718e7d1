// ScratchFolder: a temporary folder for the files of a benchmark.
#pragma once

#include <string>

namespace ferry::bench {

/// A new folder, which the destructor removes with its content. Error(resource) if the folder cannot be created.
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
