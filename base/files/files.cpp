#include "base/files/files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/error.hpp"
#include "base/files/open_file.hpp"
#include "base/files/write_progress.hpp"
#include "base/format.hpp"
#include "base/hash.hpp"
#include "base/random_bytes.hpp"
#include "base/system/clock.hpp"
#include "base/system/interrupt.hpp"
#include "base/system/output.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

using Pieces = std::span<const std::span<const std::byte>>;

std::uint64_t total_size(Pieces pieces) {
  std::uint64_t total = 0;
  for (const auto& piece : pieces) total += piece.size();
  return total;
}

// Whether the errno means a full disk or quota, a file size limit, a broken disk, or a lack of memory or descriptors.
// ferry treats any other errno as a fault of the path that the user chose.
bool is_scarcity(int error) {
  return error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO || error == EMFILE || error == ENFILE ||
         error == ENOMEM;
}

Error cannot_write(const std::string& path, std::uint64_t bytes, std::string_view step, int error) {
  Error e(is_scarcity(error) ? Code::resource : Code::usage, "{:?}: cannot be written: {} failed: {}", path,
          as_is(step), std::generic_category().message(error));
  e.note("size: {} bytes ({})", bytes, human_bytes(bytes));
  if (error == ENOSPC || error == EDQUOT) e.hint("free space there, or choose another folder");
  if (error == EFBIG) e.hint("allow for larger files (ulimit -f)");
  return e;
}

std::atomic<std::uint64_t> parts_written{0};

// Writes all pieces. Syncs a large file after each part, so that no single call lasts long. Returns 0 or the errno.
int write_pieces(int descriptor, Pieces pieces) {
  constexpr std::size_t kMostAtOnce = std::size_t{128} << 20;
  for (std::span<const std::byte> piece : pieces) {
    while (!piece.empty()) {
      const ssize_t written =
          call_again([&] { return ::write(descriptor, piece.data(), std::min(piece.size(), kMostAtOnce)); });
      if (written < 0) return errno;
      piece = piece.subspan(static_cast<std::size_t>(written));
      if (static_cast<std::size_t>(written) == kMostAtOnce &&
          call_again([&] { return ::fdatasync(descriptor); }) != 0 && errno != EINVAL)  // EINVAL: a pipe or terminal
        return errno;
      ++parts_written;
    }
  }
  return 0;
}

std::string folder_of(const std::string& path) {
  const std::size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// A random text for the names of this process and the children that it forks.
std::string random_name() {
  std::array<std::byte, 16> random;
  fill_at_random(random);
  return hex_digest(random);
}

// A file name in the folder of the target, so that renaming stays within one file system. No other thread uses the
// name, also of a process with the same number on another host or in another container. Over sshfs a name that exists
// could not be told from a folder that cannot be written.
std::string temporary_beside(const std::string& path) {
  static const std::string name = random_name();
  static std::atomic<std::uint64_t> count{0};
  return folder_of(path) + "/.ferry-" + name + "-" + std::to_string(::getpid()) + "-" + std::to_string(count++) +
         ".tmp";
}

// Resolves a chain of symbolic links, so that replacing the file keeps the links. Returns a dangling link itself, which
// is then replaced.
std::string resolve_links(const std::string& path) {
  std::error_code none;
  if (!std::filesystem::is_symlink(path, none)) return path;
  const std::filesystem::path target = std::filesystem::weakly_canonical(path, none);
  return none ? path : target.string();
}

Descriptor open_path(const std::string& path, int flags) {
  return Descriptor(call_again([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); }));
}

Descriptor open_folder(const std::string& folder) {
  return open_path(folder, O_RDONLY | O_DIRECTORY);
}

// Returns 0 or the errno. Also returns 0 if the file system cannot sync folders, because the kernel has no other way.
int sync_folder(const Descriptor& folder) {
  if (!folder.open()) return errno;
  if (call_again([&] { return ::fsync(folder.get()); }) == 0) return 0;
  return errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP ? 0 : errno;
}

Error cannot_change(const std::string& path, std::string_view what, int error) {
  return {is_scarcity(error) ? Code::resource : Code::usage,
          formatted("{:?}: cannot be {}: {}", path, as_is(what), std::generic_category().message(error))};
}

