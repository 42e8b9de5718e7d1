#include "executor/watch/watch_board.hpp"

#include <utility>

namespace ferry {

void WatchBoard::adopt(const JobVerdict& verdict, std::optional<std::int64_t> generation) {
  const auto lock = monitor_.lock();
  if (verdict_ || generation.value_or(generation_) != generation_) return;
  verdict_ = verdict;
  over_.store(true, std::memory_order_release);
  clock_.set_over(true);
  monitor_.notify();
}

std::optional<JobVerdict> WatchBoard::verdict() const {
  const auto lock = monitor_.lock();
  return verdict_;
}

bool WatchBoard::over_within(Duration at_most) const {
  auto lock = monitor_.lock();
  return monitor_.wait_for(lock, at_most, [this] { return verdict_.has_value(); });
}

void WatchBoard::set_found(const JobVerdict& verdict) {
  const auto lock = monitor_.lock();
  found_ = verdict;
}

std::optional<JobVerdict> WatchBoard::found() const {
  const auto lock = monitor_.lock();
  return found_;
}

void WatchBoard::reset() {
  const auto lock = monitor_.lock();
  found_.reset();
  verdict_.reset();
  ++generation_;
  over_.store(false);
  clock_.set_over(false);
}

std::int64_t WatchBoard::generation() const {
  const auto lock = monitor_.lock();
  return generation_;
}

void WatchBoard::set_statuses(std::vector<TaskStatus> tasks) {
  const auto lock = monitor_.lock();
  statuses_ = std::move(tasks);
}

std::vector<TaskStatus> WatchBoard::statuses() const {
  const auto lock = monitor_.lock();
  return statuses_;
}

void WatchBoard::spare(std::span<const int> tasks) {
  const auto lock = monitor_.lock();
  spared_.assign(spared_.size(), false);
  for (const int task : tasks) spared_[task] = true;
}

bool WatchBoard::is_spared(int task) const {
  const auto lock = monitor_.lock();
  return spared_[task];
}

void WatchBoard::add_loss(const Losses::Loss& loss) {
  const auto lock = monitor_.lock();
  const auto task = static_cast<std::size_t>(loss.task);
  if (lost_[task]) return;
  lost_[task] = true;
  losses_.push_back(loss);
  any_losses_.store(true);
}

std::vector<Losses::Loss> WatchBoard::take_losses() {
  if (!any_losses_.load(std::memory_order_relaxed)) return {};
  const auto lock = monitor_.lock();
  any_losses_.store(false);
  return std::exchange(losses_, {});
}

void WatchBoard::set_lost(int task) {
  const auto lock = monitor_.lock();
  lost_[task] = true;
}

std::vector<bool> WatchBoard::lost() const {
  const auto lock = monitor_.lock();
  return lost_;
}

}  // namespace ferry
