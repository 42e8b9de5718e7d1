#include "base/files/open_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

// Opening must not block: a FIFO without a writer is rejected, not waited for.
constexpr int kReading = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

std::string reason(int error) {
  return std::generic_category().message(error);
}

Error cannot_open(const std::string& shown, int error) {
  const bool scarce = error == EMFILE || error == ENFILE || error == ENOMEM;
  Error e(scarce ? Code::resource : Code::file, shown + ": cannot be opened: " + reason(error));
  if (error == EMFILE) e.hint("raise the limit of open files (ulimit -n)");
  return e;
}

/// The path of the file most like `path` in the same folder; empty if there is none.
std::string similar_file(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.empty() ? "." : folder.c_str()), ::closedir);
  constexpr std::size_t kMostNames = 10'000;
  std::vector<std::string> names;
  while (open != nullptr && names.size() < kMostNames) {
    const dirent* const entry = ::readdir(open.get());
    if (entry == nullptr) break;
    names.emplace_back(entry->d_name);
  }
  std::ranges::sort(names);  // the system lists them in any order
  const std::string like = nearest(path.substr(slash + 1), names);
  return like.empty() || like.starts_with(".") ? "" : folder + like;
}

Error outside(const std::string& shown, std::string_view why) {
  return Error(Code::file, shown + ": refused: " + std::string(why))
      .hint("name a file inside the folder, without links");
}

std::string_view kind(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  return S_ISLNK(mode) ? "a symbolic link" : "a device";
}

void check_relative(std::string_view relative, const std::string& shown) {
  if (relative.empty()) throw outside(shown, "the name is empty");
  if (relative.find('\0') != std::string_view::npos) throw outside(shown, "the name holds NUL");
  if (relative.front() == '/') throw outside(shown, "the path is absolute");
  for (std::string_view part : split(relative, '/')) {
    if (part == "..") throw outside(shown, "the path goes up by \"..\"");
  }
}

Error refused_beneath(const std::string& shown, int error) {
  if (error == ELOOP) return outside(shown, "the path has a symbolic link");
  if (error == EXDEV) return outside(shown, "the path leads out of the folder");
  return cannot_open(shown, error);
}

// Makes the system ask the file system for the attributes of an open file again. FUSE and NFS may still have older ones
// for a moment after another host has replaced the file, and it would seem to change while it is read.
void refresh_attributes(int file) {
  struct statx attributes {};
  static_cast<void>(::statx(file, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &attributes));
}

Descriptor open_root(const std::string& root) {
  Descriptor folder(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.open()) throw cannot_open(formatted("{:?}", root), errno);
  return folder;
}

std::string show_beneath(const std::string& root, std::string_view relative) {
  return formatted("{:?} in {:?}", relative, root);
}

// Opens by openat2. Returns -1 with ENOSYS or EPERM if the kernel lacks it or a container's filter forbids it.
int open_by_kernel(int folder, const std::string& relative) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(kReading);
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  return static_cast<int>(
      call_again([&] { return ::syscall(SYS_openat2, folder, relative.c_str(), &how, sizeof how); }));
}

// Returns ELOOP if `name` is a symbolic link, else `error`. For a link in place of a folder the system gives ENOTDIR.
int folder_error(int folder, const std::string& name, int error) {
  struct stat status {};
  const bool link = ::fstatat(folder, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
  return link ? ELOOP : error;
}

Descriptor open_by_folders(Descriptor folder, std::string_view relative, const std::string& shown) {
  const std::vector<std::string_view> parts = split(relative, '/');
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const std::string name = parts[i].empty() ? "." : std::string(parts[i]);
    Descriptor next(::openat(folder.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.open()) throw refused_beneath(shown, folder_error(folder.get(), name, errno));
    folder = std::move(next);
  }
  const std::string name = parts.back().empty() ? "." : std::string(parts.back());
  Descriptor file(::openat(folder.get(), name.c_str(), kReading | O_NOFOLLOW));
  if (!file.open()) throw refused_beneath(shown, errno);
  return file;
}

}  // namespace

