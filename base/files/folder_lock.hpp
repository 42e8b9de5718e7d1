// FolderLock: keeps two jobs from using one folder.
#pragma once

#include <string>

#include "base/files/open_file.hpp"

namespace ferry {

/// Locks the file "lock" in a folder until this is destroyed or the process ends in any way. The file itself stays, and
/// says who locked it last.
class [[nodiscard]] FolderLock {
 public:
  /// Writes this process, its host and `text`, a single line, into the lock file. Error(usage) when another process has
  /// the lock, which it names, or when the folder cannot be written.
  FolderLock(const std::string& folder, const std::string& text);

 private:
  Descriptor file_;
};

/// The `text` with which the folder was locked last; empty when there is no lock file.
[[nodiscard]] std::string folder_lock_text(const std::string& folder);

}  // namespace ferry
