#include "executor/direct/direct_run.hpp"

#include <optional>

#include "base/error.hpp"
#include "comm/failure.hpp"
#include "executor/job/job_member.hpp"

namespace ferry {
namespace {

/// kLongWait: a wait is reported to the watch after this time. kReportEvery: how often test() reports a wait. kTests:
/// how long the task counts as waiting after such a report.
constexpr std::chrono::milliseconds kLongWait{100}, kReportEvery{50}, kTests{250};
/// Added to the deadline, so that the watch, which knows the cause, reports first.
constexpr std::chrono::seconds kWatchFirst{1};
/// Sleeps of a long wait: the first, doubled up to the longest.
constexpr std::chrono::microseconds kFirstNap{2000}, kLongestNap{50'000};
constexpr std::size_t kMostFile = 80;

}  // namespace

std::string DirectRun::line() const {
  const std::string file = at_.file_name();
  return (file.size() > kMostFile ? "…" + file.substr(file.size() - kMostFile) : file) + ":" +
         std::to_string(at_.line());
}

void DirectJob::require_usable() {
  state_.require_own_thread("a direct call");
  if (used_ == state_.transports[0].get()) return;
  state_.require_own_process();
  if (state_.transports.size() != 1 || state_.relay)
    throw Error(Code::usage, "this process runs {} of the job's {} tasks; direct calls need one process for each task",
                state_.transports.size(), state_.topology.size())
        .hint("start one process for each task, or use a graph");
  if (const auto failure = state_.transports[0]->failure()) throw error_of(*failure);
  queues_.clear();
  used_ = state_.transports[0].get();
  ++generation_;
}

void DirectJob::add(std::shared_ptr<DirectRun> run) {
  run->generation_ = generation_;
  run->number_ = started_++;
  queues_[{run->group().id(), run->queue().number}].push_back(std::move(run));
}

bool DirectJob::has(const CallGroup& group) const {
  const auto first = queues_.lower_bound({group.id(), 0});
  return first != queues_.end() && first->first.first == group.id();
}

void DirectJob::progress() {
  for (auto& [key, queue] : queues_) advance(queue);
  std::erase_if(queues_, [](const auto& entry) { return entry.second.empty(); });
}

void DirectJob::advance(RunQueue& queue) {
  for (std::size_t i = 0; i < queue.size() && i < queue[i]->queue().at_once;) {
    if (move(*queue[i])) {
      queue[i]->set_done();
      queue.erase(queue.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      ++i;
    }
  }
}

/// Adds to the error the call that waits for a task which has left.
Error DirectJob::located(const AbsentError& error, const DirectRun& run) const {
  return Error(error).note("task " + std::to_string(transport().task()) + " waits in " + run.awaited().text);
}

void DirectJob::require_in_flight(const DirectRun& run) {
  require_usable();
  if (run.generation_ != generation_)
    throw Error(Code::usage, "this request is of a run of the job that has failed")
        .hint("start the call again after the first call of the new session");
}

/// Whether bytes have moved since the last call. If so, reports progress to the watch.
bool DirectJob::look_for_moves() {
  const std::uint64_t now = transport().moved();
  if (std::exchange(moved_, now) == now) return false;
  if (Position* const here = position()) here->moves();
  return true;
}

bool DirectJob::test(DirectRun& run) {
  if (run.done()) return true;
  require_in_flight(run);
  guarded([&] {
    progress();
    const TimePoint now = system_clock().now();
    const bool moves = look_for_moves();
    if (run.done()) {
      if (run.reported_at_ != TimePoint()) position()->end_wait();
    } else if (!run.tested_) {
      run.tested_ = state_.clock().now();
      run.tested_at_ = now;
    } else if (moves) {
      run.tested_ = state_.clock().now();
    } else if (state_.clock().now() - *run.tested_ >= patience()) {
      throw stalled(oldest_of(run.group()));
    } else if (position() != nullptr && now - run.tested_at_ >= kLongWait && now - run.reported_at_ >= kReportEvery) {
      run.reported_at_ = now;
      Awaited awaited = oldest_of(run.group()).awaited();
      awaited.until = now + kTests;
      position()->begin_wait(std::move(awaited));
    }
  });
  return run.done();
}

Duration DirectJob::patience() const {
  const Duration deadline = state_.options.deadline;
  return deadline + std::min<Duration>(deadline, kWatchFirst);
}

Position* DirectJob::position() const {
  return state_.watch ? &state_.watch->position(transport().task()) : nullptr;
}

Error DirectJob::stalled(const DirectRun& oldest) const {
  return {Code::stalled, "task " + std::to_string(transport().task()) + " waited " + seconds_text(patience()) + " in " +
                             oldest.awaited().text};
}

void DirectJob::wait(DirectRun& run) {
  if (run.done()) return;
  require_in_flight(run);
  guarded([&] {
    const auto ready = [&] {
      progress();
      return run.done();
    };
    const int spins = state_.crowded ? kFewSpins : kSpins;
    for (int turn = 1; turn <= spins; ++turn) {
      if (ready()) return;
      if (turn % kPauseEvery == 0) spin_pause();
    }
    wait_longer(ready, [&]() -> const DirectRun& { return oldest_of(run.group()); });
  });
}

/// The oldest call of the group in flight: the other calls of the group wait for it.
const DirectRun& DirectJob::oldest_of(const CallGroup& group) const {
  const DirectRun* oldest = nullptr;
  for (auto queue = queues_.lower_bound({group.id(), 0}); queue != queues_.end(); ++queue) {
    const auto& [key, runs] = *queue;
    if (key.first != group.id()) break;
    if (oldest == nullptr || runs.front()->number_ < oldest->number_) oldest = runs.front().get();
  }
  FERRY_ASSERT(oldest != nullptr, "a group waits for no call");
  return *oldest;
}

void DirectJob::wait_longer(const std::function<bool()>& ready, const std::function<const DirectRun&()>& oldest) {
  Clock& clock = state_.clock();
  const TimePoint begin = system_clock().now();
  TimePoint waits_since = clock.now(), tried = begin;
  struct Report {
    ~Report() {
      if (about != nullptr) position->end_wait();
    }
    Position* const position;
    const DirectRun* about = nullptr;
  } report{position()};
  std::chrono::microseconds nap = kFirstNap;
  while (!ready()) {
    if (look_for_moves() || system_clock().now() - tried >= kLongWait) waits_since = clock.now();
    if (clock.now() - waits_since >= patience()) throw stalled(oldest());
    if (report.position != nullptr && report.about != &oldest() && system_clock().now() - begin >= kLongWait) {
      report.about = &oldest();
      report.position->begin_wait(report.about->awaited());
    }
    {
      const Position::Phase rests(position(), false);
      transport().idle(nap);
    }
    tried = system_clock().now();
    nap = std::min(2 * nap, kLongestNap);
  }
}

void DirectJob::drop(const CallGroup& group) {
  if (!has(group)) std::erase_if(groups, [&](const auto& other) { return other.get() == &group; });
}

/// Reports the error to the other tasks, and throws it with the cause that the watch has found.
void DirectJob::fail(const Error& error) {
  used_ = nullptr;
  JobMember(transport().task(), transport(), state_).guarded([&]() -> void { throw error; });
  throw error;
}

}  // namespace ferry
