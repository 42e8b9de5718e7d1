#include "executor/watch/stall_detector.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/system/interrupt.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

/// A datagram of at least this size gets no more pulses, so that most datagrams fit into one Ethernet frame.
constexpr std::size_t kFullDatagram = 1000;
constexpr std::size_t kMostText = 160, kMostAwaited = 512;
/// A process delays its verdict by kAfterYou for each running process with a lower number, and by kAfterAll at most. So
/// usually only one process reaches a verdict.
constexpr std::chrono::milliseconds kAfterYou{100}, kAfterAll{600};

}  // namespace

std::vector<std::string> packed(const Heartbeat& beat) {
  BlobWriter head;
  head.add(kHeartbeat).add(beat.generation).add(beat.process).add(beat.number).add(beat.unheard);
  head.add(beat.verdict.has_value());
  if (const auto& verdict = beat.verdict)
    head.add(verdict->culprit).add(verdict->teller).add(static_cast<int>(verdict->code)).add(verdict->text);
  const std::string begin = head.take();
  std::vector<std::string> datagrams;
  for (const Pulse& pulse : beat.pulses) {
    if (datagrams.empty() || datagrams.back().size() >= kFullDatagram) datagrams.push_back(begin);
    BlobWriter writer;
    add(pulse, writer);
    datagrams.back() += writer.take();
  }
  return datagrams;
}

Heartbeat read_heartbeat(BlobReader& reader) {
  Heartbeat beat{.generation = reader.number(), .process = reader.number(), .number = reader.number()};
  beat.unheard = reader.numbers();
  if (reader.number() != 0) {
    JobVerdict& verdict = beat.verdict.emplace();
    verdict.culprit = static_cast<int>(reader.number());
    verdict.teller = static_cast<int>(reader.number());
    verdict.code = static_cast<Code>(reader.number());
    verdict.text = reader.text();
  }
  while (!reader.empty()) beat.pulses.push_back(read_pulse(reader));
  return beat;
}

StallDetector::StallDetector(Job job, Duration deadline, std::vector<PeerSockets::Process> processes, TimePoint now)
    : job_(std::move(job)),
      deadline_(deadline),
      own_task_(static_cast<int>(std::ranges::find(job_.processes, job_.self) - job_.processes.begin())),
      names_(std::move(processes)),
      processes_(static_cast<std::size_t>(std::ranges::max(job_.processes)) + 1,
                 Process{.state_since = now, .heard = now}),
      pulses_(job_.processes.size()),
      counted_(now) {
  for (std::size_t task = 0; task < pulses_.size(); ++task) pulses_[task].task = static_cast<int>(task);
}

void StallDetector::set_pulse(Pulse pulse) {
  if (pulse.text.size() > kMostText) pulse.text = escaped(pulse.text, kMostText);
  if (pulse.awaited.size() > kMostAwaited) pulse.awaited.resize(kMostAwaited);
  store_pulse(std::move(pulse));
}

void StallDetector::store_pulse(Pulse pulse) {
  Pulse& known = pulses_[pulse.task];
  moved_ = moved_ || !pulse.has_same_state(known);
  known = std::move(pulse);
}

bool StallDetector::add_heartbeat(const Heartbeat& beat, TimePoint now) {
  if (beat.process < 0 || beat.process >= std::ssize(processes_) || beat.process == job_.self) return false;
  Process& process = processes_[beat.process];
  if (beat.number < process.beat) return false;
  process.beat = beat.number;
  process.heard = now;
  process.unheard = beat.unheard;
  for (const Pulse& pulse : beat.pulses)
    if (pulse.task >= 0 && pulse.task < std::ssize(pulses_)) store_pulse(pulse);
  return true;
}

void StallDetector::set_state(int process, ProcessState state, TimePoint now) {
  Process& known = processes_[process];
  if (state != known.state) known.state_since = now;
  known.state = state;
}

void StallDetector::reset_silence(TimePoint now) {
  for (Process& process : processes_) process.heard = process.state_since = now;
}

std::vector<std::int64_t> StallDetector::unheard(TimePoint now) const {
  std::vector<std::int64_t> tasks;
  for (int task = 0; task < std::ssize(pulses_) && tasks.size() < kMostAwaited; ++task) {
    const std::size_t process = process_of(task);
    if (job_.processes[task] != job_.self && !names_[process].on_this_machine &&
        now - processes_[process].heard > kFresh)
      tasks.push_back(task);
  }
  return tasks;
}

std::vector<TaskStatus> StallDetector::make_statuses(TimePoint now, const std::vector<bool>& lost) const {
  std::vector<TaskStatus> tasks;
  tasks.reserve(pulses_.size());
  for (const Pulse& pulse : pulses_) {
    const std::size_t number = process_of(pulse.task);
    TaskStatus& task = tasks.emplace_back();
    task.pulse = pulse;
    if (lost[pulse.task]) task.pulse.doing = Pulse::Doing::left;
    if (!names_.empty()) {
      task.host = names_[number].host;
      task.pid = names_[number].id.pid;
      if (names_.size() < pulses_.size()) task.process = static_cast<int>(number);
    }
    task.on_this_machine = static_cast<int>(number) == job_.self;
    if (task.on_this_machine) continue;
    const Process& process = processes_[number];
    task.on_this_machine = names_[number].on_this_machine || names_[number].name.empty();
    task.known = names_[number].on_this_machine || process.beat > 0;
    task.silent = now - process.heard;
    task.state = process.state;
    task.state_age = now - process.state_since;
    task.unheard = process.unheard;
  }
  return tasks;
}

Duration StallDetector::count_time(std::span<const TaskStatus> tasks, TimePoint now) {
  const Duration passed = now - std::exchange(counted_, now);
  const bool goes_on = std::exchange(moved_, false) || std::ranges::any_of(tasks, [](const TaskStatus& task) {
                         if (task.state == ProcessState::traced) return true;
                         return task.pulse.busy && task.silent < kFresh && task.state == ProcessState::running;
                       });
  const bool excused = goes_on || awaits_request(tasks);
  idle_ = excused ? Duration::zero() : idle_ + passed;
  return excused ? passed : Duration::zero();
}

std::optional<JobVerdict> StallDetector::judge(std::span<const TaskStatus> tasks,
                                               const std::optional<JobVerdict>& found, TimePoint now) {
  std::optional<JobVerdict> verdict;
  // After a signal has asked the job to end, the end of a task is no failure.
  if (interrupt_requested() == 0) verdict = judge_lost(tasks, own_task_, job_.patience);
  if (!verdict) verdict = judge_direct(tasks);
  if (!verdict) verdict = found;
  if (!verdict && idle_ >= deadline_) verdict = judge_stalled(tasks, idle_);
  if (!verdict) {
    suspect_since_ = TimePoint();
    return std::nullopt;
  }
  if (suspect_since_ == TimePoint()) suspect_since_ = now;
  const auto first = processes_.begin();
  const auto before = std::count_if(first, first + job_.self, [&](const Process& process) {
    return now - process.heard < kFresh && process.state == ProcessState::running;
  });
  if (now - suspect_since_ < std::min<Duration>(kAfterYou * before, kAfterAll)) return std::nullopt;
  suspect_since_ = TimePoint();
  return verdict;
}

}  // namespace ferry
