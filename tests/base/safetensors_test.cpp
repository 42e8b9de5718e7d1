#include "base/files/safetensors.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>

#include "base/error.hpp"
#include "tests/support/damage.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

using test::error_of;

std::string file_of(const std::string& header, const std::string& data, std::uint64_t announced = 0) {
  std::string size;
  const std::uint64_t bytes = announced == 0 ? header.size() : announced;
  for (int shift = 0; shift < 64; shift += 8) size += static_cast<char>(bytes >> shift);
  return size + header + data;
}

SafeTensors parsed(const std::string& file) {
  return parse_safetensors(FileBytes(file), "x.st");
}

void refused(const std::string& file, std::string_view why) {
  const Error error = error_of([&] { (void)parsed(file); });
  CHECK(error.code() == Code::file);
  CHECK_MESSAGE(error.text().find(why) != std::string::npos, error.text());
  CHECK(error.text().starts_with("\"x.st\": safetensors: "));
  CHECK(error.text().size() < 1000);
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string text_of(const SafeTensor* tensor) {
  REQUIRE(tensor != nullptr);
  return {reinterpret_cast<const char*>(tensor->bytes.data()), tensor->bytes.size()};
}

std::vector<SafeTensor> sample() {
  return {{"w", "F32", {2, 1}, bytes_of("12345678")},
          {"a", "U8", {3}, bytes_of("abc")},
          {"none", "I64", {0, 4}, {}},
          {"../../etc/passwd \"\n€", "F64", {}, bytes_of("ABCDEFGH")}};
}

std::string written(std::vector<SafeTensor> tensors, const SafeMetadata& metadata = {}) {
  const test::TempFolder folder;
  write_safetensors(local_files(), folder / "x", tensors, metadata);
  return std::string(local_files().read(folder / "x").text());
}

TEST_SUITE_BEGIN("base/safetensors");

TEST_CASE("safetensors: what is written is read back") {
  const test::TempFolder folder;
  const SafeMetadata metadata = {{"format", "pt"}, {"note", "größe"}};
  write_safetensors(local_files(), folder / "x", sample(), metadata);
  const SafeTensors file = read_safetensors(local_files(), folder / "x");
  CHECK(file.metadata == metadata);
  CHECK(file.tensors.size() == 4);
  CHECK(std::is_sorted(file.tensors.begin(), file.tensors.end(),
                       [](const SafeTensor& a, const SafeTensor& b) { return a.name < b.name; }));
  for (const SafeTensor& tensor : sample()) {
    const SafeTensor* found = file.find(tensor.name);
    CHECK(text_of(found) == text_of(&tensor));
    CHECK(found->dtype == tensor.dtype);
    CHECK(found->shape == tensor.shape);
  }
  CHECK(file.find("b") == nullptr);
  CHECK(file.find("zz") == nullptr);
  CHECK(error_of([&] { (void)read_safetensors(local_files(), folder / "x", 20); }).code() == Code::file);
}

TEST_CASE("safetensors: the same tensors in any order give the same bytes, aligned") {
  std::vector<SafeTensor> tensors = sample();
  const std::string first = written(tensors);
  std::reverse(tensors.begin(), tensors.end());
  CHECK(written(tensors) == first);
  for (const SafeTensor& tensor : parsed(first).tensors) {
    const auto item = static_cast<std::uintptr_t>(safetensors_item_size(tensor.dtype));
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.bytes.data()) % item == 0);
  }
  CHECK(first.find("12345678") % 4 == 0);
}

TEST_CASE("safetensors: the bytes written are these") {
  const std::string file = written({{"a", "U8", {3}, bytes_of("abc")}}, {{"k", "v"}});
  std::string header = R"({"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})";
  header.append(120 - header.size(), ' ');
  CHECK(file == file_of(header, "abc"));
  CHECK(parsed(written({})).tensors.empty());
}

TEST_CASE("safetensors: a header of any length leaves the tensors aligned") {
  for (std::size_t blanks = 0; blanks < 8; ++blanks) {
    const std::string header = R"({"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}})" + std::string(blanks, ' ');
    const SafeTensors file = parsed(file_of(header, "12345678"));
    CHECK(text_of(file.find("a")) == "12345678");
    CHECK(reinterpret_cast<std::uintptr_t>(file.find("a")->bytes.data()) % 8 == 0);
  }
}

