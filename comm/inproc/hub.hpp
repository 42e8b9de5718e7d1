// Hub: what the tasks of a job that run in one process share.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/system/event_count.hpp"
#include "comm/inproc/lane.hpp"
#include "comm/transport.hpp"

namespace ferry::inproc {

/// One exchange: full when all tasks of this process have come, complete when the texts of the others are there, too.
struct ControlRound {
  std::vector<std::optional<std::string>> texts;
  int came = 0;
  std::optional<Deadline> deadline;  ///< of the task that came last
  bool complete = false;
  std::optional<Error> error;  ///< why it could not be completed
};

/// Consecutive tasks.
struct Tasks {
  int first = 0, count = 0;
};

/// Has the lanes between all tasks, the exchange, and the job's first failure. If some tasks are in other processes, a
/// relay talks to these: it takes transfers from the outbox and completes the rounds. Thread-safe.
class Hub {
 public:
  /// For a job of `tasks` tasks; `here` of them are in this process.
  Hub(int tasks, Tasks here);

  [[nodiscard]] int tasks() const { return static_cast<int>(tasks_.size()); }
  [[nodiscard]] Tasks here() const { return here_; }
  [[nodiscard]] bool is_here(int task) const { return task >= here_.first && task < here_.first + here_.count; }
  /// For the relay.
  [[nodiscard]] Outbox& outbox() { return outbox_; }
  /// Made when it is first asked for: in large jobs few pairs of tasks exchange messages.
  [[nodiscard]] Lane& lane(int from, int to) {
    Lane* const made = find_lane(from, to);
    return made != nullptr ? *made : make_lane(from, to);
  }
  /// Notified when something changes for `task`.
  [[nodiscard]] EventCount& events(int task) { return tasks_[static_cast<std::size_t>(task)].events; }
  /// How many buffers of `task` others are reading or writing right now.
  [[nodiscard]] std::atomic<int>& copies(int task) { return tasks_[static_cast<std::size_t>(task)].copies; }

  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  [[nodiscard]] std::optional<Failure> failure();
  /// Keeps only the first failure; wakes everybody.
  void fail(const Failure& failure);
  /// Once the job has failed: returns when nobody touches the buffers of `task` any more.
  void settle(int task);

  /// Adds `mine` to the exchange that is open, and returns that.
  [[nodiscard]] std::shared_ptr<ControlRound> enter(int task, std::string mine, const Deadline& deadline);
  /// The texts of a complete round; nothing before. Throws its error.
  [[nodiscard]] std::optional<std::vector<std::string>> texts(const ControlRound& round);
  /// Tasks of this process that have not come to `round`; with `closed_only`, only the closed tasks among them.
  [[nodiscard]] std::vector<int> missing(const ControlRound& round, bool closed_only);
  /// For the relay: a round that is full but not complete, handed out once; else null.
  [[nodiscard]] std::shared_ptr<ControlRound> take_full();
  /// Completes a full round with the texts of all tasks, or with an error.
  void complete(ControlRound& round, const std::vector<std::string>& texts);
  void complete(ControlRound& round, const Error& error);
  void close(int task);
  /// Whether all tasks of this process have closed.
  [[nodiscard]] bool closed();

  /// Makes the transport end of a task of this process.
  [[nodiscard]] static std::unique_ptr<Transport> end(std::shared_ptr<Hub> hub, int task);

 private:
  /// Lanes to kBlock consecutive tasks, allocated together when the first is needed: most tasks talk to few others.
  static constexpr int kBlock = 64;
  using LaneBlock = std::array<std::atomic<Lane*>, kBlock>;
  using LaneBlocks = std::vector<std::atomic<LaneBlock*>>;
  struct alignas(64) Task {
    EventCount events;
    std::atomic<int> copies{0};
    std::atomic<LaneBlocks*> lanes{nullptr};  ///< to all tasks; a null pointer, here or to a block: no lane is made yet
  };
  /// Null when it is not made yet.
  [[nodiscard]] Lane* find_lane(int from, int to) {
    const LaneBlocks* const lanes = tasks_[static_cast<std::size_t>(from)].lanes.load(std::memory_order_acquire);
    if (lanes == nullptr) return nullptr;
    const auto at = static_cast<std::size_t>(to);
    const LaneBlock* const block = (*lanes)[at / kBlock].load(std::memory_order_acquire);
    return block == nullptr ? nullptr : (*block)[at % kBlock].load(std::memory_order_acquire);
  }
  Lane& make_lane(int from, int to);
  void wake_all();
  [[nodiscard]] std::shared_ptr<ControlRound> new_round() const;

  const Tasks here_;
  Outbox outbox_;
  std::deque<Task> tasks_;
  std::mutex making_;  // guards the next four
  std::deque<Lane> lanes_;
  std::deque<LaneBlocks> rows_;                           // what Task::lanes point to
  std::deque<LaneBlock> blocks_;                          // what rows_ point to
  std::unordered_map<int, std::vector<Lane*>> lanes_of_;  // by task, lanes to and from it
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // guards all below, and the rounds
  std::optional<Failure> failure_;
  std::vector<bool> closed_;
  std::shared_ptr<ControlRound> open_;
  std::shared_ptr<ControlRound> full_;
};

}  // namespace ferry::inproc
