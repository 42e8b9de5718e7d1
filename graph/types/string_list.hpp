// StringList: many short strings, one after another in one buffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <string_view>
#include <vector>

#include "base/error.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// A list of strings that takes four bytes per string besides the characters. Views into it are valid until the next
/// push_back(). Not thread-safe while it changes.
class StringList {
 public:
  StringList() = default;
  StringList(std::initializer_list<std::string_view> strings) {
    for (std::string_view text : strings) push_back(text);
  }

  /// Throws Error(resource) beyond 4 GiB of text.
  void push_back(std::string_view text) {
    if (text.size() > std::numeric_limits<std::uint32_t>::max() - chars_.size())
      throw Error(Code::resource, "more than 4 GiB of names");
    chars_.insert(chars_.end(), text.begin(), text.end());
    ends_.push_back(static_cast<std::uint32_t>(chars_.size()));
  }
  [[nodiscard]] std::string_view operator[](std::size_t i) const {
    const std::size_t begin = i == 0 ? 0 : ends_[i - 1];
    return {chars_.data() + begin, ends_[i] - begin};
  }
  [[nodiscard]] std::size_t size() const { return ends_.size(); }

  bool operator==(const StringList&) const = default;

 private:
  std::vector<char> chars_;
  std::vector<std::uint32_t> ends_;  // the end of each string in `chars_`
};

}  // namespace ferry
#pragma GCC visibility pop
