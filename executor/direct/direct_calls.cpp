#include "executor/direct/direct_calls.hpp"

#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace ferry {

DirectCalls::DirectCalls(std::shared_ptr<JobState> state)
    : state_(std::move(state)), job_(std::make_unique<DirectJob>(*state_)) {
  std::vector<std::int32_t> tasks(state_->topology.tasks.size());
  std::iota(tasks.begin(), tasks.end(), 0);
  all_ = std::make_unique<DirectGroup>(*job_, 0, std::move(tasks), state_->local_tasks[0]);
}

DirectCalls::~DirectCalls() {
  if (state_->in_own_process()) {
    state_->leave();
    return;
  }
  static_cast<void>(all_.release());  // the parent process still uses the memory that the destructors would free
  static_cast<void>(job_.release());
}

std::shared_ptr<DirectGroup> group_of_all_tasks(std::shared_ptr<JobState> state) {
  const auto calls = std::make_shared<DirectCalls>(std::move(state));
  return {calls, &calls->all()};
}

}  // namespace ferry
