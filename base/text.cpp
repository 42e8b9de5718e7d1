#include "base/text.hpp"

#include <algorithm>
#include <array>

#include "base/ascii.hpp"

namespace ferry {
namespace {

constexpr std::size_t kLongestComparedName = 128;

struct Character {
  std::size_t bytes = 0;  // 0: not UTF-8
  std::uint32_t code = 0;
};

bool continues(unsigned char byte) {
  return (byte & 0xC0u) == 0x80u;
}

// The length that a character's first byte announces, and the bits of the code point in that byte.
Character announced(unsigned char first) {
  if (first < 0x80u) return {1, first};
  if ((first & 0xE0u) == 0xC0u) return {2, first & 0x1Fu};
  if ((first & 0xF0u) == 0xE0u) return {3, first & 0x0Fu};
  if ((first & 0xF8u) == 0xF0u) return {4, first & 0x07u};
  return {};
}

Character first_character(std::string_view text) {
  constexpr std::array<std::uint32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  Character c = announced(static_cast<unsigned char>(text.front()));
  if (c.bytes == 0 || c.bytes > text.size()) return {};
  for (std::size_t i = 1; i < c.bytes; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (!continues(byte)) return {};
    c.code = (c.code << 6) | (byte & 0x3Fu);
  }
  const bool surrogate = c.code >= 0xD800 && c.code <= 0xDFFF;
  if (c.code < kSmallest[c.bytes] || surrogate || c.code > 0x10FFFF) return {};
  return c;
}

// Whether a character moves the cursor, reorders the text after it, is invisible, or looks like a blank. With an
// invisible character, such as a byte order mark, a no-break space or a zero-width space, a wrong name would look
// right.
bool must_be_escaped(std::uint32_t code) {
  struct Range {
    std::uint32_t first, last;
  };
  constexpr Range kRanges[] = {
      {0x00, 0x1F},     {0x7F, 0xA0},     {0xAD, 0xAD},     {0x34F, 0x34F},   {0x61C, 0x61C},   {0x115F, 0x1160},
      {0x1680, 0x1680}, {0x17B4, 0x17B5}, {0x180E, 0x180E}, {0x2000, 0x200F}, {0x2028, 0x202F}, {0x205F, 0x206F},
      {0x3000, 0x3000}, {0x3164, 0x3164}, {0xFEFF, 0xFEFF}, {0xFFA0, 0xFFA0}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE0FFF}};
  const bool usual = code > 0x1F && code < 0x7F;
  return !usual &&
         std::ranges::any_of(kRanges, [&](const Range& range) { return range.first <= code && code <= range.last; });
}

std::string hex_escape(std::string_view bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string out;
  for (char raw : bytes) {
    const auto byte = static_cast<unsigned char>(raw);
    out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return out;
}

std::string escaped_character(std::string_view bytes, const Character& c) {
  if (c.bytes == 0) return hex_escape(bytes);
  switch (c.code) {
    case '\n':
      return "\\n";
    case '\t':
      return "\\t";
    case '\r':
      return "\\r";
    case '\\':
      return "\\\\";
    default:
      return must_be_escaped(c.code) ? hex_escape(bytes) : std::string(bytes);
  }
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = last[j - 1] + (lower_case(a[i - 1]) == lower_case(b[j - 1]) ? 0 : 1);
      row[j] = std::min({replaced, last[j] + 1, row[j - 1] + 1});
      const bool swapped = i > 1 && j > 1 && lower_case(a[i - 1]) == lower_case(b[j - 2]) &&
                           lower_case(a[i - 2]) == lower_case(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const Character c = first_character(text);
    if (c.bytes == 0) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

std::string escaped(std::string_view text, std::size_t limit) {
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const Character c = first_character(rest);
    const std::string_view bytes = rest.substr(0, std::max<std::size_t>(c.bytes, 1));
    const std::string shown = escaped_character(bytes, c);
    if (out.size() + shown.size() > limit) return out + "… (" + std::to_string(text.size()) + " bytes)";
    out += shown;
    rest.remove_prefix(bytes.size());
  }
  return out;
}

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
  if (name.empty() || name.size() > kLongestComparedName) return {};
  std::string best;
  std::size_t best_distance = kLongestComparedName;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestComparedName) continue;
    const std::size_t near_enough = std::max<std::size_t>(1, std::max(name.size(), candidate.size()) / 3);
    const std::size_t distance = edit_distance(name, candidate);
    if (distance > near_enough || distance >= best_distance) continue;
    best = candidate;
    best_distance = distance;
  }
  return best;
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 7> kUnits = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  std::uint64_t size = 1;
  while (unit + 1 < kUnits.size() && bytes / size >= 1024) {
    size *= 1024;
    ++unit;
  }
  std::uint64_t whole = bytes / size;
  std::uint64_t tenths = (bytes % size) / (size >= 1024 ? size / 1024 : 1);  // 1024ths of the unit
  tenths = size == 1 ? 0 : (tenths * 10 + 512) / 1024;
  if (tenths == 10) {
    ++whole;
    tenths = 0;
  }
  std::string text = std::to_string(whole);
  if (tenths != 0) text += "." + std::to_string(tenths);
  return text.append(" ").append(kUnits[unit]);
}

std::string plural(std::uint64_t count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

std::string join(std::span<const std::string> parts, std::string_view separator) {
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i != 0) out += separator;
    out += parts[i];
  }
  return out;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string without_password(std::string_view url) {
  const std::size_t slashes = url.find("://"), at = url.rfind('@');
  if (slashes == std::string_view::npos || at == std::string_view::npos || at < slashes) return std::string(url);
  return std::string(url.substr(0, slashes)) + "://***" + std::string(url.substr(at));
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

}  // namespace ferry
