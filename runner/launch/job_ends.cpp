#include "runner/launch/job_ends.hpp"

#include <utility>

namespace ferry {

bool JobEnds::add(int task, const std::string& host, const ProcessEnd& end) {
  if (end.code() == 0) return false;
  note({end.code(), "task " + std::to_string(task) + " on " + host + " " + end.text(), host, task, end.signal != 0});
  return true;
}

void JobEnds::add(const Error& error, const std::string& host) {
  note({static_cast<int>(error.code()), error.text(), host});
}

void JobEnds::note(TaskFailure failure) {
  if (!own_doing_)
    failures_.push_back(std::move(failure));
  else if (!own_)
    own_ = std::move(failure);
}

std::optional<TaskFailure> JobEnds::first() const {
  if (failures_.empty()) return own_;
  const TaskFailure& noticed = failures_.front();
  if (noticed.code != static_cast<int>(Code::peer_lost)) return noticed;
  for (const TaskFailure& later : failures_)
    if (later.code != noticed.code && later.host != noticed.host) return later;
  return noticed;
}

}  // namespace ferry