OpenFile OpenFile::at(const std::string& path) {
  const std::string shown = formatted("{:?}", path);
  if (path.find('\0') != std::string::npos) throw Error(Code::file, shown + ": refused: the name holds NUL");
  Descriptor file(call_again([&] { return ::open(path.c_str(), kReading); }));
  // open() gives ENXIO for a socket.
  if (!file.open() && errno == ENXIO) throw Error(Code::file, shown + ": is a socket or device, not a regular file");
  if (!file.open()) {
    Error error = cannot_open(shown, errno);
    if (const std::string like = errno == ENOENT ? similar_file(path) : ""; !like.empty()) error.hint("{}?", like);
    throw error;
  }
  return {std::move(file), shown, false};
}

OpenFile OpenFile::beneath(const std::string& root, std::string_view relative) {
  const std::string shown = show_beneath(root, relative);
  check_relative(relative, shown);
  const Descriptor folder = open_root(root);
  Descriptor file(open_by_kernel(folder.get(), std::string(relative)));
  if (!file.open() && (errno == ENOSYS || errno == EPERM)) return beneath_by_folders(root, relative);
  if (!file.open()) throw refused_beneath(shown, errno);
  return {std::move(file), shown, true};
}

OpenFile OpenFile::beneath_by_folders(const std::string& root, std::string_view relative) {
  const std::string shown = show_beneath(root, relative);
  check_relative(relative, shown);
  return {open_by_folders(open_root(root), relative, shown), shown, true};
}

OpenFile::OpenFile(Descriptor descriptor, std::string shown, bool single_link)
    : descriptor_(std::move(descriptor)), shown_(std::move(shown)) {
  refresh_attributes(descriptor_.get());
  struct stat status {};
  if (::fstat(descriptor_.get(), &status) != 0) throw cannot_open(shown_, errno);
  if (!S_ISREG(status.st_mode)) {
    throw Error(Code::file, shown_ + ": is " + std::string(kind(status.st_mode)) + ", not a regular file");
  }
  if (single_link && status.st_nlink > 1) {
    throw Error(Code::file, shown_ + ": refused: it has " + std::to_string(status.st_nlink) +
                                " hard links, so it may be a file from outside the folder")
        .hint("copy it, so that it has one name only");
  }
  size_ = static_cast<std::uint64_t>(status.st_size);
  changed_s_ = status.st_mtim.tv_sec;
  changed_ns_ = status.st_mtim.tv_nsec;
}

bool OpenFile::changed() const {
  struct stat status {};
  return ::fstat(descriptor_.get(), &status) != 0 || static_cast<std::uint64_t>(status.st_size) != size_ ||
         status.st_mtim.tv_sec != changed_s_ || status.st_mtim.tv_nsec != changed_ns_;
}

// Reads the file instead of mapping it, because a mapped file that shrinks kills its reader with SIGBUS.
std::uint64_t OpenFile::read_some(std::uint64_t begin, std::span<std::byte> target) const {
  constexpr std::uint64_t kMostAtOnce = 1u << 30;
  std::uint64_t done = 0;
  while (done < target.size()) {
    const ssize_t got = call_again([&] {
      return ::pread(descriptor_.get(), target.data() + done, std::min(target.size() - done, kMostAtOnce),
                     static_cast<off_t>(begin + done));
    });
    if (got < 0)
      throw Error(Code::file,
                  shown_ + ": cannot be read at byte " + std::to_string(begin + done) + ": " + reason(errno));
    if (got == 0) break;
    done += static_cast<std::uint64_t>(got);
  }
  return done;
}

FileBytes OpenFile::read_all(std::uint64_t limit) const {
  if (size_ > limit) {
    throw Error(Code::file,
                shown_ + ": too large: " + std::to_string(size_) + " bytes, and the limit is " + std::to_string(limit));
  }
  FileBytes content(size_);
  const std::uint64_t done = read_some(0, content.span());
  if (done < size_ || changed()) {
    throw Error(Code::file, shown_ + ": changed while it was read: " + std::to_string(done) + " of " +
                                std::to_string(size_) + " bytes were there")
        .hint("let its writer finish; ferry's own files are replaced whole");
  }
  return content;
}

void OpenFile::read(std::uint64_t begin, std::span<std::byte> target) const {
  const std::uint64_t done = read_some(begin, target);
  if (done == target.size() && !changed()) return;
  throw Error(Code::file, shown_ + ": changed while it was read: of " + std::to_string(target.size()) +
                              " bytes from byte " + std::to_string(begin) + " on " + std::to_string(done) +
                              " were there")
      .hint("let its writer finish; ferry's own files are replaced whole");
}

std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  return real ? real.get() : "";
}

}  // namespace ferry
