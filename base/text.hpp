// Text: names in messages, "did you mean", sizes that people can read. All functions are pure and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

/// True when `text` is well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
/// NUL is well-formed.
[[nodiscard]] bool is_valid_utf8(std::string_view text);

/// `text` made fit for a message, whatever it holds: control characters, NUL, backslashes, and bytes that are not UTF-8
/// become \n, \t, \\ or \xHH; well-formed UTF-8 stays, but for C1 controls and marks that change the writing
/// direction. Longer than `limit` bytes, it is cut between characters and ends as "… (N bytes)".
[[nodiscard]] std::string escaped(std::string_view text, std::size_t limit = 80);

/// escaped(text) between double quotes: how messages show a name.
[[nodiscard]] std::string in_quotes(std::string_view text);

/// The candidate most like `name`, for "did you mean": the fewest insertions, deletions, replacements and swaps of
/// neighbours (optimal string alignment), letters compared without case. "" when none is near: more than a third of the
/// longer name would change. The first one where several are equally near.
[[nodiscard]] std::string nearest(std::string_view name, std::span<const std::string> candidates);

/// 0 → "0 B", 1536 → "1.5 KiB", 3·2³⁰ → "3 GiB"; powers of 1024, at most one decimal.
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

/// "1 task", "2 tasks": for nouns whose plural ends in s.
[[nodiscard]] std::string plural(std::uint64_t count, std::string_view noun);

/// The parts with `separator` between them.
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);

/// The parts of `text` between the separators: always one more than there are separators, so split("", ',') is {""}.
/// The views point into `text`.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// `text` without the spaces, tabs, carriage returns and line feeds at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace ferry
