#include "base/files/folder_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <vector>

#include "base/error.hpp"
#include "base/process/process_state.hpp"
#include "base/system/machine.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::size_t kMostLockBytes = 1024;

std::string lock_file(const std::string& folder) {
  return folder + "/lock";
}

Descriptor open_lock(const std::string& path, int flags) {
  return Descriptor(call_again([&] { return ::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0666); }));
}

/// The file's lines; one empty line if it cannot be read.
std::vector<std::string> lines_of(const Descriptor& file) {
  std::string bytes(kMostLockBytes, '\0');
  const ssize_t count = call_again([&] { return ::pread(file.get(), bytes.data(), bytes.size(), 0); });
  bytes.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  std::vector<std::string> lines;
  for (const std::string_view line : split(bytes, '\n')) lines.emplace_back(line);
  return lines;
}

std::string this_owner() {
  return "process " + std::to_string(::getpid()) + " on " + this_host_name();
}

bool is_scarcity(int error) {
  return error == ENOSPC || error == EDQUOT || error == EMFILE || error == ENFILE || error == EIO;
}

Error cannot_lock(const std::string& folder, int error) {
  const bool full = is_scarcity(error);
  return Error(full ? Code::resource : Code::usage,
               "{:?}: cannot be used: its file \"lock\" cannot be opened or written: {}", folder,
               std::generic_category().message(error))
      .hint(full ? "free space there, or name another folder" : "name a folder that this user may write");
}

Error used_by(const std::string& folder, const std::string& owner) {
  return Error(Code::usage, "{:?}: another job uses it", folder).note("{}", owner);
}

/// Returns 0 or the errno. Syncs, because over NFS other hosts do not see what a file that stays open has in memory.
int write_lines(const Descriptor& file, const std::string& text) {
  if (call_again([&] { return ::ftruncate(file.get(), 0); }) != 0) return errno;
  const ssize_t written = call_again([&] { return ::pwrite(file.get(), text.data(), text.size(), 0); });
  if (written >= 0 && static_cast<std::size_t>(written) < text.size()) return ENOSPC;
  return written < 0 || call_again([&] { return ::fsync(file.get()); }) != 0 ? errno : 0;
}

/// Returns 0, EWOULDBLOCK if another process has the lock, or the errno if the file system has no such locks.
int lock_descriptor(const Descriptor& file) {
  if (call_again([&] { return ::flock(file.get(), LOCK_EX | LOCK_NB); }) == 0) return 0;
  if (errno == EWOULDBLOCK) return errno;
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (call_again([&] { return ::fcntl(file.get(), F_OFD_SETLK, &whole); }) == 0) return 0;
  return errno == EACCES ? EWOULDBLOCK : errno;
}

/// Whether `lines` are from a file "lock.process", and the process that wrote them is known to have ended.
bool has_ended(const std::vector<std::string>& lines) {
  if (lines.size() < 4 || lines[1] != this_host_name() + " " + process_namespace()) return false;
  const ProcessId owner{std::strtoll(lines[2].c_str(), nullptr, 10), std::strtoull(lines[3].c_str(), nullptr, 10)};
  return state_of(owner) == ProcessState::gone;
}

/// Makes a file that says which process made it. Only one process can make it. Returns 0 or the errno.
int make_own_file(const std::string& folder, const std::string& path) {
  const ProcessId self = this_process();
  const std::string text = this_owner() + "\n" + this_host_name() + " " + process_namespace() + "\n" +
                           std::to_string(self.pid) + "\n" + std::to_string(self.start) + "\n";
  for (int tries = 0; tries < 2; ++tries) {
    Descriptor made = open_lock(path, O_RDWR | O_CREAT | O_EXCL);
    if (made.open()) {
      const int error = write_lines(made, text);
      if (error != 0) ::unlink(path.c_str());
      return error;
    }
    if (errno != EEXIST) return errno;
    const std::vector<std::string> lines = lines_of(open_lock(path, O_RDONLY));
    if (!has_ended(lines))
      throw used_by(folder, lines[0])
          .hint("wait until that one has ended, or name another folder; if it was killed, remove {:?}", path);
    ::unlink(path.c_str());
  }
  return EEXIST;
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, const std::string& text)
    : file_(open_lock(lock_file(folder), O_RDWR | O_CREAT)) {
  if (!file_.open()) throw cannot_lock(folder, errno);
  const int error = lock_descriptor(file_);
  struct stat status {};
  // A file without a link has been removed since it was opened. Another process may have made and locked a new file.
  if (error == EWOULDBLOCK || (::fstat(file_.get(), &status) == 0 && status.st_nlink == 0))
    throw used_by(folder, lines_of(file_)[0]).hint("wait until that one has ended, or name another folder");
  if (error != 0) {
    const std::string path = lock_file(folder) + ".process";
    if (const int failed = make_own_file(folder, path); failed != 0) throw cannot_lock(folder, failed);
    own_file_ = path;
  }
  if (const int failed = write_lines(file_, this_owner() + "\n" + text + "\n"); failed != 0) {
    if (!own_file_.empty()) ::unlink(own_file_.c_str());
    throw cannot_lock(folder, failed);
  }
}

FolderLock::~FolderLock() {
  if (!own_file_.empty()) ::unlink(own_file_.c_str());
}

std::string folder_lock_text(const std::string& folder) {
  const Descriptor file = open_lock(lock_file(folder), O_RDONLY);
  if (!file.open() && is_scarcity(errno)) throw cannot_lock(folder, errno);
  if (!file.open()) return {};
  const std::vector<std::string> lines = lines_of(file);
  return lines.size() < 2 ? std::string() : lines[1];
}

}  // namespace ferry
