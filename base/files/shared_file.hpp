// Reads and makes small files that several hosts use.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace ferry {

/// The content of the regular file `name` in a folder, at most its first `limit` bytes; nothing if the file does not
/// exist or is empty. Over NFS, it finds a file that another host has just renamed to `name`. Throws Code::file, with
/// the file's name, if the file or its folder cannot be opened or read, or the file is not regular. Thread-safe.
[[nodiscard]] std::optional<std::string> shared_text(const std::string& folder, const std::string& name,
                                                     std::size_t limit);

/// Makes the regular file `path` with this content, unless the name exists already. Returns false if it exists. If
/// several hosts call it at once, one of them makes the file. Readers see the whole content or no file. On a file
/// system without hard links it replaces a file that another host makes at the same moment. Errors as
/// FileSystem::write. Thread-safe.
[[nodiscard]] bool make_shared_text(const std::string& path, std::string_view content);

}  // namespace ferry
