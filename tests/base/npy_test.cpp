#include "base/files/npy.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <numeric>

#include "base/error.hpp"
#include "tests/support/damage.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

using test::error_of;

// A file with any header and any content, of version 1 unless another is given.
std::string file_of(const std::string& header, const std::string& content, char version = 1) {
  std::string file = "\x93NUMPY";
  file += {version, 0, static_cast<char>(header.size() & 255), static_cast<char>(header.size() >> 8)};
  if (version > 1) file += std::string(2, '\0');
  return file + header + content;
}

NpyArray parsed_npy(const std::string& file) {
  return parse_npy(FileBytes(file), "x.npy");
}

template <typename T>
std::vector<T> values(const NpyArray& array) {
  std::vector<T> out(array.bytes.size() / sizeof(T));
  std::memcpy(out.data(), array.bytes.data(), out.size() * sizeof(T));
  return out;
}

std::string bytes_of(const auto& numbers) {
  return {reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(numbers[0])};
}

void refused(const std::string& file, std::string_view why) {
  const Error error = error_of([&] { (void)parsed_npy(file); });
  CHECK(error.code() == Code::file);
  CHECK_MESSAGE(error.text().find(why) != std::string::npos, error.text());
  CHECK(error.text().starts_with("\"x.npy\": npy: "));
}

TEST_SUITE_BEGIN("base/npy");

TEST_CASE("npy: what is written is read back") {
  const test::TempFolder folder;
  const std::vector<float> numbers = {1, 2, 3, 4, 5, 6};
  const std::vector<std::int64_t> shape = {2, 3};
  write_npy(local_files(), folder / "a.npy", "<f4", shape, std::as_bytes(std::span(numbers)));
  const NpyArray array = read_npy(local_files(), folder / "a.npy");
  CHECK(array.descr == "<f4");
  CHECK(array.shape == shape);
  CHECK(values<float>(array) == numbers);
  CHECK(error_of([&] { (void)read_npy(local_files(), folder / "a.npy", 100); }).code() == Code::file);
}

TEST_CASE("npy: the header is NumPy's own") {
  const std::vector<std::int64_t> shape = {3};
  const std::string header = npy_header("<i8", shape);
  CHECK(header.size() == 128);
  CHECK(header.substr(0, 10) == std::string("\x93NUMPY\x01\0\x76\0", 10));
  CHECK(header.substr(10, 59) == "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }  ");
  CHECK(header.back() == '\n');
  const std::vector<std::int64_t> many(64, std::numeric_limits<std::int64_t>::max());
  CHECK(npy_header("<f4", many).size() % 64 == 0);
}

TEST_CASE("npy: scalars, empty arrays, every dtype") {
  for (const std::string descr :
       {"|b1", "|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<c8", "<c16"}) {
    const NpyDtype dtype = npy_dtype(descr);
    CHECK(dtype.size > 0);
    const NpyArray scalar = parsed_npy(npy_header(descr, {}) + std::string(static_cast<std::size_t>(dtype.size), '\1'));
    CHECK(scalar.shape.empty());
    CHECK(scalar.descr == descr);
    CHECK(scalar.bytes.size() == static_cast<std::size_t>(dtype.size));
    const std::vector<std::int64_t> none = {3, 0, 2};
    CHECK(parsed_npy(npy_header(descr, none)).shape == none);
  }
}

TEST_CASE("npy: versions 2 and 3, any spacing and order of keys") {
  const std::string content(8, '\0');
  for (const char version : {'\2', '\3'}) {
    CHECK(parsed_npy(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", content, version)).shape ==
          std::vector<std::int64_t>{2});
  }
  const NpyArray array = parsed_npy(file_of("{\"shape\":( 1 , 2 ),'descr':\"<f4\",'fortran_order':True,}\n", content));
  CHECK(array.shape == std::vector<std::int64_t>{1, 2});
}

TEST_CASE("npy: Fortran order is transposed") {
  const std::vector<std::int16_t> columns = {0, 3, 1, 4, 2, 5};
  const NpyArray matrix = parsed_npy(file_of("{'descr':'<i2','fortran_order':True,'shape':(2,3)}", bytes_of(columns)));
  CHECK(values<std::int16_t>(matrix) == std::vector<std::int16_t>{0, 1, 2, 3, 4, 5});

  std::vector<double> cube(2 * 3 * 4);
  for (int i = 0, at = 0; i < 4; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 2; ++k, ++at) cube[at] = k * 12 + j * 4 + i;
    }
  }
  std::vector<double> wanted(cube.size());
  std::iota(wanted.begin(), wanted.end(), 0.0);
  CHECK(values<double>(parsed_npy(file_of("{'descr':'<f8','fortran_order':True,'shape':(2,3,4)}", bytes_of(cube)))) ==
        wanted);
  CHECK(parsed_npy(file_of("{'descr':'<f8','fortran_order':True,'shape':(2,0,4)}", "")).bytes.empty());
}

