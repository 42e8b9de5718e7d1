// gzip (RFC 1952) and zstd (RFC 8878) of whole buffers. All functions are pure and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/files/bytes.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The content of a gzip file, which may have several members. `name` is the file's name for messages. Throws
/// Code::file when it is damaged, cut short, followed by anything else, or unpacks to more than `limit` bytes; never
/// holds more than `limit` unpacked bytes.
[[nodiscard]] FileBytes gunzip(std::span<const std::byte> packed, std::uint64_t limit, std::string_view name);

/// The same for zstd.
[[nodiscard]] FileBytes unzstd(std::span<const std::byte> packed, std::uint64_t limit, std::string_view name);

/// The unpacked content of `file` if it begins as gzip or zstd does, else `file` itself; `limit` holds in both cases.
[[nodiscard]] FileBytes maybe_decompress(FileBytes file, std::uint64_t limit, std::string_view name);

/// `bytes` as a gzip file; the same input gives the same output (no name, no time).
[[nodiscard]] FileBytes gzip(std::span<const std::byte> bytes);

}  // namespace ferry
#pragma GCC visibility pop
