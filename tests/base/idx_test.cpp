#include "base/files/idx.hpp"

#include <doctest/doctest.h>

#include <cstring>

#include "base/error.hpp"
#include "base/files/compress.hpp"
#include "tests/support/damage.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

using test::error_of;

std::string size_of(std::uint32_t size) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(size >> shift);
  return bytes;
}

std::string idx(int type, const std::vector<std::uint32_t>& sizes, const std::string& content) {
  std::string file = {0, 0, static_cast<char>(type), static_cast<char>(sizes.size())};
  for (std::uint32_t size : sizes) file += size_of(size);
  return file + content;
}

NpyArray parsed_idx(const std::string& file) {
  return parse_idx(FileBytes(file), "x.idx");
}

template <typename T>
T first(const NpyArray& array) {
  T value;
  std::memcpy(&value, array.bytes.data(), sizeof value);
  return value;
}

TEST_SUITE_BEGIN("base/idx");

TEST_CASE("idx: bytes as in MNIST's images") {
  const NpyArray array = parsed_idx(idx(0x08, {2, 1, 3}, "abcdef"));
  CHECK(array.descr == "|u1");
  CHECK(array.shape == std::vector<std::int64_t>{2, 1, 3});
  CHECK(std::string(reinterpret_cast<const char*>(array.bytes.data()), array.bytes.size()) == "abcdef");
  CHECK(reinterpret_cast<std::uintptr_t>(array.bytes.data()) % 64 == 0);
}

TEST_CASE("idx: other elements are turned to little-endian") {
  CHECK(first<std::int8_t>(parsed_idx(idx(0x09, {1}, "\xff"))) == -1);
  CHECK(first<std::int16_t>(parsed_idx(idx(0x0B, {1}, "\x01\x02"))) == 0x0102);
  CHECK(first<std::int32_t>(parsed_idx(idx(0x0C, {1}, "\x01\x02\x03\x04"))) == 0x01020304);
  CHECK(first<float>(parsed_idx(idx(0x0D, {1}, std::string("\x3f\xc0\0\0", 4)))) == 1.5f);
  CHECK(first<double>(parsed_idx(idx(0x0E, {1}, std::string("\x3f\xf8\0\0\0\0\0\0", 8)))) == 1.5);
}

TEST_CASE("idx: an empty dim is a valid array") {
  CHECK(parsed_idx(idx(0x08, {0, 28}, "")).bytes.empty());
}

TEST_CASE("idx: files are read packed or not, within the limit") {
  const test::TempFolder folder;
  const std::string file = idx(0x08, {1000}, std::string(1000, 'x'));
  local_files().write(folder / "plain", file);
  local_files().write(folder / "packed", gzip(std::as_bytes(std::span(file))).span());
  for (const std::string name : {"plain", "packed"}) {
    CHECK(read_idx(local_files(), folder / name).shape == std::vector<std::int64_t>{1000});
    CHECK(error_of([&] { (void)read_idx(local_files(), folder / name, 1007); }).code() == Code::file);
  }
}

TEST_CASE("idx: bad files are refused with the reason") {
  const auto refused = [](const std::string& file, std::string_view why) {
    const Error error = error_of([&] { (void)parsed_idx(file); });
    CHECK(error.code() == Code::file);
    CHECK_MESSAGE(error.text().find(why) != std::string::npos, error.text());
  };
  refused("", "does not begin with 0 0");
  refused("PNG!", "does not begin with 0 0");
  refused(idx(0x0A, {1}, "x"), "unknown element type 10");
  refused(idx(0x08, {}, "x"), "no dims");
  refused(idx(0x08, {1, 2}, "").substr(0, 10), "cut short in the sizes of its 2 dims");
  refused(idx(0x08, {4}, "123"), "cut short: 4 bytes announced, 3 there");
  refused(idx(0x08, {4}, "12345"), "trailing bytes");
  refused(idx(0x0E, {0xffffffff, 0xffffffff, 0xffffffff}, ""), "more bytes than there can be");
  refused(idx(0x0E, {0, 0xffffffff, 0xffffffff}, ""), "more bytes than there can be");
}

TEST_CASE("idx: cut or flipped anywhere, it is refused or read") {
  const std::string good = idx(0x0B, {2, 3}, "abcdefghijkl");
  const auto read = [](const std::string& file) {
    const NpyArray array = parsed_idx(file);
    CHECK(array.bytes.size() <= file.size());
  };
  CHECK(test::cut_everywhere(good, read) == 0);
  CHECK(test::flip_everywhere(good, read) >= 12 * 8);  // any content is valid
}

TEST_SUITE_END();

}  // namespace
}  // namespace ferry
