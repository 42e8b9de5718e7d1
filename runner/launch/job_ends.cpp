#include "runner/launch/job_ends.hpp"

#include <utility>

namespace ferry {

namespace {

constexpr int kPeerLost = static_cast<int>(Code::peer_lost);

TaskFailure failure_of(int task, const std::string& host, const ProcessEnd& end) {
  return {end.code(), "task " + std::to_string(task) + " on " + host + " " + end.text(), host, task, end.signal != 0};
}

TaskFailure failure_of(const Error& error, const std::string& host) {
  return {static_cast<int>(error.code()), error.text(), host};
}

}  // namespace

bool JobEnds::add(int task, const std::string& host, const ProcessEnd& end) {
  if (end.code() == 0) return false;
  add_failure(failure_of(task, host, end));
  return true;
}

void JobEnds::add(const Error& error, const std::string& host) {
  add_failure(failure_of(error, host));
}

void JobEnds::add_loss(int task, const std::string& host, const ProcessEnd& end) {
  if (!shutting_down_) lost_.push_back(failure_of(task, host, end));
}

void JobEnds::add_loss(const Error& error, const std::string& host) {
  lost_.push_back(failure_of(error, host));
}

std::vector<std::string> JobEnds::lost() const {
  std::vector<std::string> texts;
  for (const TaskFailure& one : lost_) texts.push_back(one.text);
  return texts;
}

void JobEnds::add_failure(TaskFailure failure) {
  if (!shutting_down_)
    failures_.push_back(std::move(failure));
  else if (!shutdown_failure_)
    shutdown_failure_ = std::move(failure);
}

std::optional<TaskFailure> JobEnds::first() const {
  if (failures_.empty()) return shutdown_failure_;
  if (!lost_.empty() && failures_.front().code == kPeerLost) return lost_.front();
  const TaskFailure& noticed = failures_.front();
  if (noticed.code != kPeerLost) return noticed;
  for (const TaskFailure& later : failures_)
    if (later.code != noticed.code && later.host != noticed.host) return later;
  return noticed;
}

}  // namespace ferry
