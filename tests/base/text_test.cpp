#include "base/text.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <random>

using namespace ferry;

TEST_SUITE_BEGIN("base/text");

TEST_CASE("well-formed UTF-8 is told from the rest") {
  CHECK(is_valid_utf8(""));
  CHECK(is_valid_utf8("plain"));
  CHECK(is_valid_utf8("é€😀"));
  CHECK(is_valid_utf8(std::string_view("a\0b", 3)));
  CHECK(is_valid_utf8("\xf4\x8f\xbf\xbf"));
  CHECK_FALSE(is_valid_utf8("\x80"));
  CHECK_FALSE(is_valid_utf8("\xff"));
  CHECK_FALSE(is_valid_utf8("\xc0\xaf"));          // overlong '/'
  CHECK_FALSE(is_valid_utf8("\xe0\x80\xaf"));      // overlong '/'
  CHECK_FALSE(is_valid_utf8("\xed\xa0\x80"));      // a surrogate
  CHECK_FALSE(is_valid_utf8("\xf4\x90\x80\x80"));  // above U+10FFFF
  CHECK_FALSE(is_valid_utf8("\xe2\x82"));          // cut
  CHECK_FALSE(is_valid_utf8("\xc3("));
}

TEST_CASE("hostile names are shown harmlessly") {
  CHECK(escaped("layer1/weights") == "layer1/weights");
  CHECK(escaped("größe €") == "größe €");
  CHECK(escaped(std::string_view("a\0b", 3)) == "a\\x00b");
  CHECK(escaped("a\nb\tc\rd\\") == "a\\nb\\tc\\rd\\\\");
  CHECK(escaped("\x1b[31mred") == "\\x1b[31mred");
  CHECK(escaped("\xff\xfe") == "\\xff\\xfe");
  CHECK(escaped("\xc2\x9b") == "\\xc2\\x9b");               // a C1 control: CSI
  CHECK(escaped("\xe2\x80\xae") == "\\xe2\\x80\\xae");      // right-to-left override
  CHECK(escaped("\xef\xbb\xbfh1") == "\\xef\\xbb\\xbfh1");  // byte order mark
  CHECK(escaped("a\xc2\xa0"
                "b") ==
        "a\\xc2\\xa0"
        "b");                                             // a space that does not break
  CHECK(escaped("a\xe2\x80\x8b") == "a\\xe2\\x80\\x8b");  // a space without width
  CHECK(escaped("層/層") == "層/層");
}

TEST_CASE("long names are cut between characters") {
  CHECK(escaped(std::string(80, 'x')) == std::string(80, 'x'));
  CHECK(escaped(std::string(1'000'000, 'x')) == std::string(80, 'x') + "… (1000000 bytes)");
  CHECK(escaped("ééé", 5) == "éé… (6 bytes)");
  CHECK(escaped(std::string(3, '\0'), 9) == "\\x00\\x00… (3 bytes)");
}

TEST_CASE("whatever is escaped can be printed") {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string name(random() % 60, ' ');
    for (char& c : name) c = static_cast<char>(random());
    const std::string shown = escaped(name, 1000);
    CHECK(is_valid_utf8(shown));
    for (char c : shown) CHECK(static_cast<unsigned char>(c) >= 0x20);
  }
}

TEST_CASE("the nearest name is found") {
  const std::vector<std::string> ops = {"Add", "MatMul", "Mul", "Softmax", "LogSoftmax"};
  CHECK(nearest("Matmul", ops) == "MatMul");
  CHECK(nearest("MatMull", ops) == "MatMul");
  CHECK(nearest("MtaMul", ops) == "MatMul");  // neighbours swapped
  CHECK(nearest("softmx", ops) == "Softmax");
  CHECK(nearest("add", ops) == "Add");
  CHECK(nearest("Conv2D", ops).empty());
  CHECK(nearest("", ops).empty());
  CHECK(nearest("X", std::vector<std::string>{}).empty());
  CHECK(nearest(std::string(1'000'000, 'x'), ops).empty());
  CHECK(nearest("ab", std::vector<std::string>{"ac", "ad"}) == "ac");
}

TEST_CASE("sizes are readable") {
  CHECK(human_bytes(0) == "0 B");
  CHECK(human_bytes(1023) == "1023 B");
  CHECK(human_bytes(1024) == "1 KiB");
  CHECK(human_bytes(1536) == "1.5 KiB");
  CHECK(human_bytes(3ull << 30) == "3 GiB");
  CHECK(human_bytes((1ull << 30) - 1) == "1024 MiB");
  CHECK(human_bytes(std::numeric_limits<std::uint64_t>::max()) == "16 EiB");
}

TEST_CASE("join and split undo each other") {
  const std::vector<std::string> parts = {"a", "", "c"};
  CHECK(join(parts, ",") == "a,,c");
  CHECK(join({}, ",").empty());
  CHECK(split("a,,c", ',') == std::vector<std::string_view>{"a", "", "c"});
  CHECK(split("", ',') == std::vector<std::string_view>{""});
  CHECK(split(",", ',') == std::vector<std::string_view>{"", ""});
}

TEST_CASE("messages show no password") {
  CHECK(without_password("redis://:secret@host:6379/key") == "redis://***@host:6379/key");
  CHECK(without_password("redis://:with/a@slash@host/key") == "redis://***@host/key");
  CHECK(without_password("redis://host/key") == "redis://host/key");
  CHECK(without_password("file:/folder/a@b") == "file:/folder/a@b");
}

TEST_CASE("blanks at the ends are trimmed") {
  CHECK(trimmed(" \t a b \r\n") == "a b");
  CHECK(trimmed(" \n").empty());
}

TEST_SUITE_END();
