#include "executor/run/cancellation.hpp"

#include "base/system/interrupt.hpp"

namespace ferry {

void Cancellation::fail(const Error& error) {
  const std::lock_guard lock(failing_);
  if (failure_) return;
  failure_ = std::make_exception_ptr(error);
  stopping_.store(true);
  workers_.notify();
}

void Cancellation::check_must_end() const {
  check_interrupt();
  if (watch_ != nullptr && watch_->over()) throw watch_->verdict(task_);
  if (workers_.cancelled()) throw Error(Code::interrupted, "the session was destroyed during a run");
}

}  // namespace ferry
