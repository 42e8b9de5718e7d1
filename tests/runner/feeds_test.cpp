#include "runner/options/feeds.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <filesystem>
#include <limits>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/files/npy.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

struct Fixture {
  Fixture() {
    static_cast<void>(g.input("rate", DType::float32, {}));
    static_cast<void>(g.input("count", DType::int32, {}));
    static_cast<void>(g.input("flag", DType::boolean, {}));
    static_cast<void>(g.input("byte", DType::uint8, {}));
  }
  Graph g;
};

std::string refusal(const std::vector<std::string>& feeds, Code code = Code::usage) {
  const Fixture f;
  try {
    static_cast<void>(parse_feeds(inputs_of(f.g), feeds));
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.text();
  }
  return "";
}

TEST_CASE("a number becomes a scalar of the input's dtype") {
  const Fixture f;
  const TensorMap feeds = parse_feeds(inputs_of(f.g), {"rate=0.5", "count=-7", "flag=1", "byte=255"});
  CHECK(feeds.at("rate").data<float>()[0] == 0.5F);
  CHECK(feeds.at("count").data<std::int32_t>()[0] == -7);
  CHECK(feeds.at("flag").data<bool>()[0]);
  CHECK(feeds.at("byte").data<std::uint8_t>()[0] == 255);
  CHECK(std::signbit(parse_feeds(inputs_of(f.g), {"rate=-0"}).at("rate").data<float>()[0]));
}

TEST_CASE("an integer of 64 bits is fed as it is written") {
  Graph g;
  static_cast<void>(g.input("signed", DType::int64, {}));
  static_cast<void>(g.input("unsigned", DType::uint64, {}));
  const TensorMap feeds = parse_feeds(inputs_of(g), {"signed=9007199254740993", "unsigned=18446744073709551615"});
  CHECK(feeds.at("signed").data<std::int64_t>()[0] == 9007199254740993);
  CHECK(feeds.at("unsigned").data<std::uint64_t>()[0] == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("a number that the dtype cannot hold is refused") {
  CHECK(refusal({"count=1.5"}).starts_with("--feed count=1.5: not a value of int32"));
  CHECK(refusal({"count=2147483648"}).find("not a value of int32") != std::string::npos);
  CHECK(refusal({"byte=256"}).find("not a value of uint8") != std::string::npos);
  CHECK(refusal({"byte=-1"}).find("not a value of uint8") != std::string::npos);
  CHECK(refusal({"flag=2"}).find("not a value of bool") != std::string::npos);
  CHECK(refusal({"count=nan"}).find("not a value of int32") != std::string::npos);
}

TEST_CASE("a number too small for the dtype is 0 or a subnormal one, one too large is refused") {
  const Fixture f;
  CHECK(parse_feeds(inputs_of(f.g), {"rate=1e-400"}).at("rate").data<float>()[0] == 0);
  CHECK(parse_feeds(inputs_of(f.g), {"rate=1e-40"}).at("rate").data<float>()[0] == 1e-40F);
  CHECK(parse_feeds(inputs_of(f.g), {"count=1e3"}).at("count").data<std::int32_t>()[0] == 1000);
  CHECK(refusal({"rate=1e39"}).find("not a value of float32") != std::string::npos);
  CHECK(refusal({"rate=1e400"}).find("not a value of float32") != std::string::npos);
  CHECK(refusal({"count=1e400"}).find("not a value of int32") != std::string::npos);
}

TEST_CASE("unknown and duplicate feeds are refused by name") {
  CHECK(refusal({"rat=1"}) == "--feed rat: there is no such input\n  try: rate?");
  CHECK(refusal({"rate=1", "rate=2"}) == "--feed rate: given twice\n  try: feed it once");
  for (const char* bad : {"rate", "=1", "rate="})
    CHECK(refusal({bad}).find("expected NAME=FILE.npy or NAME=NUMBER") != std::string::npos);
}

TEST_CASE("an input with '=' in its name cannot be fed, which the error says") {
  Graph g;
  static_cast<void>(g.input("a=b", DType::float32, {}));
  const auto error_of_feed = [&](const std::string& feed) {
    return test::error_of([&] { static_cast<void>(parse_feeds(inputs_of(g), {feed})); });
  };
  const Error error = error_of_feed("a=b=x.npy");
  CHECK(error.code() == Code::usage);
  CHECK(
      test::says(error, "--feed a=b=x.npy: the input 'a=b' has '=' in its name, and a feed's name ends at the first"));
  CHECK(test::says(error, "feeds_test.cpp:"));
  CHECK(test::says(error, "try: rename the input in the graph or model"));
  CHECK(test::says(error_of_feed("a=1"), "--feed a: there is no such input"));
}

TEST_CASE("bools have names, and what is neither a number nor a file is refused") {
  const Fixture f;
  CHECK(parse_feeds(inputs_of(f.g), {"flag=true"}).at("flag").data<bool>()[0]);
  CHECK(!parse_feeds(inputs_of(f.g), {"flag=false"}).at("flag").data<bool>()[0]);
  CHECK(refusal({"flag=yes"}).find("--feed flag=yes: is no number, and there is no such file") == 0);
  CHECK(refusal({"count=1,5"}).find("is no number, and there is no such file") != std::string::npos);
}

TEST_CASE("a file that is not there is named") {
  CHECK(refusal({"rate=/no/such/file.npy"}, Code::file).find("/no/such/file.npy") != std::string::npos);
}

TEST_CASE("of a file that does not fit its input no more than the header is read, however large it is") {
  const test::TempFolder folder;
  Graph g;
  static_cast<void>(g.input("x", DType::float32, {2, 10}));
  const auto refused = [&](std::vector<std::int64_t> shape, std::uint64_t bytes) {
    const std::string path = folder / "x.npy";
    const std::string header = npy_header("<f4", shape);
    local_files().write(path, header);
    std::filesystem::resize_file(path, header.size() + bytes);  // a hole: no bytes on the disk
    return test::error_of([&] { static_cast<void>(parse_feeds(inputs_of(g), {"x=" + path})); });
  };
  constexpr std::uint64_t kHuge = std::uint64_t{10} << 30;
  const Error other = refused({kHuge / 4}, kHuge);
  CHECK(other.code() == Code::usage);
  CHECK(test::says(other, "the file is float32[2684354560], the input float32[2,10]"));
  const Error trailing = refused({2, 10}, kHuge);
  CHECK(trailing.code() == Code::file);
  CHECK(test::says(trailing, "trailing bytes"));
}

}  // namespace
}  // namespace ferry
