// IDX files, the format of MNIST and its successors (http://yann.lecun.com/exdb/mnist: magic 0 0 type dims, sizes and
// elements big-endian). All functions are thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/files/npy.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Parses the content of an IDX file (not compressed: see maybe_decompress). The array's descr is one of "|u1", "|i1",
/// "<i2", "<i4", "<f4", "<f8"; its elements are converted to little-endian. Throws Code::file, with `name`, unless the
/// content is exactly one whole IDX file. Errors are: bad magic or type, no dims, sizes that overflow, missing or
/// trailing bytes.
[[nodiscard]] NpyArray parse_idx(FileBytes file, std::string_view name);

/// The place of the array in a file. Reads only the header. Errors as parse_idx().
[[nodiscard]] ArrayPlace idx_place(const FileReader& file);

/// Reads a file, plain or compressed by gzip or zstd. Neither the file nor its content may have more than `limit`
/// bytes.
[[nodiscard]] NpyArray read_idx(FileSystem& files, const std::string& path, std::uint64_t limit = kNoLimit);

}  // namespace ferry
#pragma GCC visibility pop
