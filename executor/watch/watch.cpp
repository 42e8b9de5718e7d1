#include "executor/watch/watch.hpp"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "base/blob.hpp"
#include "base/system/interrupt.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "comm/failure.hpp"

namespace ferry {
namespace {

/// The kind of a datagram that has the times of a task, as kHeartbeat is the kind of a heartbeat.
constexpr std::int64_t kTimes = 0x3173656d69747266;  // "frtimes1"
constexpr std::chrono::milliseconds kBeat{100};
/// The interval between beats is longer by kBeat for each kPeersPerBeat other processes, and for each kTasksPerBeat own
/// tasks.
constexpr std::size_t kPeersPerBeat = 64, kTasksPerBeat = 256;
constexpr std::size_t kMostOpText = 160;
/// The last heartbeat of a process is sent this many times, because UDP may lose datagrams.
constexpr int kLastHeartbeats = 3;
/// A process is busy if it has used this share of a core over kBusyOver.
constexpr std::chrono::seconds kBusyOver{1};
constexpr double kBusyShare = 0.1;
/// The time that a task waits for the verdict after its transport has lost another task.
constexpr std::chrono::milliseconds kVerdictComes{1000};

std::vector<int> tasks_of(const Watch::Job& job) {
  std::vector<int> tasks;
  for (std::size_t task = 0; task < job.processes.size(); ++task)
    if (job.processes[task] == job.self) tasks.push_back(static_cast<int>(task));
  return tasks;
}

std::int64_t beat_factor(std::size_t processes, std::size_t own_tasks) {
  const std::size_t peers = processes == 0 ? 0 : processes - 1;
  return static_cast<std::int64_t>(1 + peers / kPeersPerBeat + own_tasks / kTasksPerBeat);
}

/// Returns the verdict, if any, that follows from an error of a task: the task has noticed before the watch that it
/// waits in vain.
std::optional<JobVerdict> judge_error(std::span<const TaskStatus> tasks, int task, const Error& error,
                                      Duration deadline) {
  if (error.code() != Code::stalled) return std::nullopt;
  const auto* const absent = dynamic_cast<const AbsentError*>(&error);
  if (absent == nullptr) {
    const bool waits = tasks[task].pulse.doing == Pulse::Doing::waiting;
    return waits ? judge_stalled(tasks, deadline) : std::nullopt;
  }
  // Other tasks that wait in the exchange find the same absent tasks now. The first of them prints the verdict.
  Error text = error;
  for (const int other : absent->tasks()) text.note(who(tasks[other]) + " " + doing_text(tasks[other]));
  const auto first = std::ranges::find_if(tasks, [&](const TaskStatus& other) {
    return other.pulse.task == task || (other.pulse.doing == Pulse::Doing::inside && other.silent < kFresh);
  });
  return JobVerdict{absent->tasks()[0], first->pulse.task, error.code(), text.text()};
}

}  // namespace

Watch::Watch(Job job) : Watch(std::move(job), nullptr, Deadline::never(system_clock())) {}

Watch::Watch(Job job, Transport& between, const Deadline& deadline) : Watch(std::move(job), &between, deadline) {}

Watch::Watch(Job job, Transport* between, const Deadline& deadline)
    : job_(std::move(job)),
      sockets_(between == nullptr ? PeerSockets() : PeerSockets(*between, job_.self, job_.interface, deadline)),
      flights_(job_.processes, job_.self, [this] { sockets_.wake(); }),
      board_(job_.processes.size()),
      slowness_(job_.processes.size()),
      own_(tasks_of(job_)),
      positions_(own_.begin(), own_.end()),
      beat_factor_(beat_factor(sockets_.processes().size(), own_.size())),
      detector_({job_.processes, job_.self, kPatience * beat_factor_}, job_.deadline, sockets_.processes(),
                system_clock().now()),
      begun_(system_clock().now()),
      last_beat_(begun_),
      cpu_since_(begun_) {
  board_.set_statuses(detector_.make_statuses(begun_, board_.lost()));
  if (between != nullptr) send_first_heartbeat(*between, deadline);
  begin();
}

/// Sends a first datagram to the others before any of them continues. A process that has received nothing from another
/// process by then, and receives nothing from it later, cannot receive from it at all.
void Watch::send_first_heartbeat(Transport& between, const Deadline& deadline) {
  if (std::ranges::all_of(sockets_.processes(), &PeerSockets::Process::on_this_machine)) return;
  ++beats_;
  send_heartbeat();
  static_cast<void>(between.exchange("", deadline));
}

void Watch::begin() {
  // The program's signal handlers run on its own threads.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { serve(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Watch::~Watch() {
  ending_.store(true);
  sockets_.wake();
  thread_.join();
  // The task that should have printed the verdict has ended before it did.
  if (const auto verdict = board_.verdict();
      verdict && !printed_.load() && std::ranges::count(own_, verdict->teller) > 0)
    log_warn(verdict->text);
}

Position& Watch::position(int task) {
  return positions_[std::ranges::lower_bound(own_, task) - own_.begin()];
}

// ---- The watch's thread ----

void Watch::serve() {
  const auto send = [this](int process, std::string bytes) { sockets_.send(process, std::move(bytes)); };
  const Duration every = kBeat * beat_factor_;
  bool asks = false;
  while (!ending_.load()) {
    TimePoint now = system_clock().now();
    sockets_.wait(std::min<Duration>(last_beat_ + every - now, asks ? FlightGather::kRepeatAfter : every));
    now = system_clock().now();
    receive(now);
    asks = flights_.send_due(now, send);
    if (now - last_beat_ < every) continue;
    if (now - last_beat_ > every + kFresh) detector_.reset_silence(now);
    beat(now);
  }
  flights_.send_due(system_clock().now(), send);
  for (Position& position : positions_) position.set_left();
  look_at_own(system_clock().now());
  for (int i = 0; i < kLastHeartbeats; ++i) send_heartbeat();
}

void Watch::receive(TimePoint now) {
  sockets_.receive([&](std::string_view datagram) { take(datagram, now); });
}

void Watch::take(std::string_view datagram, TimePoint now) try {
  BlobReader reader(datagram);
  const std::int64_t kind = reader.number();
  if (kind == kHeartbeat) take_heartbeat(read_heartbeat(reader), now);
  if (kind == kTimes)
    if (const std::int64_t task = reader.number(); task >= 0 && task < std::ssize(job_.processes))
      slowness_.set(static_cast<int>(task), read_work_times(reader), now);
  flights_.take(kind, reader, [this](int to, const std::string& bytes) { sockets_.send(to, bytes); });
} catch (const Error&) {  // the datagram is too short: from another build, or damaged with a right tag
}

void Watch::take_heartbeat(const Heartbeat& beat, TimePoint now) {
  if (!detector_.add_heartbeat(beat, now) || !beat.verdict) return;
  bool all_spared = true;  // whether all tasks of the sender's process are spared
  for (int task = 0; task < std::ssize(job_.processes); ++task)
    if (process_of(task) == beat.process) all_spared = all_spared && board_.is_spared(task);
  // If a spared task hears from no other task, only that task must end.
  if (beat.verdict->code != Code::peer_lost || !all_spared) board_.adopt(*beat.verdict, beat.generation);
}

void Watch::beat(TimePoint now) {
  look_at_own(now);
  look_at_peers(now);
  receive(now);  // a process that is gone now may have sent a last heartbeat
  const std::vector<TaskStatus> tasks = detector_.make_statuses(now, board_.lost());
  clock().exclude_time(detector_.count_time(tasks, now));
  if (!over()) judge(tasks, now);
  look_at_times(tasks, now);
  if (!looked_for_unheard_ && now - begun_ >= kPatience * beat_factor_) look_for_unheard(tasks);
  last_beat_ = now;
  ++beats_;
  send_heartbeat();
  board_.set_statuses(tasks);
}

void Watch::look_at_own(TimePoint now) {
  if (now - cpu_since_ >= kBusyOver) {
    const double used = process_cpu_seconds();
    busy_ = used - cpu_before_ >= kBusyShare * std::chrono::duration<double>(now - cpu_since_).count();
    cpu_before_ = used;
    cpu_since_ = now;
  }
  for (Position& position : positions_) detector_.set_pulse(position.pulse(now, busy_));
}

void Watch::look_at_peers(TimePoint now) {
  const auto& processes = sockets_.processes();
  for (int process = 0; process < std::ssize(processes); ++process)
    if (const auto& peer = processes[process]; peer.on_this_machine && process != job_.self)
      detector_.set_state(process, state_of(peer.id), now);
}

void Watch::judge(std::span<const TaskStatus> tasks, TimePoint now) {
  const std::optional<JobVerdict> verdict = detector_.judge(tasks, board_.found(), now);
  if (!verdict) return;
  const int task = verdict->culprit;
  if (verdict->code == Code::peer_lost && board_.is_spared(task) && process_of(task) != job_.self)
    board_.add_loss({task, verdict->text.substr(0, verdict->text.find('\n'))});
  else
    board_.adopt(*verdict);
}

/// Sends the states of the own tasks to all processes.
void Watch::send_heartbeat() {
  if (sockets_.processes().empty()) return;
  Heartbeat beat{.generation = board_.generation(), .process = job_.self, .number = beats_};
  beat.unheard = detector_.unheard(system_clock().now());
  beat.verdict = board_.verdict();  // read after the generation: no verdict may be sent as one of a later generation
  for (const int task : own_) beat.pulses.push_back(detector_.pulse(task));
  for (std::string& datagram : packed(beat)) sockets_.send_to_all(std::move(datagram));
}

void Watch::look_at_times(std::span<const TaskStatus> tasks, TimePoint now) {
  if (!slowness_.due(now)) return;
  if (!is_first()) return send_times();
  for (const std::string& warning : slowness_.warnings(tasks, now)) log_warn(warning);
}

/// Warns, once, about a network that carries the messages of the job but not the messages of its watch.
void Watch::look_for_unheard(std::span<const TaskStatus> tasks) {
  looked_for_unheard_ = true;
  std::vector<int> unheard;
  for (const TaskStatus& task : tasks)
    if (!task.known) unheard.push_back(task.pulse.task);
  if (!is_first() || unheard.empty()) return;
  log_warn(tasks_text(unheard) +
           " cannot be heard over UDP: if one is lost or stopped, the job may say so only at its "
           "deadline, and not why\n  try: " +
           (sockets_.has_udp() ? "let UDP between the hosts through the firewall; --interface chooses another network"
                               : "give this host an IPv4 address, which the watch needs"));
}

/// Sends the measured times of the own tasks to the process of task 0.
void Watch::send_times() const {
  for (const int task : own_) {
    const WorkTimes times = slowness_.times(task);
    if (times.samples == 0) continue;
    BlobWriter writer;
    writer.add(kTimes).add(task);
    add(times, writer);
    sockets_.send(job_.processes[0], writer.take());
  }
}

// ---- The tasks' threads ----

void Watch::set_times(int task, WorkTimes times) {
  for (WorkTimes::Work& work : times.busiest)
    if (work.op.size() > kMostOpText) work.op = escaped(work.op, kMostOpText);
  slowness_.set(task, std::move(times), system_clock().now());
}

Error Watch::verdict(int task) const {
  const std::optional<JobVerdict> verdict = board_.verdict();
  FERRY_ASSERT(verdict, "there is no verdict");
  Error error(verdict->code, verdict->text);
  if (job_.gathered && verdict->teller != task) error.told_elsewhere();
  if (verdict->teller == task) printed_.store(true);
  return error;
}

std::optional<JobVerdict> Watch::find(int task, const Error& error, const std::optional<Failure>& failure) const {
  const bool lost = error.code() == Code::peer_lost && failure, stopped = error.code() == Code::interrupted;
  if (const int signal = interrupt_requested(); signal != 0 && (lost || (stopped && job_.gathered)))
    return JobVerdict{task, task, Code::interrupted, interrupt_error(signal).text()};
  if (!lost) return std::nullopt;
  if (failure->unreached_by >= 0) return judge_connection(statuses(), *failure);
  if (failure->task == task || failure->said || failure->code != Code::peer_lost) return std::nullopt;
  // For a task of this machine, the watch sees what has become of its process.
  const std::vector<TaskStatus> tasks = statuses();
  return tasks[failure->task].on_this_machine ? std::nullopt : std::optional(judge_ended(tasks, *failure, task));
}

Error Watch::explained(const Error& error, int task, const std::optional<Failure>& failure) {
  const bool lost = error.code() == Code::peer_lost && failure, echo = lost && failure->task != task;
  if (echo && failure->said) {
    Error result = error;
    if (job_.gathered) result.told_elsewhere();
    return result;
  }
  const std::optional<JobVerdict> found = find(task, error, failure);
  if (found) board_.set_found(*found);
  // A transport may notice that a task is lost before the watch can say why.
  if (echo || found) static_cast<void>(over_within(kVerdictComes));
  if (!over())
    if (const auto verdict = judge_error(statuses(), task, error, job_.deadline)) board_.adopt(*verdict);
  if (over()) return verdict(task);
  // Another task has found the failure of this task, and leaves the report to this task.
  if (lost && !echo && !found) return {failure->code, failure->text};
  return error;
}

std::optional<int> Watch::teller() const {
  const std::optional<JobVerdict> verdict = board_.verdict();
  return verdict ? std::optional(verdict->teller) : std::nullopt;
}

std::vector<int> Watch::answering() const {
  std::vector<int> tasks;
  for (const TaskStatus& task : statuses())
    if (process_of(task.pulse.task) != job_.self && task.pulse.doing != Pulse::Doing::left &&
        task.state == ProcessState::running && task.silent < kFresh)
      tasks.push_back(task.pulse.task);
  return tasks;
}

bool Watch::gathers() const {
  return std::ranges::none_of(answering(), [&](int task) { return process_of(task) < job_.self; });
}

void Watch::lost(const Loss& loss) {
  board_.set_lost(loss.task);
  if (is_first()) log_warn("the job continues without " + who(statuses()[loss.task]) + ": " + loss.why);
}

void Watch::restart() {
  printed_.store(false);
  flights_.restart();
  board_.reset();
}

}  // namespace ferry
