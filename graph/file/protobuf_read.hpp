// Bytes of a file to a protobuf message.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/files/files.hpp"

namespace ferry {

/// Larger files are looked at by their heads before they are read.
inline constexpr std::uint64_t kLargeFileBytes = std::uint64_t{16} << 20;

/// False when a large file cannot be a message. Only the tags and lengths of its fields, and of those in its messages
/// `inner`, are read; in a file with millions of fields, those of the first ones.
[[nodiscard]] bool may_be_message(const FileReader& file, std::uint32_t inner = 0);

/// Fills `out` from the whole of `content`, at most 2 GiB. False when it is no such message, cut short, or has messages
/// nested more than `depth` deep. Nothing is printed.
[[nodiscard]] bool read_message(std::span<const std::byte> content, int depth, google::protobuf::MessageLite& out);

}  // namespace ferry
