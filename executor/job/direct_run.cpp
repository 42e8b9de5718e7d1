#include "executor/job/direct_run.hpp"

#include <optional>

#include "base/error.hpp"
#include "comm/failure.hpp"
#include "executor/job/direct.hpp"
#include "executor/job/job_member.hpp"

namespace ferry {
namespace {

/// From so long on a wait is reported to the watch. A task that tests reports so often, and counts as waiting for a
/// few times as long after a report.
constexpr std::chrono::milliseconds kLongWait{100}, kReportEvery{50}, kTests{250};
/// Added to the deadline, so that the watch, which knows more, gives its verdict first.
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
  if (std::this_thread::get_id() != state_.thread)
    throw Error(Code::usage, "a direct call from another thread than the one that made the Cluster")
        .hint("make all calls of a Cluster and its groups on the thread that called connect()");
  if (used_ == state_.transports[0].get()) return;
  state_.require_own_process();
  if (state_.transports.size() != 1 || state_.relay)
    throw Error(Code::usage, "this process runs " + std::to_string(state_.transports.size()) + " of the job's " +
                                 std::to_string(state_.topology.size()) +
                                 " tasks; direct calls need one process for each task")
        .hint("start one process for each task, or use a graph");
  if (const auto failure = state_.transports[0]->failure()) throw error_of(*failure);
  flying_.clear();
  used_ = state_.transports[0].get();
  ++generation_;
}

bool DirectJob::progress() {
  bool any = false;
  for (std::size_t i = 0; i < flying_.size(); ++i) {
    DirectRun& run = *flying_[i];
    const auto same = [&](const auto& earlier) {
      return !earlier->done() && earlier->channel() == run.channel() && &earlier->group() == &run.group();
    };
    const auto end = flying_.begin() + static_cast<std::ptrdiff_t>(i);
    if (run.channel() != 0 && std::any_of(flying_.begin(), end, same)) continue;
    if (!run.progress()) continue;
    run.set_done();
    any = true;
  }
  if (any) std::erase_if(flying_, [](const auto& run) { return run->done(); });
  return any;
}

void DirectJob::require_in_flight(const DirectRun& run) {
  require_usable();
  if (std::ranges::none_of(flying_, [&](const auto& other) { return other.get() == &run; }))
    throw Error(Code::usage, "this request is of a run of the job that has failed")
        .hint("start the call again after the first call of the new session");
}

bool DirectJob::test(DirectRun& run) {
  if (run.done()) return true;
  require_in_flight(run);
  guarded([&] {
    static_cast<void>(progress());
    const TimePoint now = system_clock().now();
    if (run.done()) {
      if (run.reported_at_ != TimePoint()) position()->goes_on();
    } else if (!run.tested_) {
      run.tested_ = state_.clock().now();
      run.tested_at_ = now;
    } else if (state_.clock().now() - *run.tested_ >= patience()) {
      throw stalled(oldest_of(run.group()));
    } else if (position() != nullptr && now - run.tested_at_ >= kLongWait && now - run.reported_at_ >= kReportEvery) {
      run.reported_at_ = now;
      Awaited awaited = oldest_of(run.group()).awaited();
      awaited.until = now + kTests;
      position()->waits(std::move(awaited));
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

/// The call that keeps the others of its group waiting.
const DirectRun& DirectJob::oldest_of(const DirectGroup& group) const {
  return **std::ranges::find_if(flying_, [&](const auto& run) { return &run->group() == &group; });
}

void DirectJob::wait_longer(const std::function<bool()>& ready, const std::function<const DirectRun&()>& oldest) {
  Clock& clock = state_.clock();
  const TimePoint begin = system_clock().now(), waits_since = clock.now();
  struct Report {
    ~Report() {
      if (about != nullptr) position->goes_on();
    }
    Position* const position;
    const DirectRun* about = nullptr;
  } report{position()};
  std::chrono::microseconds nap = kFirstNap;
  while (!ready()) {
    if (clock.now() - waits_since >= patience()) throw stalled(oldest());
    if (report.position != nullptr && report.about != &oldest() && system_clock().now() - begin >= kLongWait) {
      report.about = &oldest();
      report.position->waits(report.about->awaited());
    }
    transport().idle(nap);
    nap = std::min(2 * nap, kLongestNap);
  }
}

void DirectJob::drop(const DirectGroup& group) {
  if (!has(group)) std::erase_if(groups, [&](const auto& other) { return other.get() == &group; });
}

/// Tells the other tasks, and throws what the watch knows of the cause.
void DirectJob::fail(const Error& error) {
  used_ = nullptr;
  JobMember(transport().task(), transport(), state_).guarded([&]() -> void { throw error; });
  throw error;
}

}  // namespace ferry
