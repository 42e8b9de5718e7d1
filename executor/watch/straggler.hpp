// Straggler: a task for which the other tasks of its job wait in every step, and the cause.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {
/// A task for which other tasks wait.
struct Straggler {
  enum class Cause : std::uint8_t {
    slow,     ///< its computations take longer than the same computations of other tasks
    starved,  ///< they take longer because its thread does not get the whole core
    uneven    ///< the plan has more work for it than for the other tasks
  };
  int task = 0;               ///< its number in the job
  Cause cause = Cause::slow;  ///< why the others wait
  std::string op{};           ///< the op that loses the most time: "MatMul at model.cpp:40"; "" if uneven
  double slowdown = 0;  ///< 0.12: `op`, or if uneven all its computations, takes 12 % longer than on the other tasks
  double core = 1;      ///< the share of its core that it gets in `op`
  double cost = 0;      ///< 0.09: the job's steps could take 9 % less time
};

/// "slow", "starved", "uneven".
[[nodiscard]] std::string_view name_of(Straggler::Cause cause);
/// Returns a sentence, with a suggestion in a second line. `who`: "task 5 (host b, process 4711)".
[[nodiscard]] std::string text_of(const Straggler& straggler, std::string_view who);

}  // namespace ferry
#pragma GCC visibility pop