TEST_CASE("safetensors: every dtype") {
  for (const std::string dtype : {"F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8",
                                  "BOOL", "F8_E5M2", "F8_E4M3"}) {
    const auto size = static_cast<std::size_t>(safetensors_item_size(dtype));
    REQUIRE(size > 0);
    const std::string content(size, '\1');
    CHECK(text_of(parsed(written({{"a", dtype, {1}, bytes_of(content)}})).find("a")) == content);
  }
  CHECK(safetensors_item_size("f32") == 0);
}

TEST_CASE("safetensors: bad files are refused with the reason") {
  const auto one = [](const std::string& dtype, const std::string& shape, const std::string& offsets,
                      const std::string& data) {
    return file_of(R"({"a":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}",
                   data);
  };
  refused("", "cut short");
  refused(std::string(8, '\0'), "does not begin with '{'");
  refused(file_of("{}", "", 100'000'001), "the limit is 100000000");
  refused(file_of("{}", "", ~0ull), "the limit is 100000000");
  refused(file_of("{}", "", 3), "cut short in the header: 3 bytes announced, 2 there");
  refused(file_of("[]", ""), "does not begin with '{'");
  refused(file_of("{}x", ""), "damaged header");
  refused(file_of("{\"a\"", ""), "damaged header");
  refused(file_of("{}", "x"), "trailing bytes: the tensors end at 0 of 1");
  refused(file_of(R"({"a":1})", ""), "a number is not expected");
  refused(file_of(R"({"a":[]})", ""), "an array is not expected");
  refused(file_of(R"({"a":{}})", ""), "lacks dtype");
  refused(file_of(R"({"a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}})", "z"), "\"dtype\" twice");
  refused(file_of(R"({"a":{"shape":[],"shape":[]}})", "z"), "\"shape\" twice");
  refused(one("F32", "[-1]", "[0,4]", "1234"), "a negative number");
  refused(one("F32", "[1.5]", "[0,4]", "1234"), "the number 1.5");
  refused(one("F32", "[99999999999999999999]", "[0,4]", "1234"), "the number 99999999999999999999");
  refused(one("F32", "[9999999999999999999]", "[0,4]", "1234"), "above 2^63");
  refused(one("F32", "[[1]]", "[0,4]", "1234"), "an array is not expected");
  refused(one("F32", "[4294967296,4294967296]", "[0,0]", ""), "more bytes than there can be");
  refused(one("F32", "[0,4294967296,4294967296]", "[0,0]", ""), "more bytes than there can be");
  refused(one("F32", "[2]", "[0,4]", "1234"), "8 bytes by shape and dtype, 4 by its offsets");
  refused(one("F32", "[1]", "[0,5]", "1234"), "outside the file's 4");
  refused(one("F32", "[1]", "[4,0]", "1234"), "outside");
  refused(one("F32", "[1]", "[9223372036854775807,3]", "1234"), "outside");
  refused(one("F32", "[1]", "[0]", "1234"), "two data_offsets");
  refused(one("F32", "[1]", "[4,8]", "12345678"), "leave a hole after the tensor before, which ends at 0");
  refused(one("BOOL", "[2]", "[0,2]", "\1\2"), "element 1 is neither true nor false: 2");
  refused(file_of(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                  R"("b":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
                  "123"),
          "overlap");
}

