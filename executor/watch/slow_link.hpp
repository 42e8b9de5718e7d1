// SlowLink: a connection between two hosts that is far slower than the connections between others, while tasks wait for
// it.
#pragma once

#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

struct SlowLink {
  int from = 0, to = 0;  ///< the task that sends and the task that receives
  double rate = 0;       ///< bytes a second while there is something to send
  double usual = 0;      ///< the rate, in bytes a second, if the link were as fast as the other links
  double cost = 0;       ///< 0.6: the job's steps could take 60 % less time
};

/// Returns a sentence, with a suggestion in a second line. `from` and `to` are tasks: "task 5 (host b, process 4711)".
[[nodiscard]] std::string text_of(const SlowLink& link, std::string_view from, std::string_view to);

}  // namespace ferry
#pragma GCC visibility pop
