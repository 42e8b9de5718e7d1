// Straggler: a task for which the others of its job wait in every step, and why.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#pragma GCC visibility push(default)
namespace ferry {

struct Straggler {
  enum class Cause : std::uint8_t {
    slow,     ///< it computes the same more slowly than the others do
    starved,  ///< so it does, since it does not get its core
    uneven    ///< the plan gives it more to compute than the others
  };
  int task = 0;
  Cause cause = Cause::slow;
  std::string op{};     ///< where it loses most time: "MatMul at model.cpp:40"; "" if uneven
  double slowdown = 0;  ///< 0.12: `op`, or if uneven all that it computes, takes 12 % longer than with the others
  double core = 1;      ///< how much of its core it gets in `op`
  double cost = 0;      ///< 0.09: the job's steps could take 9 % less time
};

/// "slow", "starved", "uneven".
[[nodiscard]] std::string_view name_of(Straggler::Cause cause);
/// In a sentence, with what to do in a second line; `who`: "task 5 (host b, process 4711)".
[[nodiscard]] std::string text_of(const Straggler& straggler, std::string_view who);

}  // namespace ferry
#pragma GCC visibility pop
