// The head of a .pb file: the first two fields of its message. They have a fixed length, so that ferry can check them
// before protobuf parses anything. Head and rest together are one message, which any protobuf tool can read.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace ferry {

/// The bytes of the head: byte 0x09, "FERRYGR1", byte 0x11, and the XXH3 hash of all bytes after the head as a
/// little-endian u64.
inline constexpr std::size_t kGraphHeadBytes = 18;

/// Fills in the first kGraphHeadBytes of `content`. The rest must be complete, because its hash is in the head.
void write_graph_head(std::string& content);

/// Whether `content` begins with the magic bytes "FERRYGR1" and their tag.
[[nodiscard]] bool begins_as_graph(std::span<const std::byte> content);
/// Throws Error(file) if the magic is missing or the hash is wrong. Accepts a file without a hash.
void check_graph_head(std::span<const std::byte> content);
/// Throws Error(file) if no text that begins with `begin` can be a graph. Ignores faults in the last line of `begin`,
/// because the line may be cut off.
void check_text_head(std::span<const std::byte> begin);

}  // namespace ferry