TEST_CASE("npy: the bytes are aligned wherever they stand in the file") {
  for (std::size_t blanks = 0; blanks < 16; ++blanks) {
    const std::string header = "{'descr':'<f8','fortran_order':False,'shape':(1,)}" + std::string(blanks, ' ');
    const NpyArray array = parsed_npy(file_of(header, bytes_of(std::vector<double>{2.5})));
    CHECK(reinterpret_cast<std::uintptr_t>(array.bytes.data()) % 8 == 0);
    CHECK(values<double>(array) == std::vector<double>{2.5});
  }
}

TEST_CASE("npy: an array may be moved") {
  NpyArray array = parsed_npy(npy_header("|u1", {}) + "x");
  const NpyArray moved = std::move(array);
  CHECK(static_cast<char>(moved.bytes[0]) == 'x');
}

TEST_CASE("npy: bad files are refused with the reason") {
  const auto with = [](const std::string& descr, const std::string& shape, const std::string& content) {
    return file_of("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }", content);
  };
  refused("", "does not begin with");
  refused("PK\3\4", "does not begin with");
  refused("\x93NUMPY", "cut short in the header");
  refused(file_of("{}", "", 4), "version 4.0, and ferry reads 1.0, 2.0 and 3.0");
  refused(file_of("{}", ""), "lacks");
  refused(with("<f4", "(2,)", "1234567"), "cut short: 8 bytes for the shape (2,) of <f4, 7 there");
  refused(with("<f4", "(2,)", "123456789"), "trailing bytes");
  refused(with(">f4", "(1,)", "1234"), "big-endian");
  refused(with("<f4", "(-1,)", ""), "negative: -1");
  refused(with("<f4", "(4611686018427387904, 4)", ""), "more bytes than there can be");
  refused(with("<f4", "(0, 4611686018427387904, 4)", ""), "more bytes than there can be");
  refused(with("<f4", "(99999999999999999999,)", ""), "does not fit 64 bits");
  refused(with("<f4", "(3)", "123456789012"), "','");
  refused(with("<f4", "(1.5,)", "1234"), "was expected");
  refused(with("|O", "(1,)", "12345678"), "\"|O\" are not read");
  refused(with("<U4", "(1,)", std::string(16, 'x')), "are not read");
  refused(with("<f3", "(1,)", "123"), "are not read");
  refused(with("<V2", "(1,)", "12"), "numpy saves bfloat16 as V2: save a.astype(numpy.float32)");
  refused(with("|b1", "(2,)", "\1\7"), "element 1 is neither true nor false: 7");
  refused(file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", "1234"), "structures");
  refused(file_of("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}", "1234"), "two of \"descr\"");
  refused(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}", "1234"), "unknown key");
  refused(file_of("{'descr': '<f4', 'fortran_order': 0, 'shape': ()}", "1234"), "True or False");
  refused(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x", "1234"), "the end of the header");
  std::string dims = "(";
  for (int i = 0; i < 65; ++i) dims += "1,";
  refused(with("<f4", dims + ")", "1234"), "more than 64 dims");
}

TEST_CASE("npy: cut or flipped anywhere, it is refused or read, and never more than its bytes") {
  const std::vector<std::int64_t> shape = {2, 3};
  const std::string good = npy_header("|b1", shape) + std::string("\0\1\0\1\1\0", 6);
  const auto read = [](const std::string& file) {
    const NpyArray array = parsed_npy(file);
    CHECK(array.bytes.size() <= file.size());
    CHECK(npy_dtype(array.descr).size != 0);
  };
  CHECK(test::cut_everywhere(good, read) == 0);
  CHECK(test::flip_everywhere(good, read) > 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace ferry
