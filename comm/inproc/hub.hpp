// Hub: what the ends of an in-process job share.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/event_count.hpp"
#include "comm/inproc/lane.hpp"
#include "comm/transport.hpp"

namespace ferry::inproc {

/// One exchange: complete when all have come.
struct Round {
  std::vector<std::optional<std::string>> texts;
  int came = 0;
};

/// Lanes between all tasks, the exchange, and the job's first failure. Thread-safe.
class Hub {
 public:
  explicit Hub(int tasks);

  [[nodiscard]] int tasks() const { return static_cast<int>(tasks_.size()); }
  [[nodiscard]] Lane& lane(int from, int to) { return lanes_[static_cast<std::size_t>(from * tasks() + to)]; }
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
  [[nodiscard]] std::shared_ptr<Round> enter(int task, std::string mine);
  /// The texts of a complete round; nothing before.
  [[nodiscard]] std::optional<std::vector<std::string>> texts(const Round& round);
  /// Who has not come to `round`; only those who have closed, if asked so.
  [[nodiscard]] std::vector<int> missing(const Round& round, bool closed_only);
  void close(int task);

 private:
  struct alignas(64) Task {
    EventCount events;
    std::atomic<int> copies{0};
  };
  void wake_all();

  std::deque<Task> tasks_;
  std::deque<Lane> lanes_;
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // guards all below, and the rounds
  std::optional<Failure> failure_;
  std::vector<bool> closed_;
  std::shared_ptr<Round> open_;
};

}  // namespace ferry::inproc
