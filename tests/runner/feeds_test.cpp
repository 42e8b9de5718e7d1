#include "runner/feeds.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"

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
    static_cast<void>(parse_feeds(f.g, feeds));
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.text();
  }
  return "";
}

TEST_CASE("a number becomes a scalar of the input's dtype") {
  const Fixture f;
  const TensorMap feeds = parse_feeds(f.g, {"rate=0.5", "count=-7", "flag=1", "byte=255"});
  CHECK(feeds.at("rate").data<float>()[0] == 0.5F);
  CHECK(feeds.at("count").data<std::int32_t>()[0] == -7);
  CHECK(feeds.at("flag").data<bool>()[0]);
  CHECK(feeds.at("byte").data<std::uint8_t>()[0] == 255);
}

TEST_CASE("a number that the dtype cannot hold is refused") {
  CHECK(refusal({"count=1.5"}).starts_with("--feed count=1.5: not a value of int32"));
  CHECK(refusal({"count=2147483648"}).find("not a value of int32") != std::string::npos);
  CHECK(refusal({"byte=256"}).find("not a value of uint8") != std::string::npos);
  CHECK(refusal({"byte=-1"}).find("not a value of uint8") != std::string::npos);
  CHECK(refusal({"flag=2"}).find("not a value of bool") != std::string::npos);
  CHECK(refusal({"count=nan"}).find("not a value of int32") != std::string::npos);
}

TEST_CASE("unknown and duplicate feeds are refused by name") {
  CHECK(refusal({"rat=1"}) == "--feed rat: the graph has no such input\n  try: rate?");
  CHECK(refusal({"rate=1", "rate=2"}) == "--feed rate: given twice");
  for (const char* bad : {"rate", "=1", "rate="})
    CHECK(refusal({bad}).find("expected NAME=FILE.npy or NAME=NUMBER") != std::string::npos);
}

TEST_CASE("a file that is not there is named") {
  CHECK(refusal({"rate=/no/such/file.npy"}, Code::file).find("/no/such/file.npy") != std::string::npos);
}

}  // namespace
}  // namespace ferry
