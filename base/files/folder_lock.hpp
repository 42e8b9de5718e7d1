// FolderLock: keeps two jobs from using one folder.
#pragma once

#include <string>

#include "base/files/open_file.hpp"

namespace ferry {

/// Locks the file `lock` of a folder until it is destroyed or the process ends, however it ends. The file itself stays,
/// and says who locked it last.
class [[nodiscard]] FolderLock {
 public:
  /// Error(usage) when another process holds it, naming that one, or when the folder cannot be written; `text`, of one
  /// line, is written into the file beside this process and host.
  FolderLock(const std::string& folder, const std::string& text);

 private:
  Descriptor file_;
};

/// The `text` of who locked the folder last; empty when there is no lock file.
[[nodiscard]] std::string folder_lock_text(const std::string& folder);

}  // namespace ferry
