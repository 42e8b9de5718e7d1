// Opens files that may come from an attacker. base/files uses this for all files that it reads. Linux only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/files/bytes.hpp"
#include "base/process/descriptor.hpp"

namespace ferry {

/// A regular file, open for reading. It records its size and time of change when it is opened.
class OpenFile {
 public:
  /// Opens the file at a trusted path: links are followed. Throws Code::file if it is not a regular file.
  static OpenFile at(const std::string& path);
  /// Opens `relative` below the folder `root`, by the rules of FileSystem::read_beneath. It uses openat2
  /// (RESOLVE_BENEATH), or, on kernels before 5.6 and in containers that hide the call, folder by folder.
  static OpenFile beneath(const std::string& root, std::string_view relative);
  /// Like beneath(), without openat2. It is public for tests.
  static OpenFile beneath_by_folders(const std::string& root, std::string_view relative);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// The whole content. Throws Code::file if it has more than `limit` bytes, or the file has changed since it was
  /// opened.
  [[nodiscard]] FileBytes read_all(std::uint64_t limit) const;
  /// Fills `target` with the bytes from `begin` on. Throws Code::file, with the offset, if the file ends before them or
  /// has changed since it was opened.
  void read(std::uint64_t begin, std::span<std::byte> target) const;

 private:
  OpenFile(Descriptor descriptor, std::string shown, bool single_link);
  [[nodiscard]] bool changed() const;
  /// Reads bytes from `begin` on until `target` is full or the file ends. Returns their number.
  [[nodiscard]] std::uint64_t read_some(std::uint64_t begin, std::span<std::byte> target) const;

  Descriptor descriptor_;
  std::string shown_;  // the path, escaped for messages
  std::uint64_t size_ = 0;
  std::int64_t changed_s_ = 0;
  std::int64_t changed_ns_ = 0;
};

/// The absolute path of an existing file, without symbolic links, "." and ".."; empty if the file does not exist.
[[nodiscard]] std::string real_path(const std::string& path);

}  // namespace ferry
