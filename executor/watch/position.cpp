#include "executor/watch/position.hpp"

#include <utility>

#include "base/format.hpp"
#include "base/process/process_state.hpp"

namespace ferry {
namespace {

/// A task that has been outside of the session for this long may be stuck there.
constexpr std::chrono::seconds kLongOutside{1};

std::int64_t thread_number() {
  thread_local const std::int64_t number = this_thread_number();
  return number;
}

void copy_awaited(const Awaited& awaited, Pulse& pulse) {
  pulse.collective_key = awaited.collective_key;
  pulse.awaited = awaited.tasks;
  pulse.text = awaited.text;
  pulse.call_key = awaited.call_key;
}

}  // namespace

Position::Position(int task) : thread_(thread_number()) {
  last_.task = task;
}

Position::Call::Call(Position* position, std::string what, std::span<const std::int32_t> requesters)
    : position_(position) {
  if (position_ == nullptr) return;
  const std::lock_guard lock(position_->mutex_);
  position_->thread_ = thread_number();
  before_ = std::exchange(position_->call_, std::move(what));
  if (!before_) position_->requesters_.assign(requesters.begin(), requesters.end());
}

Position::Call::~Call() {
  if (position_ == nullptr) return;
  const std::lock_guard lock(position_->mutex_);
  position_->call_ = std::move(before_);
  if (!position_->call_) position_->requesters_.clear();
}

void Position::set_all_called() {
  const std::lock_guard lock(mutex_);
  requesters_.clear();
}

Position::Run::Run(Position* position, const RunningPlan& plan) : position_(position) {
  if (position_ == nullptr) return;
  const std::lock_guard lock(position_->mutex_);
  position_->plan_ = &plan;
}

Position::Run::~Run() {
  if (position_ == nullptr) return;
  const std::lock_guard lock(position_->mutex_);
  position_->plan_ = nullptr;
  position_->awaited_.reset();
}

Position::Between::Between(Position* position) : position_(position) {
  if (position_ == nullptr) return;
  const std::lock_guard lock(position_->mutex_);
  plan_ = std::exchange(position_->plan_, nullptr);
}

Position::Between::~Between() {
  if (position_ == nullptr) return;
  const std::lock_guard lock(position_->mutex_);
  position_->plan_ = plan_;
}

Position::Phase::Phase(Position* position, bool works) : position_(position) {
  if (position_ == nullptr) return;
  before_ = position_->works();
  if (before_ != works) add_one(position_->phases_);
}

Position::Phase::~Phase() {
  if (position_ != nullptr && before_ != position_->works()) add_one(position_->phases_);
}

/// Whether the task has done nothing but work on a direct call since the last pulse.
bool Position::worked_since_pulse() {
  const std::uint64_t parts = phases_.load(std::memory_order_relaxed);
  return std::exchange(seen_phases_, parts) == parts && parts % 2 == 1;
}

void Position::begin_wait(Awaited awaited) {
  const std::lock_guard lock(mutex_);
  awaited_ = std::move(awaited);
}

void Position::end_wait() {
  const std::lock_guard lock(mutex_);
  awaited_.reset();
}

void Position::set_left() {
  const std::lock_guard lock(mutex_);
  left_ = true;
}

Pulse Position::pulse(TimePoint now, bool busy) {
  Pulse pulse;
  pulse.task = last_.task;
  pulse.busy = busy;
  pulse.steps = steps_.load(std::memory_order_relaxed);
  const bool works = worked_since_pulse();
  const std::lock_guard lock(mutex_);
  if (awaited_ && awaited_->until && now >= *awaited_->until) awaited_.reset();
  if (left_) {
    pulse.doing = Pulse::Doing::left;
    pulse.busy = false;
  } else if (plan_ != nullptr) {
    pulse.progress_tag = plan_->progress_tag();
    const std::optional<std::string> computed = plan_->computes(awaited_.has_value());
    pulse.busy = computed.has_value() || !awaited_;
    pulse.doing = pulse.busy ? Pulse::Doing::computing : Pulse::Doing::waiting;
    if (pulse.busy) {
      pulse.text = computed.value_or("between two instructions");
    } else {
      copy_awaited(*awaited_, pulse);
    }
  } else if (works) {
    pulse.doing = Pulse::Doing::computing;
    pulse.busy = true;
    pulse.text = awaited_ ? awaited_->text : "a direct call";
  } else if (awaited_) {
    pulse.doing = Pulse::Doing::waiting;
    pulse.busy = false;
    pulse.progress_tag = moves_.load(std::memory_order_relaxed);
    copy_awaited(*awaited_, pulse);
  } else if (call_) {
    pulse.doing = Pulse::Doing::inside;
    pulse.text = *call_;
    pulse.awaited = requesters_;
  }
  if (since_ == TimePoint() || !pulse.has_same_state(last_)) since_ = now;
  pulse.age = now - since_;
  if (pulse.doing == Pulse::Doing::outside && !pulse.busy && pulse.age >= kLongOutside)
    pulse.text = formatted("{}", current_system_call(thread_));
  last_ = pulse;
  return pulse;
}

}  // namespace ferry