TEST_CASE("safetensors: what the format's own reader takes is taken") {
  const std::string x = R"("x":{"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  const auto reads = [](const std::string& header, const std::string& data) {
    const test::TempFolder folder;
    local_files().write(folder / "x", file_of(header, data));
    const ArrayPlace place = safetensors_place(*local_files().open(folder / "x"), "x");
    CHECK(place.dtype == "F32");
    CHECK(place.begin + 8 <= file_of(header, data).size());
    const SafeTensors file = parsed(file_of(header, data));
    CHECK(text_of(file.find("x")) == "12345678");
    CHECK(reinterpret_cast<std::uintptr_t>(file.find("x")->bytes.data()) % 4 == 0);
  };
  reads("{" + x + "}", "12345678");
  reads(" {" + x + "} \n", "12345678");
  reads(R"({"__metadata__":null,)" + x + "}", "12345678");
  reads(R"({"__metadata__":{"a":"1","a":"2"},)" + x + "}", "12345678");
  reads(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"x":{"dtype":"F32","shape":[2],"data_offsets":[1,9]}})",
        "b12345678");
  for (const char* extra :
       {R"("q")", "1", "-1.5", "null", "true", R"({"a":[1,{"dtype":"F64","shape":[]}]})", "[[1],{}]"})
    reads(R"({"x":{"note":)" + std::string(extra) + R"(,"dtype":"F32","shape":[2],"data_offsets":[0,8],"note":)" +
              extra + "}}",
          "12345678");
  for (const char* dtype : {"F8_E8M0", "C64", "F4"})  // of a tensor that nobody asks for
    reads(R"({"s":{"dtype":")" + std::string(dtype) + R"(","shape":[4],"data_offsets":[8,12]},)" + x + "}",
          "12345678abcd");
}

TEST_CASE("safetensors: hostile names and metadata are refused") {
  const auto named = [](const std::string& name) {
    return file_of("{\"" + name + R"(":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})", "");
  };
  CHECK(parsed(named("/etc/passwd")).tensors.size() == 1);  // a name like any other
  refused(named(""), "is empty");
  refused(named("a\\u0000b"), "\"a\\x00b\" holds NUL");
  refused(named("\xff"), "damaged header");
  refused(named(std::string(1'000'000, 'x')), "is too long");
  refused(file_of(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                  R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                  ""),
          "\"a\" twice");
  refused(file_of(R"({"__metadata__":{},"__metadata__":{}})", ""), "\"__metadata__\" twice");
  refused(file_of(R"({"__metadata__":{"a":1}})", ""), "a number is not expected");
  refused(file_of(R"({"__metadata__":{"a":{}}})", ""), "an object is not expected");
  std::string deep = "{\"a\":";
  for (int i = 0; i < 1'000'000; ++i) deep += "[";
  refused(file_of(deep, ""), "an array is not expected");
}

TEST_CASE("safetensors: names that cannot be written are the caller's fault") {
  for (const std::string& name : {std::string(), std::string("a\0b", 3), std::string("\xff"), std::string("a"),
                                  std::string("__metadata__"), std::string(5000, 'x')}) {
    const std::vector<SafeTensor> tensors = {{"a", "U8", {0}, {}}, {name, "U8", {0}, {}}};
    CHECK(error_of([&] { (void)written(tensors); }).code() == Code::usage);
  }
  CHECK(error_of([] { (void)written({}, {{"k", "\xff"}}); }).code() == Code::usage);
  CHECK(error_of([] { (void)written({{"a", "F32", {1}, bytes_of("123")}}); }).code() == Code::bug);
}

TEST_CASE("safetensors: cut or flipped anywhere, it is refused or read, and never more than its bytes") {
  const std::string good =
      written({{"w", "F32", {2, 1}, bytes_of("12345678")}, {"b", "BOOL", {2}, bytes_of("\1\1")}}, {{"k", "v"}});
  const auto read = [](const std::string& file) {
    std::size_t bytes = 0;
    for (const SafeTensor& tensor : parsed(file).tensors) bytes += tensor.bytes.size();
    CHECK(bytes == 10);
  };
  CHECK(test::cut_everywhere(good, read) == 0);
  CHECK(test::flip_everywhere(good, read) > 0);
}

TEST_SUITE_END();

TEST_CASE("a header that is padded with NUL instead of spaces is refused") {
  const std::string header = R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  const auto parse = [](const std::string& file) {
    return parse_safetensors(FileBytes(std::as_bytes(std::span(file))), "x");
  };
  CHECK(parse(file_of(header + "   ", "1")).tensors.size() == 1);
  for (const std::size_t at : {header.size(), header.size() + 1, header.size() + 2}) {
    std::string padded = header + "   ";
    padded[at] = '\0';
    CHECK(error_of([&] { static_cast<void>(parse(file_of(padded, "1"))); }).code() == Code::file);
  }
}

}  // namespace
}  // namespace ferry
