// FolderLock: keeps two jobs from using one folder.
#pragma once

#include <string>

#include "base/process/descriptor.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Locks the file "lock" in a folder until the object is destroyed or the process ends in any way. The file itself
/// stays, and names the process that locked it last.
///
/// The lock is an flock, or a lock of byte ranges if the file system has no flock. If the file system has neither, a
/// second file "lock.process" is the lock, and the destructor removes it. If a process is killed, its "lock.process"
/// stays. A later process on the same host finds that the owner has ended, and takes the lock.
class [[nodiscard]] FolderLock {
 public:
  /// Writes this process, its host and `text`, a single line, into the lock file. Error(usage) if another process has
  /// the lock (the error names that process), or if the folder cannot be written.
  FolderLock(const std::string& folder, const std::string& text);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  Descriptor file_;
  std::string own_file_;  // the path of "lock.process"; empty unless that file is the lock
};

/// The `text` with which the folder was locked last; empty when there is no lock file. Error(resource) if the file
/// cannot be opened for lack of descriptors, or because the disk is broken.
[[nodiscard]] std::string folder_lock_text(const std::string& folder);

}  // namespace ferry
#pragma GCC visibility pop
