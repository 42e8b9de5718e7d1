#include "comm/inproc/hub.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace ferry::inproc {

Hub::Hub(int tasks, Tasks here)
    : here_(here), tasks_(static_cast<std::size_t>(tasks)), closed_(static_cast<std::size_t>(tasks), false) {
  open_ = new_round();
}

Lane& Hub::make_lane(int from, int to) {
  const std::lock_guard lock(making_);
  if (Lane* const made = find_lane(from, to); made != nullptr) return *made;
  Task& task = tasks_[static_cast<std::size_t>(from)];
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

std::shared_ptr<ControlRound> Hub::new_round() const {
  auto round = std::make_shared<ControlRound>();
  round->texts.resize(tasks_.size());
  return round;
}

std::optional<Failure> Hub::failure() {
  if (!failed()) return std::nullopt;
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Hub::fail(const Failure& failure) {
  {
    const std::lock_guard lock(mutex_);
    if (failure_) return;
    failure_ = failure;
    failed_.store(true);
  }
  wake_all();
}

void Hub::settle(int task) {
  // One by one rather than from a copy of the list: this must work even after memory has run out.
  const auto lane_of = [&](std::size_t i) -> Lane* {
    const std::lock_guard lock(making_);  // a lane that is made later sees that the job has failed
    const auto found = lanes_of_.find(task);
    return found == lanes_of_.end() || i >= found->second.size() ? nullptr : found->second[i];
  };
  for (std::size_t i = 0; Lane* const lane = lane_of(i); ++i) lane->settle();
  while (copies(task).load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

std::shared_ptr<ControlRound> Hub::enter(int task, std::string mine, const Deadline& deadline) {
  std::shared_ptr<ControlRound> round;
  {
    const std::lock_guard lock(mutex_);
    round = open_;
    round->texts[static_cast<std::size_t>(task)] = std::move(mine);
    if (++round->came < here_.count) return round;
    round->deadline = deadline;
    open_ = new_round();
    round->complete = here_.count == tasks();
    if (!round->complete) full_ = round;
  }
  wake_all();
  return round;
}

std::optional<std::vector<std::string>> Hub::texts(const ControlRound& round) {
  {
    const std::lock_guard lock(mutex_);
    if (!round.complete) return std::nullopt;
  }
  if (round.error) throw *round.error;  // no lock: a complete round does not change any more
  std::vector<std::string> all;
  for (const auto& text : round.texts) all.push_back(*text);
  return all;
}

std::vector<int> Hub::missing(const ControlRound& round, bool closed_only) {
  const std::lock_guard lock(mutex_);
  std::vector<int> tasks;
  for (int task = here_.first; task < here_.first + here_.count; ++task) {
    const auto at = static_cast<std::size_t>(task);
    if (!round.texts[at] && (!closed_only || closed_[at])) tasks.push_back(task);
  }
  return tasks;
}

std::shared_ptr<ControlRound> Hub::take_full() {
  const std::lock_guard lock(mutex_);
  return std::exchange(full_, nullptr);
}

void Hub::complete(ControlRound& round, const std::vector<std::string>& texts) {
  {
    const std::lock_guard lock(mutex_);
    for (std::size_t task = 0; task < texts.size(); ++task) round.texts[task] = texts[task];
    round.complete = true;
  }
  wake_all();
}

void Hub::complete(ControlRound& round, const Error& error) {
  {
    const std::lock_guard lock(mutex_);
    round.error = error;
    round.complete = true;
  }
  wake_all();
}

void Hub::close(int task) {
  bool awaited = false;
  {
    const std::lock_guard lock(mutex_);
    closed_[static_cast<std::size_t>(task)] = true;
    awaited = open_->came > 0;
  }
  if (awaited)
    wake_all();
  else
    outbox_.events().notify();
}

bool Hub::closed() {
  const std::lock_guard lock(mutex_);
  const auto first = closed_.begin() + here_.first;
  return std::all_of(first, first + here_.count, [](bool closed) { return closed; });
}

void Hub::wake_all() {
  for (Task& task : tasks_) task.events.notify();
  outbox_.events().notify();
}

}  // namespace ferry::inproc
