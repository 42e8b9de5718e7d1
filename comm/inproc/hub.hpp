// Hub: what the ends of a job share that are in one process.
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
  std::optional<Deadline> deadline;  ///< of who came last
  bool complete = false;
  std::optional<Error> error;  ///< why it could not be completed
};

/// Tasks that follow one another.
struct Tasks {
  int first = 0, count = 0;
};

/// Lanes between all tasks, the exchange, and the job's first failure. Where some tasks are in other processes, a relay
/// carries what goes there: it empties the outbox and completes the rounds. Thread-safe.
class Hub {
 public:
  /// For a job of `tasks` tasks, of which `here` are in this process.
  Hub(int tasks, Tasks here);

  [[nodiscard]] int tasks() const { return static_cast<int>(tasks_.size()); }
  [[nodiscard]] Tasks here() const { return here_; }
  [[nodiscard]] bool is_here(int task) const { return task >= here_.first && task < here_.first + here_.count; }
  /// For the relay.
  [[nodiscard]] Outbox& outbox() { return outbox_; }
  /// Made when it is first asked for: few pairs of many tasks exchange messages.
  [[nodiscard]] Lane& lane(int from, int to) {
    Lane* const made = find_lane(from, to);
    return made != nullptr ? *made : make_lane(from, to);
  }
  /// Goes up when something changes for `task`.
  [[nodiscard]] EventCount& events(int task) { return tasks_[static_cast<std::size_t>(task)].events; }
  /// Buffers of `task` that others copy right now.
  [[nodiscard]] std::atomic<int>& copies(int task) { return tasks_[static_cast<std::size_t>(task)].copies; }

  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  [[nodiscard]] std::optional<Failure> failure();
  /// The first one counts; wakes everybody.
  void fail(const Failure& failure);
  /// Once the job has failed: returns when nobody touches the buffers of `task` any more.
  void settle(int task);

  /// Puts `mine` into the exchange that is open, which is returned.
  [[nodiscard]] std::shared_ptr<ControlRound> enter(int task, std::string mine, const Deadline& deadline);
  /// The texts of a complete round; nothing before. Throws its error.
  [[nodiscard]] std::optional<std::vector<std::string>> texts(const ControlRound& round);
  /// Tasks of this process that have not come to `round`; only those who have closed, if asked so.
  [[nodiscard]] std::vector<int> missing(const ControlRound& round, bool closed_only);
  /// For the relay: a round that is full and not complete, once; null: none.
  [[nodiscard]] std::shared_ptr<ControlRound> take_full();
  /// Completes a full round with the texts of all tasks, or with an error.
  void complete(ControlRound& round, const std::vector<std::string>& texts);
  void complete(ControlRound& round, const Error& error);
  void close(int task);
  /// All tasks of this process have closed.
  [[nodiscard]] bool closed();

  /// The end of a task of this process; it shares the hub.
  [[nodiscard]] static std::unique_ptr<Transport> end(std::shared_ptr<Hub> hub, int task);

 private:
  /// Lanes to kBlock tasks that follow one another: most tasks exchange messages with few others.
  static constexpr int kBlock = 64;
  using LaneBlock = std::array<std::atomic<Lane*>, kBlock>;
  using LaneBlocks = std::vector<std::atomic<LaneBlock*>>;
  struct alignas(64) Task {
    EventCount events;
    std::atomic<int> copies{0};
    std::atomic<LaneBlocks*> lanes{nullptr};  ///< to all tasks; null: none is made, in the block or at all
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
  std::deque<LaneBlocks> rows_;                           // Task::lanes
  std::deque<LaneBlock> blocks_;                          // of rows_
  std::unordered_map<int, std::vector<Lane*>> lanes_of_;  // of each task that has any, to and from it
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // guards all below, and the rounds
  std::optional<Failure> failure_;
  std::vector<bool> closed_;
  std::shared_ptr<ControlRound> open_;
  std::shared_ptr<ControlRound> full_;
};

}  // namespace ferry::inproc
