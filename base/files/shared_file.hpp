// Reads small files that other hosts write and replace.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace ferry {

/// The content of the regular file `name` in a folder, at most its first `limit` bytes; nothing if the file does not
/// exist or is empty. Over NFS, it finds a file that another host has just renamed to `name`. Throws Code::file, with
/// the file's name, if the file or its folder cannot be opened or read, or the file is not regular. Thread-safe.
[[nodiscard]] std::optional<std::string> shared_text(const std::string& folder, const std::string& name,
                                                     std::size_t limit);

}  // namespace ferry
