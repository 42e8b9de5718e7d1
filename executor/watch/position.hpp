// Position: where a task is in its work. The task's own thread sets it, and another thread reads it.
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
  /// A number that changes when the task continues with another instruction.
  [[nodiscard]] virtual std::uint64_t progress_tag() const = 0;
  /// The instruction that computes, in words; nothing when none does. `first_waits`: walker 0 waits for other tasks.
  [[nodiscard]] virtual std::optional<std::string> computes(bool first_waits) const = 0;
};

/// A wait of a task within a plan or in a direct call.
struct Awaited {
  std::string text;                  ///< "receive of 'w' from task 1 at train.cpp:40"
  std::uint64_t collective_key = 0;  ///< as Pulse::collective_key
  std::vector<std::int64_t> tasks;   ///< from which the task needs messages
  std::uint64_t call_key = 0;        ///< as Pulse::call_key
  /// The time until which the task counts as waiting. Not given: until end_wait(). A task that calls test() from time
  /// to time sets it, and counts as waiting only for a short time after each test.
  std::optional<TimePoint> until = {};
};

/// One per task. The task's thread reports; the watch's thread calls pulse(). Frequent reports cost one store each.
class Position {
 public:
  /// Made by the task's thread, or by a thread that acts for the task until its first call.
  explicit Position(int task);

  /// Marks a call of the session while the object lives; `what` describes the call. Calls may nest. `requesters`: the
  /// call begins when all tasks have made it, and these tasks may take as long as they like. Until set_all_called(),
  /// this task waits for their next request.
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
  /// Call it when all tasks have made the call.
  void set_all_called();
  /// Marks a run of a plan while the object lives.
  class Run {
   public:
    Run(Position* position, const RunningPlan& plan);
    ~Run();
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

   private:
    Position* const position_;
  };
  /// Marks the time between two steps of a run while the object lives. The task then does no work of the plan.
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
  /// Marks a part of a direct call while the object lives: the task works, or rests until a message moves. Parts may
  /// nest.
  class Phase {
   public:
    Phase(Position* position, bool works);
    ~Phase();
    Phase(const Phase&) = delete;
    Phase& operator=(const Phase&) = delete;

   private:
    Position* const position_;
    bool before_ = false;
  };
  /// Call it when bytes of a direct call have moved.
  void moves() { add_one(moves_); }
  /// Call begin_wait() when a wait has become long, and end_wait() after the wait.
  void begin_wait(Awaited awaited);
  void end_wait();
  void begins_step() { add_one(steps_); }
  /// Call it when the task has finished the job.
  void set_left();

  /// The state of the task now. `busy`: whether the process has used a core lately, for tasks that run no plan. Called
  /// by one thread.
  [[nodiscard]] Pulse pulse(TimePoint now, bool busy);

 private:
  template <class Number>
  static void add_one(std::atomic<Number>& number) {
    number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  [[nodiscard]] bool works() const { return phases_.load(std::memory_order_relaxed) % 2 == 1; }
  [[nodiscard]] bool worked_since_pulse();

  std::mutex mutex_;
  std::int64_t thread_;  ///< of the task
  std::optional<std::string> call_;
  std::vector<std::int64_t> requesters_;
  const RunningPlan* plan_ = nullptr;
  std::optional<Awaited> awaited_;
  bool left_ = false;
  std::atomic<std::int64_t> steps_{0};
  std::atomic<std::uint64_t> moves_{0};
  std::atomic<std::uint64_t> phases_{0};  ///< odd while a direct call works; changes with each part
  std::uint64_t seen_phases_ = 0;         ///< phases_ at the last pulse()
  Pulse last_;                            ///< with this and since_, pulse() finds how long nothing has changed
  TimePoint since_{};
};

}  // namespace ferry
