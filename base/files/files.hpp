// Files behind an interface, so that a simulation can replace them and a test can break them. Every error names the
// file (escaped). It is Code::file if a file cannot be read, Code::usage if a path cannot be written, and
// Code::resource if the disk, memory or descriptors are used up.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/bytes.hpp"

#pragma GCC visibility push(default)
namespace ferry {

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

/// A regular file, open for reading at any offset. All functions may be called from any thread.
class FileReader {
 public:
  virtual ~FileReader() = default;
  /// The path by which it was opened, for messages.
  [[nodiscard]] virtual const std::string& name() const = 0;
  /// The size in bytes at the time it was opened.
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Fills `target` with the bytes from `begin` on. Throws Code::file, with file and offset, if the bytes cannot be
  /// read, the file ends before them, or the file has changed since it was opened.
  virtual void read(std::uint64_t begin, std::span<std::byte> target) const = 0;
};

/// All functions may be called from any thread.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  /// The whole content of a regular file. Code::file for a path that is no regular file (missing, a folder, FIFO,
  /// socket or device), for more than `limit` bytes, and for a file that changes while it is read.
  [[nodiscard]] virtual FileBytes read(const std::string& path, std::uint64_t limit = kNoLimit) = 0;

  /// Opens a regular file to read parts of it. Errors as read().
  [[nodiscard]] virtual std::unique_ptr<FileReader> open(const std::string& path) = 0;

  /// Like read(), for a file below the folder `root`. `relative` may come from an untrusted file: absolute paths, `..`,
  /// symbolic links anywhere below the root, and files with several hard links are errors. The root itself is trusted.
  [[nodiscard]] virtual FileBytes read_beneath(const std::string& root, std::string_view relative,
                                               std::uint64_t limit = kNoLimit) = 0;

  /// Opens a file below `root`, as read_beneath() does, to read parts of it.
  [[nodiscard]] virtual std::unique_ptr<FileReader> open_beneath(const std::string& root,
                                                                 std::string_view relative) = 0;

  /// Makes or replaces a file; its content is the pieces, one after another. Afterwards the disk has the whole new
  /// content; after an error or a crash it has the previous content. Symbolic links are followed. A terminal, pipe or
  /// device (/dev/stdout) is written directly, because it cannot be replaced. For a FIFO, the function waits at most
  /// five seconds for a reader, then throws Code::usage; Error(interrupted) if a signal asks the run to end.
  virtual void write(const std::string& path, std::span<const std::span<const std::byte>> pieces) = 0;
  void write(const std::string& path, std::span<const std::byte> content) { write(path, std::span(&content, 1)); }
  void write(const std::string& path, std::string_view content) { write(path, std::as_bytes(std::span(content))); }

  /// Appends to a file, and makes the file if it does not exist. After a crash, the file may have a part of `content`.
  virtual void append(const std::string& path, std::string_view content) = 0;

  /// Makes the folder and its parent folders. An existing folder is no error.
  virtual void make_folders(const std::string& path) = 0;
  /// True if anything has this name, except a dangling symbolic link.
  [[nodiscard]] virtual bool exists(const std::string& path) = 0;
  /// True for a folder, or a symbolic link to one.
  [[nodiscard]] virtual bool is_folder(const std::string& path) = 0;
  /// True for a symbolic link, even a dangling one.
  [[nodiscard]] virtual bool is_link(const std::string& path) = 0;
  /// The names in a folder, sorted by bytes, without "." and "..".
  [[nodiscard]] virtual std::vector<std::string> list(const std::string& path) = 0;
  /// Renames a folder within its parent folder. Afterwards the new name and the folder's entries are synced.
  /// Code::usage if `to` exists and is not an empty folder.
  virtual void rename_folder(const std::string& from, const std::string& to) = 0;
  /// Moves a file to the path `to` on the same file system. It atomically replaces a file of that name. Afterwards both
  /// folders are synced.
  virtual void move_file(const std::string& from, const std::string& to) = 0;
  /// Removes a file, or a folder with its content; does nothing if the path does not exist. Links are not followed.
  virtual void remove(const std::string& path) = 0;
};

/// The files of this machine.
[[nodiscard]] FileSystem& local_files();

/// The path in its lexically normal form, without a slash at the end: "a/b" for "a//x/../b/". Works on the text alone:
/// links are not followed.
[[nodiscard]] std::string normal_path(const std::string& path);

/// A text that is the same for all paths to one regular file, also paths through links. The file need not exist yet.
/// Empty for an empty path, for anything that is not a regular file (a terminal, pipe or folder), and if the folder of
/// the file does not exist.
[[nodiscard]] std::string file_identity(const std::string& path);

}  // namespace ferry
#pragma GCC visibility pop
