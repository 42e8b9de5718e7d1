// write_progress(): shows whether a write of a large file makes progress.
#pragma once

#include <cstdint>

namespace ferry {

/// A number that grows while this process writes files to local_files(): with each part of at most 128 MiB. A part of
/// 128 MiB counts when it is on the disk.
[[nodiscard]] std::uint64_t write_progress() noexcept;

}  // namespace ferry
