#include "comm/inproc/hub.hpp"

#include <thread>

namespace ferry::inproc {
namespace {

std::shared_ptr<Round> round_of(int tasks) {
  auto round = std::make_shared<Round>();
  round->texts.resize(static_cast<std::size_t>(tasks));
  return round;
}

}  // namespace

Hub::Hub(int tasks)
    : tasks_(static_cast<std::size_t>(tasks)), closed_(static_cast<std::size_t>(tasks), false), open_(round_of(tasks)) {
  for (int from = 0; from < tasks; ++from) {
    for (int to = 0; to < tasks; ++to) lanes_.emplace_back(failed_, copies(from), copies(to));
  }
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
  for (int other = 0; other < tasks(); ++other) {
    lane(task, other).settle();
    lane(other, task).settle();
  }
  while (copies(task).load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

std::shared_ptr<Round> Hub::enter(int task, std::string mine) {
  std::shared_ptr<Round> round;
  {
    const std::lock_guard lock(mutex_);
    round = open_;
    round->texts[static_cast<std::size_t>(task)] = std::move(mine);
    if (++round->came < tasks()) return round;
    open_ = round_of(tasks());
  }
  wake_all();
  return round;
}

std::optional<std::vector<std::string>> Hub::texts(const Round& round) {
  const std::lock_guard lock(mutex_);
  if (round.came < tasks()) return std::nullopt;
  std::vector<std::string> all;
  for (const auto& text : round.texts) all.push_back(*text);
  return all;
}

std::vector<int> Hub::missing(const Round& round, bool closed_only) {
  const std::lock_guard lock(mutex_);
  std::vector<int> tasks;
  for (std::size_t task = 0; task < round.texts.size(); ++task) {
    if (!round.texts[task] && (!closed_only || closed_[task])) tasks.push_back(static_cast<int>(task));
  }
  return tasks;
}

void Hub::close(int task) {
  {
    const std::lock_guard lock(mutex_);
    closed_[static_cast<std::size_t>(task)] = true;
  }
  wake_all();
}

void Hub::wake_all() {
  for (Task& task : tasks_) task.events.notify();
}

}  // namespace ferry::inproc
