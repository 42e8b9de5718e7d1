#include "base/files/compress.hpp"

#include <doctest/doctest.h>
#include <zstd.h>

#include <string>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "tests/support/damage.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

using test::error_of;

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

std::string gzipped(std::string_view text) {
  return std::string(gzip(bytes_of(text)).text());
}

std::string zstd(std::string_view text, bool checksum = false) {
  ZSTD_CCtx* context = ZSTD_createCCtx();
  ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum ? 1 : 0);
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress2(context, packed.data(), packed.size(), text.data(), text.size()));
  ZSTD_freeCCtx(context);
  return packed;
}

std::string unpacked(std::string_view packed, std::uint64_t limit = 1 << 20) {
  return std::string(maybe_decompress(FileBytes(packed), limit, "x").text());
}

// Words that compress somewhat, so that all kinds of blocks appear.
std::string sample(std::size_t size) {
  std::string text;
  for (unsigned i = 1; text.size() < size; i = i * 1103515245u + 12345u) text += std::to_string(i % 1000) + ' ';
  return text.substr(0, size);
}

TEST_SUITE_BEGIN("base/compress");

TEST_CASE("compress: what was packed is unpacked, at any size") {
  for (const std::size_t size : {0, 1, 100, 65535, 65536, 65537, 300'000}) {
    const std::string text = sample(size);
    CHECK(unpacked(gzipped(text)) == text);
    CHECK(unpacked(zstd(text)) == text);
    CHECK(unpacked(text) == text);
  }
}

TEST_CASE("compress: files of several parts") {
  CHECK(unpacked(gzipped("one") + gzipped("") + gzipped("two")) == "onetwo");
  CHECK(unpacked(zstd("one") + zstd("two")) == "onetwo");
  std::string skipped("\x50\x2a\x4d\x18\x03\0\0\0abc", 11);
  for (char first = 0x50; first <= 0x5f; ++first) {
    skipped[0] = first;
    CHECK(unpacked(zstd("one") + skipped) == "one");
    CHECK(unpacked(skipped + zstd("one")) == "one");
  }
}

TEST_CASE("compress: the limit is exact") {
  const std::string text = sample(70'000);
  for (const std::string& packed : {gzipped(text), zstd(text), text}) {
    CHECK(unpacked(packed, text.size()) == text);
    const Error error = error_of([&] { (void)unpacked(packed, text.size() - 1); });
    CHECK(error.code() == Code::file);
    CHECK(error.text().find("limit") != std::string::npos);
  }
  CHECK(unpacked(gzipped(""), 0).empty());
  CHECK(unpacked(zstd(""), 0).empty());
}

TEST_CASE("compress: zeros behind gzip data are no data, as for gzip") {
  const std::string padding(100, '\0');
  CHECK(unpacked(gzipped("one") + padding) == "one");
  CHECK(unpacked(gzipped("one") + padding + gzipped("two")) == "onetwo");
  CHECK(error_of([&] { (void)unpacked(gzipped("one") + padding + "x"); }).code() == Code::file);
}

TEST_CASE("compress: bombs are refused") {
  const std::string zeros(20'000'000, '\0');
  CHECK(gzipped(zeros).size() < 30'000);
  CHECK(error_of([&] { (void)unpacked(gzipped(zeros)); }).code() == Code::file);
  CHECK(error_of([&] { (void)unpacked(zstd(zeros)); }).code() == Code::file);
}

TEST_CASE("compress: damage is told") {
  const auto reason = [](const std::string& packed) { return error_of([&] { (void)unpacked(packed); }).text(); };
  const std::string gz = gzipped("hello"), zs = zstd("hello", true);
  CHECK(reason(gz.substr(0, gz.size() - 1)).find("cut short") != std::string::npos);
  CHECK(reason(zs.substr(0, zs.size() - 1)).find("cut short") != std::string::npos);
  std::string wrong_sum = gz;
  wrong_sum[gz.size() - 8] = static_cast<char>(wrong_sum[gz.size() - 8] ^ 1);
  CHECK(reason(wrong_sum).find("incorrect data check") != std::string::npos);
  CHECK(reason(gz + "x").find("\"x\": gzip: ") == 0);
  CHECK(reason(zs + "x").find("\"x\": zstd: ") == 0);
}

TEST_CASE("compress: cut or flipped anywhere, it is refused or gives no more than the limit") {
  const std::string text = sample(300);
  const auto read = [](const std::string& file) {
    const std::string text_or_part = unpacked(file, 1000);
    CHECK(text_or_part.size() <= 1000);
  };
  for (const std::string& good : {gzipped(text), zstd(text, true)}) {
    // A file that is cut within its magic number is not recognised as packed, and is read as plain.
    CHECK(test::cut_everywhere(good, read) <= 4);
    test::flip_everywhere(good, read);
  }
}

TEST_CASE("compress: a flipped bit in packed data does not change the content unnoticed") {
  const std::string text = sample(300);
  const std::string good = gzipped(text);
  for (std::size_t bit = 10 * 8; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << (bit % 8)));
    test::taken(bad, [&](const std::string& file) {
      const std::string content = unpacked(file);
      CHECK(content == text);
    });
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace ferry
