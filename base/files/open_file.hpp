// Opens files that may be hostile; base/files is built on this. Linux only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/files/bytes.hpp"
#include "base/process/descriptor.hpp"

namespace ferry {

/// A regular file, open for reading; its size and time of change are recorded when it is opened.
class OpenFile {
 public:
  /// Opens by a trusted path: links are followed. Throws Code::file when it is not a regular file.
  static OpenFile at(const std::string& path);
  /// Opens `relative` below the folder `root`, as FileSystem::read_beneath says: with openat2 (RESOLVE_BENEATH), or,
  /// on kernels before 5.6 and in containers that hide the call, folder by folder.
  static OpenFile beneath(const std::string& root, std::string_view relative);
  /// The same without openat2; public for tests.
  static OpenFile beneath_by_folders(const std::string& root, std::string_view relative);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// The whole content. Throws Code::file when it is above `limit` bytes or the file has changed since it was opened.
  [[nodiscard]] FileBytes read_all(std::uint64_t limit) const;
  /// Fills `target` with the bytes from `begin` on. Throws Code::file, with the offset, when they are not all there or
  /// the file has changed since it was opened.
  void read(std::uint64_t begin, std::span<std::byte> target) const;

 private:
  OpenFile(Descriptor descriptor, std::string shown, bool single_link);
  [[nodiscard]] bool changed() const;
  /// Reads as many of the bytes from `begin` on as there are. Returns their number.
  [[nodiscard]] std::uint64_t read_some(std::uint64_t begin, std::span<std::byte> target) const;

  Descriptor descriptor_;
  std::string shown_;  // the path, escaped for messages
  std::uint64_t size_ = 0;
  std::int64_t changed_s_ = 0;
  std::int64_t changed_ns_ = 0;
};

/// The absolute path of an existing file, without symbolic links, "." and ".."; empty when there is none.
[[nodiscard]] std::string real_path(const std::string& path);

}  // namespace ferry
