// Faults of plan files, by their numbers in README.md.
#include <doctest/doctest.h>

#include <cstring>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "plan/file/plan_file.hpp"
#include "tests/plan/plans.hpp"
#include "tests/support/has.hpp"

using namespace ferry;

namespace {

using ferry::test::has;

using Bytes = std::vector<std::byte>;

std::string refusal(std::span<const std::byte> bytes) {
  try {
    static_cast<void>(decode_plan(bytes, "bad.plan"));
  } catch (const Error& error) {
    CHECK(error.code() == Code::file);
    CHECK(error.text().starts_with("bad.plan: "));
    return error.text();
  }
  return "accepted";
}

template <class T>
void put(Bytes& bytes, std::size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Writes the length and the hash that fit the bytes into their head, as a forger would.
Bytes framed(Bytes bytes) {
  const std::span<const std::byte> body = std::span<const std::byte>(bytes).subspan(kPlanHeadBytes);
  put<std::uint64_t>(bytes, 16, body.size());
  put<std::uint64_t>(bytes, 24, hash64(body, kPlanVersion));
  return bytes;
}

const Bytes kWhole = encode_plan(test::every_field());

}  // namespace

TEST_CASE("001 empty plan file") {
  CHECK(has(refusal({}), "the file is empty"));
}

TEST_CASE("002 plan file cut at any byte") {
  for (std::size_t size = 0; size < kWhole.size(); ++size)
    CHECK_MESSAGE(refusal(std::span(kWhole).first(size)) != "accepted", "cut after ", size);
  for (std::size_t size = kPlanHeadBytes; size + 8 < kWhole.size(); ++size)  // the end may be padding
    CHECK_MESSAGE(
        refusal(framed(Bytes(kWhole.begin(), kWhole.begin() + static_cast<std::ptrdiff_t>(size)))) != "accepted",
        "cut and framed after ", size);
}

TEST_CASE("003 any bit of a plan file flipped") {
  for (std::size_t bit = 0; bit < 8 * kWhole.size(); ++bit) {
    Bytes flipped = kWhole;
    flipped[bit / 8] ^= std::byte{1} << static_cast<int>(bit % 8);
    CHECK_MESSAGE(refusal(flipped) != "accepted", "bit ", bit);
  }
}

TEST_CASE("004 wrong magic of a plan") {
  Bytes wrong = kWhole;
  wrong[2] = std::byte{'x'};
  CHECK(has(refusal(wrong), "not a plan file"));
}

TEST_CASE("005 newer plan format names both versions") {
  Bytes newer = kWhole;
  put<std::uint32_t>(newer, 8, 7);
  CHECK(has(refusal(newer), "version 7; this ferry reads version 6"));
}

TEST_CASE("006 trailing bytes after a plan") {
  Bytes longer = kWhole;
  longer.resize(longer.size() + 3);
  CHECK(has(refusal(longer), "3 bytes follow the end"));
}

TEST_CASE("007 plan over the size limit") {
  Bytes large = kWhole;
  put<std::uint64_t>(large, 16, kMaxPlanBytes + 1);
  CHECK(has(refusal(large), "more than the"));
}

TEST_CASE("028 flatbuffers offsets outside the file, and any other word changed with the hash right") {
  for (std::size_t at = kPlanHeadBytes; at + 4 <= kWhole.size(); at += 4)
    for (std::uint32_t value : {0U, 1U, 0x7fffffffU, 0x80000000U, 0xffffffffU, 0xfffffff0U}) {
      Bytes changed = kWhole;
      put(changed, at, value);
      static_cast<void>(refusal(framed(changed)));  // refused, or a well-formed plan: never a crash
    }
  Bytes root = kWhole;
  put(root, kPlanHeadBytes, 0x7ffffff0U);
  CHECK(has(refusal(framed(root)), "an offset leads outside the file"));
}

TEST_CASE("029 overlapping or misaligned buffers of a plan") {
  Plan plan = test::every_field();
  plan.classes[0].buffers[0].bytes += 4;
  CHECK(has(refusal(encode_plan(plan)), "the bytes of a buffer do not fit its dims"));
}
