// The cache of compiled kernels and regions on disk, for CPUs and GPUs.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "base/files/files.hpp"

namespace ferry {

/// The folder of the cache: $XDG_CACHE_HOME/ferry/kernels, or ~/.cache/ferry/kernels; empty if neither variable is set.
[[nodiscard]] std::string cache_folder();

/// Files with code. The key has everything that determines the code. Several processes may use a folder at once. If the
/// cache cannot be read or written, kernels are compiled in each run, and ferry prints one warning. Thread-safe.
class CodeCache {
 public:
  static constexpr std::size_t kMostFiles = 2000;

  /// If `folder` is empty, the cache keeps nothing. `files` must outlive the cache.
  explicit CodeCache(std::string folder, FileSystem& files = local_files())
      : folder_(std::move(folder)), files_(files) {}

  /// The code for the key; nothing if it is missing or damaged.
  [[nodiscard]] std::optional<std::string> find(const std::string& key);
  /// Adds code. If the folder already has kMostFiles files, removes half of them first.
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

}  // namespace ferry
