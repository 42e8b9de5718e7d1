#include "base/idx.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "base/compress.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

Error bad(std::string_view name, const std::string& why) {
  return Error(Code::file, in_quotes(name) + ": idx: " + why);
}

std::string_view descr_of(std::byte type) {
  switch (static_cast<int>(type)) {
    case 0x08:
      return "|u1";
    case 0x09:
      return "|i1";
    case 0x0B:
      return "<i2";
    case 0x0C:
      return "<i4";
    case 0x0D:
      return "<f4";
    case 0x0E:
      return "<f8";
    default:
      return "";
  }
}

std::int64_t big_endian_32(std::span<const std::byte> at) {
  std::uint32_t number = 0;
  for (std::byte b : at.first(4)) number = number << 8 | static_cast<std::uint32_t>(b);
  return number;
}

std::vector<std::int64_t> shape_of(std::span<const std::byte> file, std::string_view name) {
  const auto dims = static_cast<std::size_t>(file[3]);
  if (dims == 0) throw bad(name, "it has no dims");
  if (file.size() < 4 + 4 * dims) throw bad(name, "cut short in the sizes of its " + std::to_string(dims) + " dims");
  std::vector<std::int64_t> shape;
  for (std::size_t d = 0; d < dims; ++d) shape.push_back(big_endian_32(file.subspan(4 + 4 * d)));
  return shape;
}

// The elements in an aligned block of their own, little-endian.
FileBytes elements(std::span<const std::byte> source, std::size_t item) {
  FileBytes target(source);
  for (std::size_t at = 0; item > 1 && at < source.size(); at += item) {
    std::reverse(target.data() + at, target.data() + at + item);
  }
  return target;
}

}  // namespace

NpyArray parse_idx(FileBytes file, std::string_view name) {
  const std::span<const std::byte> all = std::as_const(file).span();
  if (all.size() < 4 || all[0] != std::byte{0} || all[1] != std::byte{0}) {
    throw bad(name, "not such a file: it does not begin with 0 0");
  }
  const std::string_view descr = descr_of(all[2]);
  if (descr.empty()) throw bad(name, "unknown element type " + std::to_string(static_cast<int>(all[2])));
  std::vector<std::int64_t> shape = shape_of(all, name);
  const auto item = static_cast<std::size_t>(npy_dtype(descr).size);
  const auto wanted = tensor_bytes(shape, item);
  if (!wanted) throw bad(name, "its sizes have more bytes than there can be");
  const std::span<const std::byte> source = all.subspan(4 + 4 * shape.size());
  if (source.size() != *wanted) {
    throw bad(name, (source.size() < *wanted ? "cut short: " : "trailing bytes: ") + std::to_string(*wanted) +
                        " bytes announced, " + std::to_string(source.size()) + " there");
  }
  NpyArray array{std::string(descr), std::move(shape), {}, elements(source, item)};
  array.bytes = std::as_const(array.storage).span();
  return array;
}

NpyArray read_idx(FileSystem& files, const std::string& path, std::uint64_t limit) {
  return parse_idx(maybe_decompress(files.read(path, limit), limit, path), path);
}

}  // namespace ferry
