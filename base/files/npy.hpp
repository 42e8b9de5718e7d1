// NumPy's .npy files, versions 1 to 3 (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html), of
// numbers and bools, little-endian. All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/array_place.hpp"
#include "base/files/bytes.hpp"
#include "base/files/files.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// An element type in NumPy's terms: `kind` 'b' bool, 'i' signed, 'u' unsigned, 'f' float, 'c' complex; `size` in
/// bytes.
struct NpyDtype {
  char kind = 0;
  int size = 0;
  bool operator==(const NpyDtype&) const = default;
};

/// The dtype of a descr ("<f4", "|b1"). Its size is 0 unless it is a bool, or a little-endian integer, float of 2, 4 or
/// 8 bytes, or complex number.
[[nodiscard]] NpyDtype npy_dtype(std::string_view descr);

/// A dense array in C order, with its bytes. Movable, not copyable.
struct NpyArray {
  std::string descr;                 ///< as NumPy writes it: "<f4", "<i8", "|u1", "|b1"
  std::vector<std::int64_t> shape;   ///< empty: a scalar; sizes may be 0
  std::span<const std::byte> bytes;  ///< points into `storage`; aligned for the dtype; bools are 0 or 1
  FileBytes storage;
};

/// Parses a file's content. `name` is for messages. Fortran order is converted to C order. Throws Code::file unless the
/// content is exactly one whole file that ferry can read. Errors are: bad magic, newer version, damaged header, sizes
/// that overflow, missing or trailing bytes, a dtype for which npy_dtype() returns size 0.
[[nodiscard]] NpyArray parse_npy(FileBytes file, std::string_view name);

/// ferry calls it with the content of a file's header, which it has checked against the file's size. It throws to
/// reject the file.
using AcceptNpy = std::function<void(std::string_view descr, std::span<const std::int64_t> shape)>;

/// Reads a file of at most `limit` bytes: first its header alone, and the rest after `accept` has returned.
[[nodiscard]] NpyArray read_npy(FileSystem& files, const std::string& path, std::uint64_t limit = kNoLimit,
                                const AcceptNpy& accept = {});

/// The sizes of the array in a file that parse_npy() accepts, also in Fortran order. Reads only the header; reads the
/// whole file if it is compressed by gzip or zstd. Errors as parse_npy().
[[nodiscard]] std::vector<std::int64_t> npy_sizes(FileSystem& files, const std::string& path);

/// The place of the array in a file. Reads only the header. Errors as parse_npy(), and Code::file for Fortran order.
[[nodiscard]] ArrayPlace npy_place(const FileReader& file);

/// The header of a file, padded to a multiple of 64 bytes as NumPy writes it. At most 64 dims (asserted).
[[nodiscard]] std::string npy_header(std::string_view descr, std::span<const std::int64_t> shape);

/// Writes a file, whole or not at all. `bytes` are in C order; their number fits shape and descr (asserted).
void write_npy(FileSystem& files, const std::string& path, std::string_view descr, std::span<const std::int64_t> shape,
               std::span<const std::byte> bytes);

}  // namespace ferry
#pragma GCC visibility pop
