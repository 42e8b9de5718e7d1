#include "comm/failure.hpp"

#include <cstring>

namespace ferry {
namespace {

struct Head {
  std::int32_t task = 0;
  std::int32_t code = 0;
  std::int32_t said = 0;
  std::int32_t unreached_by = -1;
};

}  // namespace

Error error_of(const Failure& failure) {
  const std::string task = "task " + std::to_string(failure.task);
  const std::string what = failure.unreached_by < 0
                               ? task + " failed first: " + failure.text
                               : lost_connection_text("task " + std::to_string(failure.unreached_by), task, failure);
  return Error(Code::peer_lost, what).ends_job_with(failure.code);
}

std::string lost_connection_text(const std::string& from, const std::string& to, const Failure& failure) {
  return "the connection from " + from + " to " + to + " is lost: " + failure.text;
}

std::string tasks_text(std::span<const int> tasks) {
  std::string text = tasks.size() == 1 ? "task " : "tasks ";
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (i > 0) text += i + 1 == tasks.size() ? " and " : ", ";
    text += std::to_string(tasks[i]);
  }
  return text;
}

AbsentError missing_error(std::span<const int> missing, int tasks) {
  return {Error(Code::stalled, "exchange: " + tasks_text(missing) + " of " + std::to_string(tasks) +
                                   " did not come before the deadline")
              .hint("see whether it was stopped or waits elsewhere; --deadline gives it more time"),
          missing};
}

AbsentError closed_error(std::span<const int> gone, std::string_view what) {
  return {Error(Code::peer_lost, std::string(what) + ": " + tasks_text(gone) + (gone.size() == 1 ? " has" : " have") +
                                     " finished, but this task still needs " + (gone.size() == 1 ? "it" : "them"))
              .hint("no task has failed: the program must make the same calls in the same order on all tasks"),
          gone};
}

std::string pack_failure(const Failure& failure) {
  const Head head{failure.task, static_cast<std::int32_t>(failure.code), failure.said, failure.unreached_by};
  std::string bytes(sizeof head, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes + failure.text;
}

std::optional<Failure> unpack_failure(std::string_view bytes) {
  Head head;
  if (bytes.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, bytes.data(), sizeof head);
  return Failure{head.task, static_cast<Code>(head.code), std::string(bytes.substr(sizeof head)), head.said != 0,
                 head.unreached_by};
}

Error size_error(int from, int to, std::uint32_t channel, std::size_t sent, std::size_t expected) {
  return {Code::bug, "channel " + std::to_string(channel) + " from task " + std::to_string(from) + " to task " +
                         std::to_string(to) + ": " + std::to_string(sent) + " bytes sent, " + std::to_string(expected) +
                         " expected"};
}

}  // namespace ferry
