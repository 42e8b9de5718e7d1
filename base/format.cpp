#include "base/format.hpp"

#include <charconv>

#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::string_view kInQuotes = ":?", kLimited = ":.";

std::size_t limit_of(std::string_view spec) {
  constexpr std::size_t kUsual = 80;
  if (!spec.starts_with(kLimited)) return kUsual;
  std::size_t limit = 0;
  std::from_chars(spec.data() + kLimited.size(), spec.data() + spec.size(), limit);
  return limit;
}

}  // namespace

void FormatArgument::append(std::string_view spec, std::string& to) const {
  switch (kind_) {
    case Kind::text:
      if (spec == kInQuotes) to += '"';
      to += escaped(text_, limit_of(spec));
      if (spec == kInQuotes) to += '"';
      return;
    case Kind::as_is:
      to += text_;
      return;
    case Kind::with_sign:
      to += std::to_string(static_cast<std::int64_t>(number_));
      return;
    case Kind::without_sign:
      to += std::to_string(number_);
      return;
  }
}

std::string formatted_text(std::string_view format, std::span<const FormatArgument> arguments) {
  std::string text;
  auto argument = arguments.begin();
  for (std::size_t at = 0; at < format.size(); ++at) {
    const char c = format[at];
    if (c != '{' && c != '}') {
      text += c;
    } else if (format[at + 1] == c) {
      text += c;
      ++at;
    } else {
      const std::size_t end = format.find('}', at);
      (argument++)->append(format.substr(at + 1, end - at - 1), text);
      at = end;
    }
  }
  return text;
}

}  // namespace ferry
