// Files behind an interface, so that a simulation can replace them and a test can break them. Every error names the
// file (escaped) and is Code::file for a file that cannot be used, Code::usage for a place that cannot be written,
// Code::resource for a full disk, memory or descriptors.
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

/// A regular file, open for reading at any place. All functions may be called from any thread.
class FileReader {
 public:
  virtual ~FileReader() = default;
  /// The path by which it was opened, for messages.
  [[nodiscard]] virtual const std::string& name() const = 0;
  /// The size in bytes at the time it was opened.
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// Fills `target` with the bytes from `begin` on. Code::file, naming file and offset, when they cannot be read, are
  /// not all there, or the file has changed since it was opened.
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

  /// The same as read() for a file below the folder `root`; `relative` comes from an untrusted file. Refuses absolute
  /// paths, `..`, symbolic links anywhere below the root, and files with several hard links. The root itself is
  /// trusted.
  [[nodiscard]] virtual FileBytes read_beneath(const std::string& root, std::string_view relative,
                                               std::uint64_t limit = kNoLimit) = 0;

  /// Opens a file below `root`, as read_beneath() does, to read parts of it.
  [[nodiscard]] virtual std::unique_ptr<FileReader> open_beneath(const std::string& root,
                                                                 std::string_view relative) = 0;

  /// Makes or replaces a file; its content is the pieces, one after another. Afterwards the whole new content is on the
  /// disk; after an error or a crash the previous content is. A symbolic link is followed; a terminal, pipe or device
  /// (/dev/stdout) is written directly, since it cannot be replaced. A FIFO is waited for until a process reads it, for
  /// 5 s at most, then Code::usage; Error(interrupted) once the run is asked to end.
  virtual void write(const std::string& path, std::span<const std::span<const std::byte>> pieces) = 0;
  void write(const std::string& path, std::span<const std::byte> content) { write(path, std::span(&content, 1)); }
  void write(const std::string& path, std::string_view content) { write(path, std::as_bytes(std::span(content))); }

  /// Appends to a file, which is made when it is not there. A crash may leave a part of `content` there.
  virtual void append(const std::string& path, std::string_view content) = 0;

  /// Makes the folder and those above it; it may exist.
  virtual void make_folders(const std::string& path) = 0;
  /// True when there is anything of this name, except for a dangling symbolic link.
  [[nodiscard]] virtual bool exists(const std::string& path) = 0;
  /// True for a folder, or a symbolic link to one.
  [[nodiscard]] virtual bool is_folder(const std::string& path) = 0;
  /// True for a symbolic link, whatever it names.
  [[nodiscard]] virtual bool is_link(const std::string& path) = 0;
  /// The names in a folder, sorted by bytes, without "." and "..".
  [[nodiscard]] virtual std::vector<std::string> list(const std::string& path) = 0;
  /// Renames a folder within its parent folder. Afterwards the new name and the folder's entries are synced.
  /// Code::usage when something other than an empty folder has that name.
  virtual void rename_folder(const std::string& from, const std::string& to) = 0;
  /// Moves a file to another folder of the same file system, where it replaces a file of the name `to`, atomically.
  /// Afterwards both folders are synced.
  virtual void move_file(const std::string& from, const std::string& to) = 0;
  /// Removes a file or a folder with all that it holds; a missing one is no error. Links are not followed.
  virtual void remove(const std::string& path) = 0;
};

/// The machine's files.
[[nodiscard]] FileSystem& local_files();

/// The path in its lexically normal form, without a slash at the end: "a/b" for "a//x/../b/". Works on the text alone:
/// links are not followed.
[[nodiscard]] std::string normal_path(const std::string& path);

/// A text that all paths of one regular file have in common, through links; it may be of a file that is still to be
/// made. Empty for an empty path, for anything that is not a regular file (a terminal, pipe or folder), and if the
/// folder of the file does not exist.
[[nodiscard]] std::string file_identity(const std::string& path);

}  // namespace ferry
#pragma GCC visibility pop
