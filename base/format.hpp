// formatted(): builds the texts of messages. It escapes names, so that no name can break a line, hide the end of a
// line, or look like another name.
//
//     formatted("the feed '{}' has {} rows", name, rows)
//     formatted("{:?}: the folder cannot be made: {:.400}", path, reason)
//
// `Error`, and its functions hint() and note(), take the same arguments.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/id.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Text that a message shows without escaping it, because its names are escaped already.
struct AsIs {
  std::string_view text;
};
[[nodiscard]] inline AsIs as_is(std::string_view text) {
  return {text};
}

/// An argument of formatted(): a whole number, or text that outlives the call.
class FormatArgument {
 public:
  // NOLINTBEGIN(google-explicit-constructor): arguments of messages are written without a type.
  FormatArgument(std::string_view text) : text_(text) {}
  FormatArgument(const std::string& text) : text_(text) {}
  FormatArgument(const char* text) : text_(text) {}
  FormatArgument(AsIs text) : kind_(Kind::as_is), text_(text.text) {}
  template <std::integral Number>
  FormatArgument(Number number)
      : kind_(std::is_signed_v<Number> ? Kind::with_sign : Kind::without_sign),
        number_(static_cast<std::uint64_t>(number)) {}
  template <class Of>
  FormatArgument(Id<Of> id) : FormatArgument(id.number()) {}
  FormatArgument(char) = delete;  // ambiguous: a number or text
  FormatArgument(bool) = delete;
  // NOLINTEND(google-explicit-constructor)

  /// Appends the argument to `to`. `spec` is the text between the braces of the format.
  void append(std::string_view spec, std::string& to) const;

 private:
  enum class Kind : std::uint8_t { text, as_is, with_sign, without_sign };

  Kind kind_ = Kind::text;
  std::string_view text_;
  std::uint64_t number_ = 0;
};

/// A string literal with one placeholder, such as `{}`, for each argument. Other literals do not compile.
template <class... Arguments>
class FormatString {
 public:
  template <std::size_t kSize>
  consteval FormatString(const char (&literal)[kSize]) : text_(literal, kSize - 1) {  // NOLINT
    std::size_t places = 0;
    for (std::size_t at = 0; at < text_.size(); ++at) {
      if (text_[at] != '{' && text_[at] != '}') continue;
      if (at + 1 < text_.size() && text_[at + 1] == text_[at]) {
        ++at;
        continue;
      }
      if (text_[at] == '}') throw "a '}' without '{'";
      const std::size_t end = text_.find('}', at);
      if (end == std::string_view::npos) throw "a '{' without '}'";
      if (!is_known(text_.substr(at + 1, end - at - 1))) throw "between '{' and '}' is no format that ferry knows";
      at = end;
      ++places;
    }
    if (places != sizeof...(Arguments)) throw "the format has not one place for each argument";
  }
  [[nodiscard]] std::string_view text() const { return text_; }

 private:
  static consteval bool is_known(std::string_view spec) {
    if (spec.empty() || spec == ":?") return true;
    return spec.size() > 2 && spec.starts_with(":.") &&
           spec.find_first_not_of("0123456789", 2) == std::string_view::npos;
  }

  std::string_view text_;
};

/// The type of a format parameter: a call deduces `Arguments` from its other parameters alone.
template <class... Arguments>
using Format = FormatString<std::type_identity_t<Arguments>...>;

[[nodiscard]] std::string formatted_text(std::string_view format, std::span<const FormatArgument> arguments);

/// The format with arguments in place of its placeholders: `{}` shows a number, or text by escaped() (base/text.hpp);
/// `{:?}` shows text by escaped() in double quotes; `{:.N}` shows text of at most N bytes. `{{` and `}}` are braces.
template <class... Arguments>
[[nodiscard]] std::string formatted(Format<Arguments...> format, const Arguments&... arguments) {
  const FormatArgument all[] = {arguments...};
  return formatted_text(format.text(), all);
}

}  // namespace ferry
#pragma GCC visibility pop
