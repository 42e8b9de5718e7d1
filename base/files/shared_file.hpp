// Reads small files that other hosts make and replace.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace ferry {

/// The first `limit` bytes, or all, of the regular file `name` in a folder; nothing when there is none, or an empty
/// one. Over NFS, sees a file that another host has just put there by renaming. Code::file, which names the file, when
/// it or its folder cannot be opened or read, or is of another kind. Thread-safe.
[[nodiscard]] std::optional<std::string> shared_text(const std::string& folder, const std::string& name,
                                                     std::size_t limit);

}  // namespace ferry
