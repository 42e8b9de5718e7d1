// Position: where a task is in its work, as its own thread says it and another thread reads it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "executor/watch/pulse.hpp"

namespace ferry {

/// A plan that is being run, as seen from another thread.
class RunningPlan {
 public:
  virtual ~RunningPlan() = default;
  /// Changes when the task continues with another instruction.
  [[nodiscard]] virtual std::uint64_t spot() const = 0;
  /// The instruction that computes, in words; nothing when none does. `first_waits`: walker 0 waits for other tasks.
  [[nodiscard]] virtual std::optional<std::string> computes(bool first_waits) const = 0;
};

/// What a task waits for within a plan or in a direct call.
struct Awaited {
  std::string text;                 ///< "receive of 'w' from task 1 at train.cpp:40"
  std::uint64_t where = 0;          ///< as Pulse::where
  std::vector<std::int64_t> tasks;  ///< that it needs something from
  std::uint64_t place = 0;          ///< as Pulse::place
  /// Not given: until goes_on(). Of a task that tests now and then: until then, unless it tests again.
  std::optional<TimePoint> until = {};
};

/// One per task. The task's thread reports; the watch's thread calls pulse(). Frequent reports cost one store each.
class Position {
 public:
  /// Made by the task's thread, or by one that stands for it until its first call.
  explicit Position(int task);

  /// A call of the session, in words, while it lives. Calls may nest. `requesters`: the call begins when all tasks have
  /// made it, and these tasks may take as long as they like: until begins(), the task waits for their next request.
  class Call {
   public:
    Call(Position* position, std::string what, std::span<const std::int32_t> requesters = {});
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    Position* const position_;
    std::optional<std::string> before_;
  };
  /// All tasks have made the call.
  void begins();
  /// A run of a plan, while it lives.
  class Run {
   public:
    Run(Position* position, const RunningPlan& plan);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    Position* const position_;
  };
  /// Between two steps of a run, while it lives: what the task does then is not the plan's.
  class Between {
   public:
    explicit Between(Position* position);
    ~Between();
    Between(const Between&) = delete;
    Between& operator=(const Between&) = delete;

   private:
    Position* const position_;
    const RunningPlan* plan_ = nullptr;
  };
  /// A part of a direct call in which the task works, or rests until a message moves, while it lives. They may nest.
  class Part {
   public:
    Part(Position* position, bool works);
    ~Part();
    Part(const Part&) = delete;
    Part& operator=(const Part&) = delete;

   private:
    Position* const position_;
    bool before_ = false;
  };
  /// Bytes of a direct call have moved.
  void moves() { add_one(moves_); }
  /// Called when a wait has become long, and after it.
  void waits(Awaited awaited);
  void goes_on();
  void begins_step() { add_one(steps_); }
  /// The task is done with the job.
  void leaves();

  /// How it stands now. `busy`: whether the process has used a core lately, for tasks that run no plan. Called by one
  /// thread.
  [[nodiscard]] Pulse pulse(TimePoint now, bool busy);

 private:
  template <class Number>
  static void add_one(std::atomic<Number>& number) {
    number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  [[nodiscard]] bool works() const { return parts_.load(std::memory_order_relaxed) % 2 == 1; }
  [[nodiscard]] bool works_on();

  std::mutex mutex_;
  std::int64_t thread_;  ///< of the task
  std::optional<std::string> call_;
  std::vector<std::int64_t> requesters_;
  const RunningPlan* plan_ = nullptr;
  std::optional<Awaited> awaited_;
  bool left_ = false;
  std::atomic<std::int64_t> steps_{0};
  std::atomic<std::uint64_t> moves_{0};
  std::atomic<std::uint64_t> parts_{0};  ///< odd while a direct call works; changes with each part
  std::uint64_t seen_parts_ = 0;         ///< as the last pulse() found it
  Pulse last_;                           ///< with this and since_, pulse() finds how long nothing has changed
  TimePoint since_{};
};

}  // namespace ferry
