// The head of a .pb file: the first two fields of its message. They have a fixed length, so that they can be checked
// before protobuf parses anything; head and rest together are still one message that any protobuf tool reads.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace ferry {

/// The head is: byte 0x09, "FERRYGR1", byte 0x11, XXH3 of all that follows as a little-endian u64.
inline constexpr std::size_t kGraphHeadBytes = 18;

/// Fills in the first kGraphHeadBytes of `content`; the rest must be there already, as it is hashed.
void write_graph_head(std::string& content);

/// Whether the magic is there.
[[nodiscard]] bool begins_as_graph(std::span<const std::byte> content);
/// Throws Error(file) when the magic is missing or the hash is wrong. A file without a hash passes.
void check_graph_head(std::span<const std::byte> content);
/// Throws Error(file) when no text that begins with `begin` can be a graph. Faults in the last line of `begin` do not
/// count, because the line may be cut off.
void check_text_head(std::span<const std::byte> begin);

}  // namespace ferry
