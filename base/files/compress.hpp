// gzip (RFC 1952) and zstd (RFC 8878) for whole buffers in memory. All functions are pure and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/files/bytes.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Decompresses a gzip file, which may have several members. `name` is the file's name for messages. Throws Code::file
/// if the file is damaged, cut short, followed by bytes other than 0, or unpacks to more than `limit` bytes. The
/// function never holds more than `limit` unpacked bytes.
[[nodiscard]] FileBytes gunzip(std::span<const std::byte> packed, std::uint64_t limit, std::string_view name);

/// Decompresses a zstd file. Parameters and errors as for gunzip(), but no bytes may follow.
[[nodiscard]] FileBytes unzstd(std::span<const std::byte> packed, std::uint64_t limit, std::string_view name);

/// The unpacked content of `file` if it begins like a gzip or zstd file, else `file` itself. In both cases, throws
/// Code::file if the result has more than `limit` bytes.
[[nodiscard]] FileBytes maybe_decompress(FileBytes file, std::uint64_t limit, std::string_view name);

/// `bytes` as a gzip file; the same input gives the same output (no name, no time).
[[nodiscard]] FileBytes gzip(std::span<const std::byte> bytes);

}  // namespace ferry
#pragma GCC visibility pop
