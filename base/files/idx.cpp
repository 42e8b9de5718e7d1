#include "base/files/idx.hpp"

#include <algorithm>
#include <utility>

#include "base/checked.hpp"
#include "base/error.hpp"
#include "base/files/compress.hpp"
#include "base/format.hpp"

namespace ferry {
namespace {

Error bad(std::string_view name, const std::string& why) {
  return Error(Code::file, "{:?}: idx: {}", name, as_is(why));
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

constexpr std::uint64_t kMostHeaderBytes = 4 + 4 * 255;

// Reads the header and checks it against the size of the file. `head` is the whole file, or its first kMostHeaderBytes
// bytes.
ArrayPlace describe(std::span<const std::byte> head, std::uint64_t file_size, std::string_view name) {
  if (head.size() < 4 || head[0] != std::byte{0} || head[1] != std::byte{0}) {
    throw bad(name, "not such a file: it does not begin with 0 0");
  }
  const std::string_view descr = descr_of(head[2]);
  if (descr.empty()) throw bad(name, "unknown element type " + std::to_string(static_cast<int>(head[2])));
  const auto dims = static_cast<std::size_t>(head[3]);
  if (dims == 0) throw bad(name, "it has no dims");
  const std::size_t begin = 4 + 4 * dims;
  if (head.size() < begin) throw bad(name, "cut short in the sizes of its " + std::to_string(dims) + " dims");
  std::vector<std::int64_t> shape;
  for (std::size_t d = 0; d < dims; ++d) shape.push_back(big_endian_32(head.subspan(4 + 4 * d)));
  const int item = npy_dtype(descr).size;
  const auto wanted = tensor_bytes(shape, static_cast<std::uint64_t>(item));
  if (!wanted) throw bad(name, "its sizes have more bytes than there can be");
  const std::uint64_t there = file_size - begin;
  if (there != *wanted) {
    throw bad(name, (there < *wanted ? "cut short: " : "trailing bytes: ") + std::to_string(*wanted) +
                        " bytes announced, " + std::to_string(there) + " there");
  }
  return {std::string(descr), std::move(shape), begin, item};
}

}  // namespace

ArrayPlace idx_place(const FileReader& file) {
  FileBytes head(std::min(file.size(), kMostHeaderBytes));
  file.read(0, head.span());
  return describe(std::as_const(head).span(), file.size(), file.name());
}

NpyArray parse_idx(FileBytes file, std::string_view name) {
  ArrayPlace place = describe(std::as_const(file).span(), file.size(), name);
  NpyArray array{std::move(place.dtype), std::move(place.shape), {}, FileBytes(file.span().subspan(place.begin))};
  reverse_items(array.storage.span(), place.reversed);
  array.bytes = std::as_const(array.storage).span();
  return array;
}

NpyArray read_idx(FileSystem& files, const std::string& path, std::uint64_t limit) {
  return parse_idx(maybe_decompress(files.read(path, limit), limit, path), path);
}

}  // namespace ferry
