#include "base/numbers.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace ferry {
namespace {

/// The text of the error that `read` throws; "" when it throws none.
std::string refusal(const std::function<void()>& read) {
  try {
    read();
  } catch (const Error& error) {
    CHECK(error.code() == Code::usage);
    return error.text();
  }
  return "";
}

/// The rejected value as the error shows it, between the option's name and the reason.
std::string shown(std::string_view text) {
  return text.empty() ? ": empty, " : " " + std::string(text) + ": ";
}

TEST_CASE("a number in a text keeps all bits of its type, or has a fault") {
  const auto integer = [](std::string_view text, auto number) {
    const NumberFault fault = parse_integer(text, number);
    return std::pair(fault, number);
  };
  constexpr auto kNone = NumberFault::none;
  constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min();
  for (const std::string_view text :
       {"9007199254740993", "+9007199254740993", "9007199254740993.0", "9007199254740993e0", "0.9007199254740993e16",
        "9007199254740993000e-3", "0009007199254740993."})
    CHECK(integer(text, std::int64_t{}) == std::pair(kNone, std::int64_t{9007199254740993}));
  CHECK(integer("-9223372036854775808", std::int64_t{}) == std::pair(kNone, kLeast));
  CHECK(integer("18446744073709551615", std::uint64_t{}) ==
        std::pair(kNone, std::numeric_limits<std::uint64_t>::max()));
  CHECK(integer("-0", std::uint8_t{}) == std::pair(kNone, std::uint8_t{0}));
  CHECK(integer("0e999999999999999999999", std::uint8_t{}) == std::pair(kNone, std::uint8_t{0}));
  CHECK(integer("1", false) == std::pair(kNone, true));
  for (const std::string_view text : {"9223372036854775808", "-9223372036854775809", "1e19", "1e999999999999999999999"})
    CHECK(integer(text, std::int64_t{}).first == NumberFault::out_of_range);
  CHECK(integer("-1", std::uint64_t{}).first == NumberFault::out_of_range);
  CHECK(integer("256", std::uint8_t{}).first == NumberFault::out_of_range);
  CHECK(integer("2", false).first == NumberFault::out_of_range);
  for (const std::string_view text : {"1.5", "1e-3", "inf", "nan", "9007199254740993.5"})
    CHECK(integer(text, std::int64_t{}).first == NumberFault::not_whole);
  for (const std::string_view text : {"", "+", "-", ".", "1x", "0x10", "+-2", "1e", "1e+-2", "1.2.3", " 1", "one"})
    CHECK(integer(text, std::int64_t{}).first == NumberFault::no_number);

  const auto real = [](std::string_view text) {
    float number = 7;
    const NumberFault fault = parse_real(text, number);
    return std::pair(fault, number);
  };
  CHECK(real("16777217.00000000000001") == std::pair(kNone, 16777218.0F));  // by way of float64 it is 16777216
  CHECK(real("1e-40") == std::pair(kNone, 1e-40F));
  CHECK(real("1e-46") == std::pair(kNone, 0.0F));
  CHECK(std::signbit(real("-1e-400").second));
  CHECK(real("0.00001e-99999999999999999999") == std::pair(kNone, 0.0F));
  CHECK(real("+inf") == std::pair(kNone, std::numeric_limits<float>::infinity()));
  CHECK(real("1e39") == std::pair(NumberFault::out_of_range, 7.0F));
  CHECK(real("100000000000000000000e20").first == NumberFault::out_of_range);
  CHECK(real("+-1").first == NumberFault::no_number);
  double number = 0;
  CHECK(parse_real("1e-400", number) == kNone);
  CHECK(number == 0);
}

TEST_CASE("whole numbers are decimal, whole and within their bounds") {
  constexpr std::int64_t kMost = 9000;
  const auto read = [&](std::string_view text) { return whole_number("--steps", text, std::int64_t{1}, kMost); };
  CHECK(read("1") == 1);
  CHECK(read("9000") == 9000);
  CHECK(read("010") == 10);
  for (const std::string_view text : {"", "0", "-1", "9001", "1.5", "1e3", "0x10", " 1", "1 ", "+1", "nan", "one",
                                      "99999999999999999999", "18446744073709551617"})
    CHECK(refusal([&] { static_cast<void>(read(text)); }) ==
          "--steps" + shown(text) + "not a whole number from 1 to 9000");
  constexpr std::uint64_t kAll = std::numeric_limits<std::uint64_t>::max();
  CHECK(whole_number("--seed", "18446744073709551615", std::uint64_t{0}, kAll) == kAll);
  CHECK(refusal([&] { static_cast<void>(whole_number("--seed", "-1", std::uint64_t{0}, kAll)); }) ==
        "--seed -1: not a whole number from 0 to 18446744073709551615");
}

TEST_CASE("a time span is finite and above zero") {
  CHECK_NOTHROW(require_time("deadline", std::chrono::milliseconds(1)));
  CHECK(refusal([] { require_time("deadline", std::chrono::milliseconds(0)); }) ==
        "deadline: 0 s is not from 0.001 s to 1000000000 s");
  CHECK_NOTHROW(require_range("keep", 1, 1, 9));
  CHECK(refusal([] { require_range("keep", 0, 1, 9); }) == "keep: 0 is not from 1 to 9");
  CHECK(refusal([] { require_range("seconds", std::nan(""), 0.0, 1.5); }) == "seconds: nan is not from 0 to 1.5");
  CHECK(time_span("--deadline", "60").count() == 60'000);
  CHECK(time_span("--deadline", "0.5").count() == 500);
  CHECK(time_span("--deadline", "1e3").count() == 1'000'000);
  for (const std::string_view text : {"", "0", "-1", "nan", "inf", "1e308", "1e-9", "5 s", "1e999"})
    CHECK(refusal([&] { static_cast<void>(time_span("--deadline", text)); }) ==
          "--deadline" + shown(text) + "not a number of seconds from 0.001 to 1000000000");
}

TEST_CASE("bytes have units of either case, and do not wrap") {
  CHECK(byte_count("--memory", "4096") == 4096);
  CHECK(byte_count("--memory", "512k") == 512 << 10);
  CHECK(byte_count("--memory", "2GB") == std::uint64_t{2} << 30);
  CHECK(byte_count("--memory", "1 GiB") == std::uint64_t{1} << 30);
  CHECK(byte_count("--memory", "8191pb") == std::uint64_t{8191} << 50);
  for (const std::string_view text :
       {"", "0", "-1", "GB", "1.5GB", "2XB", "8192PB", "9223372036854775808", "99999999999999999999", "1 2"})
    CHECK(refusal([&] { static_cast<void>(byte_count("--memory", text)); }) ==
          "--memory " + std::string(text) + ": not a number of bytes from 1 to 8191 PiB\n  try: --memory 2GB");
}

}  // namespace
}  // namespace ferry
