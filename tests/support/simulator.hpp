// A machine for plans, independent of the verifier: all tasks walk their instructions, collectives are spelt out as the
// sends, receives and folds of their schedules, and nothing is buffered: a message moves when both ends have started
// it, at any moment until one of them has waited for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "placement/plan.hpp"

namespace ferry::test {

/// Bytes of a task that an action reads or writes, as numbers of its 64-byte blocks; `owner` is the buffer whose value
/// they are.
struct Touch {
  std::uint32_t arena = 0;
  std::uint64_t first = 0, last = 0;  ///< blocks [first, last)
  std::uint32_t owner = 0;
};

/// One thing that a task does. Loops and branches are unrolled.
struct Action {
  enum class Kind : std::uint8_t { compute, start_send, start_receive, wait_send, wait_receive };
  Kind kind = Kind::compute;
  std::size_t message = 0;  ///< of all but compute: index into Script::messages
  std::uint64_t what = 0;   ///< tells actions apart, for the values they make
  std::vector<Touch> reads, writes;
};

/// A message: who sends and receives it, and which of their actions start it (kNever: nobody does).
struct Message {
  static constexpr std::size_t kNever = ~std::size_t{0};
  std::size_t from = 0, to = 0;  ///< tasks
  std::size_t send = kNever, receive = kNever;
};

/// What all tasks do in setup and steps, in order.
struct Script {
  std::vector<std::vector<Action>> tasks;
  std::vector<Message> messages;
  bool reused = false;  ///< a channel is started again before it was waited for
};

/// Unrolls the setup and `steps` steps. How often a loop repeats (0 to 2) and which branch is taken, the seed decides
/// alike for all tasks.
[[nodiscard]] Script unroll(const Plan& plan, int steps, std::uint64_t seed);

/// Runs until nothing can move. Empty, or who waits for what: "task 1 waits for task 0 to send".
[[nodiscard]] std::string run(const Script& script);

/// What can happen in some order of events.
struct Exploration {
  std::size_t states = 0;
  bool complete = true;  ///< false: more states than the limit
  bool stalls = false;   ///< a state that is not the end and has no next one
  bool races = false;    ///< a value that depends on the order, or that is not the one its reader wants
  [[nodiscard]] bool good() const { return complete && !stalls && !races; }
};

/// Follows every order of the tasks' actions and of the messages' moves, each state once.
[[nodiscard]] Exploration explore(const Script& script, std::size_t limit);

}  // namespace ferry::test
