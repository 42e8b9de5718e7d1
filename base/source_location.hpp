// The source line of a call: part of ferry's interface.
#pragma once

#include <cstdint>
#include <source_location>

#pragma GCC visibility push(default)
namespace ferry {

#if defined(__cpp_lib_source_location)
using source_location = std::source_location;
#else
/// A substitute for std::source_location with clang++-14, for which the standard library has none.
class source_location {
 public:
  static constexpr source_location current(const char* file = __builtin_FILE(),
                                           std::uint_least32_t line = __builtin_LINE()) noexcept {
    source_location at;
    at.file_ = file;
    at.line_ = line;
    return at;
  }
  [[nodiscard]] constexpr const char* file_name() const noexcept { return file_; }
  [[nodiscard]] constexpr std::uint_least32_t line() const noexcept { return line_; }

 private:
  const char* file_ = "";
  std::uint_least32_t line_ = 0;
};
#endif

}  // namespace ferry
#pragma GCC visibility pop