// A temporary file in the folder of its target. The destructor removes the file unless rename_to_target() has renamed
// it to the target.
class Temporary {
 public:
  Temporary(const std::string& path, std::uint64_t bytes)
      : path_(path), bytes_(bytes), name_(temporary_beside(path)), folder_(open_folder(folder_of(path))) {
    if (!folder_.open()) throw cannot_write(path_, bytes_, "opening its folder", errno);
    descriptor_ = open_path(name_, O_WRONLY | O_CREAT | O_EXCL);
    if (!descriptor_.open()) throw cannot_write(path_, bytes_, "opening a temporary file beside it", errno);
  }
  ~Temporary() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void fill(Pieces pieces) {
    const int error = write_pieces(descriptor_.get(), pieces);
    if (error != 0) throw cannot_write(path_, bytes_, "writing", error);
    if (call_again([&] { return ::fsync(descriptor_.get()); }) != 0)
      throw cannot_write(path_, bytes_, "syncing", errno);
    if (!descriptor_.close()) throw cannot_write(path_, bytes_, "closing", errno);
  }

  void rename_to_target() {
    if (::rename(name_.c_str(), path_.c_str()) != 0) throw cannot_write(path_, bytes_, "renaming", errno);
    name_.clear();
    if (const int error = sync_folder(folder_); error != 0)
      throw cannot_write(path_, bytes_, "syncing the folder", error);
  }

 private:
  const std::string& path_;
  std::uint64_t bytes_;
  std::string name_;
  Descriptor folder_;  // opened first, since the folder may be renamed as soon as the file is in its place
  Descriptor descriptor_;
};

// Whether the path names a file that this process has open already, such as its stdout. ferry appends to such a file,
// because it belongs to the user who redirected the output to it.
bool is_descriptor_path(std::string_view path) {
  return path == "/dev/stdout" || path == "/dev/stderr" || path.starts_with("/dev/fd/") || path.starts_with("/proc/");
}

// Waits until another process reads the FIFO, then opens it for writing. If no reader comes in time, returns a closed
// descriptor and sets errno to ENXIO. Error(interrupted) if a signal asks the run to end.
Descriptor open_fifo(const std::string& path, int flags) {
  constexpr std::chrono::seconds kReaderComes{5};
  constexpr std::chrono::milliseconds kLook{20};
  const Deadline deadline(system_clock(), kReaderComes);
  for (;;) {
    Descriptor fifo = open_path(path, flags | O_NONBLOCK);
    if (fifo.open() || errno != ENXIO) return fifo;
    check_interrupt();
    if (deadline.expired() || preemption_requested()) {
      errno = ENXIO;
      return fifo;
    }
    system_clock().sleep(kLook);
  }
}

// Writes to a FIFO, and waits for a slow reader until a signal asks the run to end. Returns 0 or the errno.
int write_fifo(int descriptor, Pieces pieces) {
  for (const std::span<const std::byte> piece : pieces)
    if (const int error = write_all(descriptor, {reinterpret_cast<const char*>(piece.data()), piece.size()});
        error != 0)
      return error;
  return 0;
}

void write_at_end(const std::string& path, Pieces pieces, int flags) {
  const std::uint64_t bytes = total_size(pieces);
  struct stat status {};
  const bool fifo = ::stat(path.c_str(), &status) == 0 && S_ISFIFO(status.st_mode);
  flags |= O_WRONLY | O_APPEND | O_NOCTTY;
  Descriptor stream = fifo ? open_fifo(path, flags) : open_path(path, flags);
  if (!stream.open()) {
    Error error = cannot_write(path, bytes, "opening", errno);
    throw fifo ? error.hint("start the program that reads this FIFO first, or name a regular file") : error;
  }
  const int error = fifo ? write_fifo(stream.get(), pieces) : write_pieces(stream.get(), pieces);
  if (error != 0) throw cannot_write(path, bytes, "writing", error);
  if (!stream.close()) throw cannot_write(path, bytes, "closing", errno);
}

class LocalReader final : public FileReader {
 public:
  LocalReader(OpenFile file, std::string_view name) : file_(std::move(file)), name_(name) {}
  const std::string& name() const override { return name_; }
  std::uint64_t size() const override { return file_.size(); }
  void read(std::uint64_t begin, std::span<std::byte> target) const override { file_.read(begin, target); }

 private:
  OpenFile file_;
  std::string name_;
};

class LocalFiles final : public FileSystem {
 public:
  FileBytes read(const std::string& path, std::uint64_t limit) override { return OpenFile::at(path).read_all(limit); }

  std::unique_ptr<FileReader> open(const std::string& path) override {
    return std::make_unique<LocalReader>(OpenFile::at(path), path);
  }

  FileBytes read_beneath(const std::string& root, std::string_view relative, std::uint64_t limit) override {
    return OpenFile::beneath(root, relative).read_all(limit);
  }

  std::unique_ptr<FileReader> open_beneath(const std::string& root, std::string_view relative) override {
    return std::make_unique<LocalReader>(OpenFile::beneath(root, relative), relative);
  }

