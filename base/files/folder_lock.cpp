#include "base/files/folder_lock.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "base/error.hpp"
#include "base/system/host_name.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::size_t kMostLockBytes = 1024;

std::string lock_file(const std::string& folder) {
  return folder + "/lock";
}

// "process 12 on host a\nTEXT\n".
std::string lock_content(const Descriptor& file) {
  std::string bytes(kMostLockBytes, '\0');
  const ssize_t count = ::pread(file.get(), bytes.data(), bytes.size(), 0);
  bytes.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
  return bytes;
}

Error cannot_lock(const std::string& folder, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EMFILE || error == ENFILE;
  return Error(full ? Code::resource : Code::usage,
               in_quotes(folder) +
                   ": cannot be used: its file \"lock\" cannot be written: " + std::generic_category().message(error))
      .hint(full ? "free space there, or name another folder" : "name a folder that this user may write");
}

}  // namespace

FolderLock::FolderLock(const std::string& folder, const std::string& text)
    : file_(::open(lock_file(folder).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666)) {
  if (!file_.open()) throw cannot_lock(folder, errno);
  if (::flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) throw cannot_lock(folder, errno);
    throw Error(Code::usage, in_quotes(folder) + ": another job uses it")
        .note(escaped(split(lock_content(file_), '\n')[0]))
        .hint("wait until that one has ended, or name another folder");
  }
  const std::string now = "process " + std::to_string(::getpid()) + " on " + this_host_name() + "\n" + text + "\n";
  if (::ftruncate(file_.get(), 0) != 0 || ::pwrite(file_.get(), now.data(), now.size(), 0) < 0)
    throw cannot_lock(folder, errno);
}

std::string folder_lock_text(const std::string& folder) {
  const Descriptor file(::open(lock_file(folder).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.open()) return {};
  const std::string all = lock_content(file);
  const auto lines = split(all, '\n');
  return lines.size() < 2 ? std::string() : std::string(lines[1]);
}

}  // namespace ferry
