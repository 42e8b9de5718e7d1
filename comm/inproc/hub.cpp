#include "comm/inproc/hub.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace ferry::inproc {

Hub::Hub(int tasks, TaskRange here)
    : here_(here), tasks_(static_cast<std::size_t>(tasks)), control_(*this, system_clock(), tasks, here) {}

Lane& Hub::make_lane(int from, int to) {
  const std::lock_guard lock(making_);
  if (Lane* const made = find_lane(from, to); made != nullptr) return *made;
  Task& task = tasks_[from];
  LaneBlocks* row = task.lanes.load(std::memory_order_relaxed);
  if (row == nullptr) {
    row = &rows_.emplace_back((tasks_.size() + kBlock - 1) / kBlock);
    task.lanes.store(row, std::memory_order_release);
  }
  const auto at = static_cast<std::size_t>(to);
  LaneBlock* block = (*row)[at / kBlock].load(std::memory_order_relaxed);
  if (block == nullptr) {
    block = &blocks_.emplace_back();
    (*row)[at / kBlock].store(block, std::memory_order_release);
  }
  Lane& lane = lanes_.emplace_back(Lane::Ends{.from = from,
                                              .to = to,
                                              .failed = failed_,
                                              .sender_copies = copies(from),
                                              .receiver_copies = copies(to),
                                              .outbox = is_here(from) && is_here(to) ? nullptr : &outbox_});
  for (const int end : {from, to}) lanes_of_[end].push_back(&lane);
  (*block)[at % kBlock].store(&lane, std::memory_order_release);
  return lane;
}

std::optional<Failure> Hub::failure() {
  if (!failed()) return std::nullopt;
  return with_control([](ControlPlane& control) { return control.failure(); });
}

void Hub::fail(const Failure& failure) {
  const bool first = with_control([&](ControlPlane& control) {
    control.fail(failure);
    return !failed_.exchange(true);
  });
  if (first) wake_all();  // in a process with many tasks, each task calls fail()
}

void Hub::wait_until_unused(int task) {
  // Finds the lanes one by one instead of copying the list, because this must work even after memory has run out.
  const auto lane_of = [&](std::size_t i) -> Lane* {
    const std::lock_guard lock(making_);  // a lane that is made later sees that the job has failed
    const auto found = lanes_of_.find(task);
    return found == lanes_of_.end() || i >= found->second.size() ? nullptr : found->second[i];
  };
  for (std::size_t i = 0; Lane* const lane = lane_of(i); ++i) lane->wait_until_unused();
  while (copies(task).load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

ControlPlane::TextExchange Hub::start_exchange(int task, std::string_view mine, const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  const ControlPlane::TextExchange exchange = control_.start_exchange(task, mine, deadline);
  const bool all_came = !control_.texts_here(exchange.round).empty();
  lock.unlock();
  if (all_came) wake_all();
  return exchange;
}

void Hub::close(int task) {
  const bool awaited = with_control([&](ControlPlane& control) {
    control.close(task);
    return control.is_awaited(task);
  });
  if (awaited)
    wake_all();
  else
    outbox_.events().notify();
}

void Hub::wake_all() {
  for (Task& task : tasks_) task.events.notify();
  outbox_.events().notify();
}

}  // namespace ferry::inproc
