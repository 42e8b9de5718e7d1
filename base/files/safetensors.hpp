// safetensors files (https://huggingface.co/docs/safetensors): 8 bytes little-endian with the header's size, the header
// as JSON, then the tensors' bytes. All functions are thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/array_place.hpp"
#include "base/files/bytes.hpp"
#include "base/files/files.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// One tensor. Its name comes from a file: never use it as a path.
struct SafeTensor {
  std::string name;   ///< not empty, UTF-8, at most 4096 bytes, no NUL
  std::string dtype;  ///< F64 F32 F16 BF16 I64 I32 I16 I8 U64 U32 U16 U8 BOOL F8_E5M2 F8_E4M3, or any other
  std::vector<std::int64_t> shape;   ///< empty: a scalar; sizes may be 0
  std::span<const std::byte> bytes;  ///< dense, C order; not owned
};

using SafeMetadata = std::map<std::string, std::string>;

/// A file's content. Movable, not copyable.
struct SafeTensors {
  std::vector<SafeTensor> tensors;  ///< sorted by name; the bytes point into `storage`, aligned for the dtype
  SafeMetadata metadata;            ///< the header's "__metadata__"
  FileBytes storage;

  /// The tensor of this name, or nullptr.
  [[nodiscard]] const SafeTensor* find(std::string_view name) const;
};

/// Bytes of one element of a dtype above; 0 for any other.
[[nodiscard]] int safetensors_item_size(std::string_view dtype);

/// Parses a file's content. `file_name` is for messages. Throws Code::file unless the content is exactly one whole
/// file. Errors are also: a header above 100 MB; damaged JSON; invalid or duplicate names; sizes that overflow; bytes ≠
/// shape × dtype; offsets that overlap, leave holes, or do not end with the file; bools that are neither 0 nor 1. Like
/// the format's own reader, it accepts misaligned tensors, fields of tensors that the format does not have, and null as
/// metadata. It accepts a tensor of another dtype as bytes.
[[nodiscard]] SafeTensors parse_safetensors(FileBytes file, std::string_view file_name);

/// Reads a file of at most `limit` bytes.
[[nodiscard]] SafeTensors read_safetensors(FileSystem& files, const std::string& path, std::uint64_t limit = kNoLimit);

/// The place of a tensor in a file; only the header is read. Its dtype is as in SafeTensor. Errors as
/// check_safetensors(), and Code::file when there is no tensor of that name.
[[nodiscard]] ArrayPlace safetensors_place(const FileReader& file, std::string_view tensor);

/// Checks only the header and the file's size: throws Code::file for the errors of parse_safetensors() that these show.
void check_safetensors(const FileReader& file);

/// Writes a file, whole or not at all. The same tensors in any order give the same file: larger elements first (so that
/// all are aligned), then by name; the bytes begin at a multiple of 64. Throws Code::usage for a name that is given
/// twice or not allowed by SafeTensor, and for metadata that is not UTF-8; an unknown dtype or bytes ≠ shape × dtype is
/// a bug (asserted).
void write_safetensors(FileSystem& files, const std::string& path, std::span<const SafeTensor> tensors,
                       const SafeMetadata& metadata = {});

}  // namespace ferry
#pragma GCC visibility pop
