// The cache on disk of compiled kernels.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/files/files.hpp"

namespace ferry::cuda {

/// Where the user's caches are: $XDG_CACHE_HOME/ferry/kernels, or ~/.cache/ferry/kernels; empty: nowhere.
[[nodiscard]] std::string cache_folder();

/// Files of code, known by all that decides it. Several processes may use a folder at once. A cache that cannot be read
/// or written costs time, and is warned of once. Thread-safe.
class CodeCache {
 public:
  static constexpr std::size_t kMostFiles = 2000;

  /// `folder` empty: it keeps nothing. `files` must outlive it.
  explicit CodeCache(std::string folder, FileSystem& files = local_files())
      : folder_(std::move(folder)), files_(files) {}

  /// The code of that key; nothing if it is not there, or damaged.
  [[nodiscard]] std::optional<std::string> find(const std::string& key);
  /// If there are kMostFiles, half of them go.
  void add(const std::string& key, const std::string& code);

 private:
  [[nodiscard]] std::string path_of(const std::string& key) const;
  void make_room();
  void warn(const char* what, const Error& error);

  const std::string folder_;
  FileSystem& files_;
  std::mutex mutex_;
  bool warned_ = false;
};

}  // namespace ferry::cuda
