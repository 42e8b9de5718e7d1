// SlowLink: a connection between two hosts that carries far less than those between others do, while tasks wait for it.
#pragma once

#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

struct SlowLink {
  int from = 0, to = 0;  ///< tasks: the bytes of the first to the second
  double rate = 0;       ///< bytes a second while it has something to send
  double usual = 0;      ///< its traffic if it were like the other links
  double cost = 0;       ///< 0.6: the job's steps could take 60 % less time
};

/// In a sentence, with what to do in a second line; `from`, `to`: "task 5 (host b, process 4711)".
[[nodiscard]] std::string text_of(const SlowLink& link, std::string_view from, std::string_view to);

}  // namespace ferry
#pragma GCC visibility pop
