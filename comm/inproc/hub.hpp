// Hub: the shared state of the tasks of a job that run in one process.
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
#include "comm/control.hpp"
#include "comm/inproc/lane.hpp"

namespace ferry::inproc {

/// Has the lanes between all tasks, and the control plane that the tasks of this process share. If some tasks are in
/// other processes, a relay communicates with these processes: it takes transfers from the outbox, and texts from the
/// control plane. Thread-safe.
class Hub final : public ControlSender {
 public:
  /// For a job of `tasks` tasks. `here` are the tasks of this process.
  Hub(int tasks, TaskRange here);

  [[nodiscard]] int tasks() const { return static_cast<int>(tasks_.size()); }
  [[nodiscard]] TaskRange here() const { return here_; }
  [[nodiscard]] bool is_here(int task) const { return here_.contains(task); }
  /// The transfers for the relay.
  [[nodiscard]] Outbox& outbox() { return outbox_; }
  /// The lane between two tasks. It is made on first use, because in large jobs few pairs of tasks exchange messages.
  [[nodiscard]] Lane& lane(int from, int to) {
    Lane* const made = find_lane(from, to);
    return made != nullptr ? *made : make_lane(from, to);
  }
  /// Notified when something changes for `task`.
  [[nodiscard]] EventCount& events(int task) { return tasks_[task].events; }
  /// The number of buffers of `task` that other threads are reading or writing.
  [[nodiscard]] std::atomic<int>& copies(int task) { return tasks_[task].copies; }

  [[nodiscard]] bool failed() const { return failed_.load(std::memory_order_acquire); }
  [[nodiscard]] std::optional<Failure> failure();
  /// Records the first failure, and wakes all tasks.
  void fail(const Failure& failure);
  /// After the job has failed: waits until no other thread touches the buffers of `task` any more.
  void wait_until_unused(int task);

  /// Calls ControlPlane::start_exchange; wakes all tasks when all tasks of this process have come.
  [[nodiscard]] ControlPlane::TextExchange start_exchange(int task, std::string_view mine, const Deadline& deadline);
  void close(int task);
  /// Calls f(control plane) under its lock.
  template <class F>
  auto with_control(const F& f) {
    const std::lock_guard lock(mutex_);
    return f(control_);
  }
  void wake_all();

  // Does nothing: the tasks of a process share the control plane.
  void post(std::span<const int>, Word, std::string_view) override {}
  [[nodiscard]] bool detects_absence(int task) const override { return is_here(task); }

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
  /// The lane, or null if it is not made yet.
  [[nodiscard]] Lane* find_lane(int from, int to) {
    const LaneBlocks* const lanes = tasks_[from].lanes.load(std::memory_order_acquire);
    if (lanes == nullptr) return nullptr;
    const auto at = static_cast<std::size_t>(to);
    const LaneBlock* const block = (*lanes)[at / kBlock].load(std::memory_order_acquire);
    return block == nullptr ? nullptr : (*block)[at % kBlock].load(std::memory_order_acquire);
  }
  Lane& make_lane(int from, int to);

  const TaskRange here_;
  Outbox outbox_;
  std::deque<Task> tasks_;
  std::mutex making_;  // guards the next four
  std::deque<Lane> lanes_;
  std::deque<LaneBlocks> rows_;                           // Task::lanes point to these
  std::deque<LaneBlock> blocks_;                          // rows_ point to these
  std::unordered_map<int, std::vector<Lane*>> lanes_of_;  // by task, lanes to and from it
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // guards control_
  ControlPlane control_;
};

}  // namespace ferry::inproc
