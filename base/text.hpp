// Text for messages: escaped names, "did you mean", readable sizes (base/format.hpp puts them together). All functions
// are pure and thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace ferry {

/// True when `text` is well-formed UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF).
/// NUL is well-formed.
[[nodiscard]] bool is_valid_utf8(std::string_view text);

/// `text` made safe for a message: some characters become `\n`, `\t`, `\r`, `\\` or `\xHH`. These are control
/// characters (NUL and C1 too), backslashes, line separators, marks that change the writing direction, invisible
/// characters (a byte order mark, a zero-width space), special blanks, and bytes that are not UTF-8. Other well-formed
/// UTF-8 stays. If the result has more than `limit` bytes, it is cut between characters and ends with "… (N bytes)",
/// where N is the size of `text`.
[[nodiscard]] std::string escaped(std::string_view text, std::size_t limit = 80);

/// The candidate most like `name`, for "did you mean": the candidate with the fewest insertions, deletions,
/// replacements and swaps of neighbours (optimal string alignment), ignoring the case of ASCII letters. Of several such
/// candidates, the first counts. Returns "" if each candidate needs more changes than a third of the longer name's
/// length (one change is always allowed), or if names have more than 128 bytes.
[[nodiscard]] std::string nearest(std::string_view name, std::span<const std::string> candidates);

/// 0 → "0 B", 1536 → "1.5 KiB", 3·2³⁰ → "3 GiB"; powers of 1024, at most one decimal.
[[nodiscard]] std::string human_bytes(std::uint64_t bytes);

/// "1 task", "2 tasks": for nouns with a plural in s.
[[nodiscard]] std::string plural(std::uint64_t count, std::string_view noun);

/// The parts with `separator` between them.
[[nodiscard]] std::string join(std::span<const std::string> parts, std::string_view separator);

/// The parts of `text` between the separators: the number of separators plus one, so split("", ',') is {""}. The views
/// point into `text`.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

/// A URL for a message: "redis://***@host/key" for "redis://:password@host/key". Other texts stay as they are.
[[nodiscard]] std::string without_password(std::string_view url);

/// `text` without the spaces, tabs, carriage returns and line feeds at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace ferry
#pragma GCC visibility pop