  void write(const std::string& path, Pieces pieces) override {
    if (path.empty() || path.find('\0') != std::string::npos) {
      throw Error(Code::usage, "{:?}: cannot be written: not a name for a file", path);
    }
    struct stat status {};
    const bool there = ::stat(path.c_str(), &status) == 0;
    if (there && S_ISDIR(status.st_mode)) throw Error(Code::usage, "{:?}: cannot be written: is a folder", path);
    if (is_descriptor_path(path) || (there && !S_ISREG(status.st_mode))) return write_at_end(path, pieces, 0);
    replace(resolve_links(path), pieces);
  }

  void append(const std::string& path, std::string_view content) override {
    const std::span<const std::byte> piece = std::as_bytes(std::span(content));
    write_at_end(path, {&piece, 1}, O_CREAT);
  }

  void make_folders(const std::string& path) override {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (!error && std::filesystem::is_directory(path, error)) return;
    const int reason = error ? error.value() : ENOTDIR;
    throw Error(is_scarcity(reason) ? Code::resource : Code::usage, "{:?}: the folder cannot be made: {}", path,
                std::generic_category().message(reason))
        .hint("name one where files can be written");
  }

  bool exists(const std::string& path) override {
    std::error_code none;
    return std::filesystem::exists(path, none);
  }

  bool is_folder(const std::string& path) override {
    std::error_code none;
    return std::filesystem::is_directory(path, none);
  }

  bool is_link(const std::string& path) override {
    std::error_code none;
    return std::filesystem::is_symlink(std::filesystem::symlink_status(path, none));
  }

  std::vector<std::string> list(const std::string& path) override {
    std::error_code error;
    std::vector<std::string> names;
    std::filesystem::directory_iterator entry(path, error);
    for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
      names.push_back(entry->path().filename().string());
    }
    if (error) throw Error(Code::file, "{:?}: the folder cannot be listed: {}", path, error.message());
    std::sort(names.begin(), names.end());
    return names;
  }

  void rename_folder(const std::string& from, const std::string& to) override {
    int error = sync_folder(open_folder(from));
    if (error == 0 && ::rename(from.c_str(), to.c_str()) != 0) error = errno;
    if (error == 0) error = sync_folder(open_folder(folder_of(to)));
    if (error != 0) throw cannot_change(from, formatted("renamed to {:?}", to), error);
  }

  void move_file(const std::string& from, const std::string& to) override {
    int error = ::rename(from.c_str(), to.c_str()) != 0 ? errno : 0;
    for (const std::string& folder : {folder_of(to), folder_of(from)})
      if (error == 0) error = sync_folder(open_folder(folder));
    if (error != 0) throw cannot_change(from, formatted("moved to {:?}", to), error);
  }

  void remove(const std::string& path) override {
    std::error_code error;
    std::filesystem::remove_all(path, error);
    if (error) throw cannot_change(path, "removed", error.value());
  }

 private:
  static void replace(const std::string& path, Pieces pieces) {
    Temporary temporary(path, total_size(pieces));
    temporary.fill(pieces);
    temporary.rename_to_target();
  }
};

}  // namespace

std::string normal_path(const std::string& path) {
  std::string normal = std::filesystem::path(path).lexically_normal().string();
  while (normal.size() > 1 && normal.ends_with("/")) normal.pop_back();
  return normal;
}

std::uint64_t write_progress() noexcept {
  return parts_written;
}

FileSystem& local_files() {
  static auto& files = *new LocalFiles;  // never destroyed: other threads than the one in exit() may use it
  return files;
}

std::string file_identity(const std::string& path) {
  constexpr int kMostLinks = 40;  // the limit of Linux
  const auto number = [](const struct stat& of) { return std::to_string(of.st_dev) + ":" + std::to_string(of.st_ino); };
  if (path.empty()) return {};
  std::string at = path;
  struct stat found {};
  for (int links = 0; links < kMostLinks; ++links) {
    if (::stat(at.c_str(), &found) == 0) return S_ISREG(found.st_mode) ? number(found) : std::string();
    std::array<char, PATH_MAX> target{};
    const ssize_t size = ::readlink(at.c_str(), target.data(), target.size());
    if (size <= 0) break;  // not a link; links to files that do not exist yet are followed
    const std::string next(target.data(), static_cast<std::size_t>(size));
    at = next.front() == '/' ? next : folder_of(at) + "/" + next;
  }
  if (::stat(folder_of(at).c_str(), &found) != 0) return {};
  return number(found) + "/" + at.substr(at.rfind('/') + 1);  // without a slash: all of `at`
}

}  // namespace ferry
