#include "executor/job/job_state.hpp"

#include <unistd.h>

#include <exception>
#include <iterator>
#include <utility>

#include "comm/failure.hpp"
#include "executor/job/launch.hpp"

namespace ferry {
namespace {

/// The job's clock, except that a verdict of the watch does not end its deadlines, since the verdict may be about the
/// previous job.
class ClockWithoutVerdict final : public Clock {
 public:
  explicit ClockWithoutVerdict(Watch* watch) : watch_(watch) {}
  [[nodiscard]] TimePoint now() override {
    return system_clock().now() - (watch_ == nullptr ? Duration::zero() : watch_->clock().excluded_time());
  }

 private:
  Watch* const watch_;
};

}  // namespace

Error JobState::found_by_all(Error error) const {
  const bool of_all = error.code() == Code::usage || error.code() == Code::file || error.code() == Code::plan;
  if (of_all && local_tasks[0] != 0 && output_of_launch() != OutputOfLaunch::apart) error.told_elsewhere();
  return error;
}

void JobState::renew(std::span<const std::int32_t> requesters) {
  require_own_process();
  if (!transports[0]->any_thread()) require_own_thread("a call of a session");
  if (watch && watch->over()) watch->restart();
  const bool alone = transports.size() == 1 && relay == nullptr;
  if (!renewable && alone) return wait_for_tasks(requesters);
  const std::optional<Failure> failure = transports[0]->failure();
  if (!failure) return;
  if (renewable) return replace_by(inproc_transports(static_cast<int>(transports.size())));
  throw Error(Code::usage, "the job of this cluster has failed, and cannot start again")
      .note(error_of(*failure).text())
      .hint("start the program again, or have one task in each process");
}

void JobState::watch_own_tasks() {
  watch = std::make_unique<Watch>(Watch::Job{.processes = processes, .self = 0, .deadline = options.deadline});
}

/// Waits for the other tasks, in a new job if this one has failed. A task that finished the failed run before the
/// failure may not know of it, and waits in the failed job. Its wait fails, because the tasks that know of the failure
/// do not come there; then it continues with the new job. Before the first call of a session there was no run, so a
/// failure then is a failure of this job.
void JobState::wait_for_tasks(std::span<const std::int32_t> requesters) {
  const Position::Call call(watch ? &watch->position(local_tasks[0]) : nullptr, "a call of the session", requesters);
  const bool first = !std::exchange(first_call_made_, true);
  const auto failed_here = [this] { return transports[0]->failure().has_value(); };
  ClockWithoutVerdict patient(watch.get());
  const auto come = [&] { static_cast<void>(transports[0]->exchange("", Deadline(patient, options.deadline))); };
  for (;;) {
    try {
      if (first || !failed_here()) return come();
    } catch (const Error& error) {
      if (!failed_here()) throw;
      if (first) throw watch ? watch->explained(error, local_tasks[0], transports[0]->failure()) : error;
    }
    std::vector<std::unique_ptr<Transport>> fresh;
    fresh.push_back(transports[0]->renewed(options.deadline));
    if (fresh[0] == nullptr) return come();  // throws the failure
    replace_by(std::move(fresh));
  }
}

void JobState::replace_by(std::vector<std::unique_ptr<Transport>> fresh) {
  std::ranges::move(transports, std::back_inserter(failed));
  transports = std::move(fresh);
  failed_sessions.clear();
}

JobState::JobState() : process(getpid()), thread(std::this_thread::get_id()) {}

bool JobState::in_own_process() const {
  return process == getpid();
}

void JobState::require_own_process() const {
  if (in_own_process()) return;
  throw Error(
      Code::usage,
      "this process was forked from process {}, whose job does not continue here: no thread and no message does",
      process)
      .hint("connect and make sessions after fork(), in the process that runs them");
}

void JobState::require_own_thread(const std::string& call) const {
  if (std::this_thread::get_id() == thread) return;
  throw Error(Code::usage, call + " from another thread than the one that made the Cluster")
      .hint("make all calls of a Cluster, of its groups and of its sessions on the thread that called connect()");
}

JobState::~JobState() {
  if (!in_own_process()) {  // the parent process still uses what destructors would close
    for (auto* ends : {&transports, &failed})
      for (auto& end : *ends) static_cast<void>(end.release());
    static_cast<void>(relay.release());
    static_cast<void>(watch.release());
    return;
  }
  leave();
}

void JobState::leave() {
  if (std::exchange(left_, true) || std::uncaught_exceptions() > 0) return;
  try {
    for (const auto* ends : {&failed, &transports})
      for (const auto& end : *ends) end->close();
  } catch (const std::exception&) {  // the others notice when the connection is gone
  }
  failed_sessions.clear();  // before the transports, which the kept sessions use
}

}  // namespace ferry
