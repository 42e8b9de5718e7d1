// IDX files, the format of MNIST and its successors (http://yann.lecun.com/exdb/mnist: magic 0 0 type dims, sizes and
// elements big-endian). All functions are thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/files/npy.hpp"

namespace ferry {

/// Parses the content of an IDX file (not packed: see maybe_decompress). The array's descr is one of "|u1", "|i1",
/// "<i2", "<i4", "<f4", "<f8"; its elements are turned to little-endian. Throws Code::file, naming `name`, for whatever
/// is not exactly a whole file of this kind: bad magic or type, no dims, sizes that overflow, missing or trailing
/// bytes.
[[nodiscard]] NpyArray parse_idx(FileBytes file, std::string_view name);

/// Where the array lies in a file; only the header is read. Errors as above.
[[nodiscard]] ArrayPlace idx_place(const FileReader& file);

/// Reads a file, packed by gzip or zstd or not, of at most `limit` bytes packed and unpacked.
[[nodiscard]] NpyArray read_idx(FileSystem& files, const std::string& path, std::uint64_t limit = kNoLimit);

}  // namespace ferry
