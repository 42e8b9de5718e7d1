// Reads protobuf messages from files that are not trusted.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/files/files.hpp"

namespace ferry {

/// Files with more bytes are checked piece by piece before they are read into memory.
inline constexpr std::uint64_t kLargeFileBytes = std::uint64_t{16} << 20;

/// Returns false if a file of more than kLargeFileBytes cannot be a message; smaller files are not checked. Checks only
/// the tags and lengths of fields, in the outermost message and in submessages of its field `inner` (0: none). Checks
/// at most the first 4 million fields.
[[nodiscard]] bool may_be_message(const FileReader& file, std::uint32_t inner = 0);

/// Parses the whole of `content`, at most 2 GiB, into `out`. Returns false if it is not a message of that type, is cut
/// short, or has messages nested more than `depth` deep. protobuf logs nothing.
[[nodiscard]] bool read_message(std::span<const std::byte> content, int depth, google::protobuf::MessageLite& out);

}  // namespace ferry
