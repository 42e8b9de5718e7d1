// FolderLock: keeps two jobs from using one folder.
#pragma once

#include <string>

#include "base/process/descriptor.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Locks the file "lock" in a folder until this is destroyed or the process ends in any way. The file itself stays, and
/// says who locked it last.
///
/// The lock is an flock, or a lock of byte ranges where the file system has no flock. Where it has neither, a second
/// file "lock.process" is the lock, and is removed at the end. If a process is killed, that file stays; a process on
/// the same host sees that its owner is gone and takes the lock.
class [[nodiscard]] FolderLock {
 public:
  /// Writes this process, its host and `text`, a single line, into the lock file. Error(usage) when another process has
  /// the lock, which it names, or when the folder cannot be written.
  FolderLock(const std::string& folder, const std::string& text);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  Descriptor file_;
  std::string own_file_;  // empty unless a file is the lock
};

/// The `text` with which the folder was locked last; empty when there is no lock file.
[[nodiscard]] std::string folder_lock_text(const std::string& folder);

}  // namespace ferry
#pragma GCC visibility pop
