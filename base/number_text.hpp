// Converts floating-point numbers to text. printf, to_string and streams write the decimal point of the program's
// locale, and a program may call setlocale; these functions always write ".". All are pure and thread-safe.
#pragma once

#include <cstddef>
#include <string>

#pragma GCC visibility push(default)
namespace ferry {

/// `value` rounded to `digits` significant digits, as printf's %.*g writes it in the locale "C": "0.125", "1e+20",
/// "inf". 17 digits identify each double.
[[nodiscard]] std::string digits_text(double value, int digits);

/// `value` rounded to `decimals` digits after the point, as printf's %.*f writes it in the locale "C": "73.0".
[[nodiscard]] std::string decimals_text(double value, int decimals);

/// A time in seconds as "0.870 ms".
[[nodiscard]] std::string milliseconds_text(double seconds);

/// `text` with spaces before it, so that it has at least `width` bytes.
[[nodiscard]] std::string right_aligned(std::string text, std::size_t width);

}  // namespace ferry
#pragma GCC visibility pop
