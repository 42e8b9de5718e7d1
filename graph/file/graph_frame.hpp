// The head of a .pb file: the first two fields of its message, of fixed length, so that they can be checked before
// protobuf reads the rest, and the whole is still one message that any protobuf tool reads.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace ferry {

/// 09 "FERRYGR1" 11 <XXH3 of what follows, u64 little-endian>.
inline constexpr std::size_t kGraphHeadBytes = 18;

/// Fills the head of `content`, whose rest is in place.
void write_graph_head(std::string& content);

/// The magic is there.
[[nodiscard]] bool begins_as_graph(std::span<const std::byte> content);
/// Throws Error(file) when the magic is missing, or there is a hash that does not fit.
void check_graph_head(std::span<const std::byte> content);
/// Throws Error(file) when a text that begins so can be no graph: with what is wrong before its last line.
void check_text_head(std::span<const std::byte> begin);

}  // namespace ferry
