// Reads protobuf messages from files that are not trusted.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/files/files.hpp"

namespace ferry {

/// Files of more bytes are checked piece by piece before they are read into memory.
inline constexpr std::uint64_t kLargeFileBytes = std::uint64_t{16} << 20;

/// False when a file of more than kLargeFileBytes cannot be a message; smaller ones are not checked. Checks only the
/// tags and lengths of fields, in the outermost message and in submessages of its field `inner` (0: none); at most the
/// first 4 million.
[[nodiscard]] bool may_be_message(const FileReader& file, std::uint32_t inner = 0);

/// Parses the whole of `content`, at most 2 GiB, into `out`. False when it is no such message, is cut short, or has
/// messages nested more than `depth` deep. protobuf logs nothing.
[[nodiscard]] bool read_message(std::span<const std::byte> content, int depth, google::protobuf::MessageLite& out);

}  // namespace ferry
