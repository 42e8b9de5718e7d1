// Bytes of a file to a protobuf message.
#pragma once

#include <google/protobuf/message_lite.h>

#include <cstddef>
#include <span>

namespace ferry {

/// Fills `out` from the whole of `content`, at most 2 GiB. False when it is no such message, cut short, or has messages
/// nested more than `depth` deep. Nothing is printed.
[[nodiscard]] bool read_message(std::span<const std::byte> content, int depth, google::protobuf::MessageLite& out);

}  // namespace ferry
