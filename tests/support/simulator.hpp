// An abstract machine that runs plans, independent of the verifier. All tasks walk through their instructions, and
// nothing is buffered: a message moves at any moment after both ends have started it, before the wait of either ends.
// A walker of its own does each collective, as the sends and receives of its schedule, at any moment between its start
// and the wait for it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace ferry::test {

/// Bytes of a task that an action reads or writes, as numbers of its 64-byte blocks; `owner` is the buffer whose value
/// they are.
struct Touch {
  std::uint32_t arena = 0;
  std::uint64_t first = 0, last = 0;  ///< blocks [first, last)
  std::uint32_t owner = 0;
};

/// One thing that a walker does. Loops and branches are unrolled.
struct Action {
  enum class Kind : std::uint8_t { compute, start_send, start_receive, wait_send, wait_receive, wait_walker };
  Kind kind = Kind::compute;
  std::size_t target = 0;  ///< index into Script::messages, or the walker to wait for
  std::uint64_t what = 0;  ///< differs between actions, and so do the values that they make
  std::vector<Touch> reads, writes;
};

/// What a task does, or what one of its collectives does meanwhile.
struct Walker {
  static constexpr std::size_t kNever = ~std::size_t{0};
  std::size_t task = 0;
  std::size_t parent = kNever, start = 0;  ///< begins after that action of that walker; kNever: at once
  std::vector<Action> actions;
};

/// A message: between which tasks, and which walkers start it with which of their actions (kNever: nobody does).
struct Message {
  struct End {
    std::size_t walker = 0, action = Walker::kNever;
  };
  std::size_t from = 0, to = 0;
  End send, receive;
};

/// The actions of all tasks in setup and steps, in order: first a walker for each task, then those of their
/// collectives.
struct Script {
  std::vector<Walker> walkers;
  std::vector<Message> messages;
  bool reused = false;  ///< a channel or collective is started again before it was waited for
};

/// Unrolls the setup and `steps` steps. The seed decides how often a loop repeats (0 to 2) and which branch is taken,
/// alike for all tasks.
[[nodiscard]] Script unroll(const Plan& plan, int steps, std::uint64_t seed);

/// Runs until nothing can move. Returns "" when all has ended, else who waits: "task 1 waits for task 0 to send".
[[nodiscard]] std::string run(const Script& script);

/// What can happen in some order of events.
struct Exploration {
  std::size_t states = 0;
  bool complete = true;  ///< false: more states than the limit
  bool stalls = false;   ///< a state that is not the end and has no next one
  bool races = false;    ///< a value that depends on the order, or that is not the one its reader wants
  [[nodiscard]] bool good() const { return complete && !stalls && !races; }
};

/// Explores every order of the walkers' actions and of the messages' moves, each state once.
[[nodiscard]] Exploration explore(const Script& script, std::size_t limit);

}  // namespace ferry::test
