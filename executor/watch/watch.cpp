#include "executor/watch/watch.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/blob.hpp"
#include "base/sha256.hpp"
#include "base/system/interrupt.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "comm/failure.hpp"

namespace ferry {
namespace {

/// What a datagram has: how tasks stand, or what one has measured.
constexpr std::int64_t kPulses = 0x3168637461777266, kTimes = 0x3173656d69747266;  // "frwatch1", "frtimes1"
constexpr std::chrono::milliseconds kBeat{100};
/// One more of these processes, or of these tasks in a process, makes beats proportionally rarer.
constexpr std::size_t kPeersPerBeat = 64, kTasksPerBeat = 256;
/// A datagram gets no more pulses once it is so long, so that most fit into one Ethernet frame.
constexpr std::size_t kFullDatagram = 1000;
constexpr std::size_t kMostText = 160, kMostAwaited = 512;
/// Over UDP a farewell may be lost, and is said so often.
constexpr int kFarewells = 3;
/// Whether a process is busy is found over so long, and from this share of a core on.
constexpr std::chrono::seconds kBusyOver{1};
constexpr double kBusyShare = 0.1;
/// A process lets each one with a lower number reach a verdict first for so long.
constexpr std::chrono::milliseconds kAfterYou{100}, kAfterAll{600};
/// The time that a task waits for the verdict after its transport has lost another task.
constexpr std::chrono::milliseconds kVerdictComes{1000};

std::string signed_with(std::string_view secret, std::string bytes) {
  const Sha256 proof = hmac_sha256(secret, bytes);
  return bytes.append(reinterpret_cast<const char*>(proof.data()), proof.size());
}

}  // namespace

Watch::Watch(Job job)
    : job_(std::move(job)),
      flights_(job_.processes, job_.self, [this] { wait_.wake(); }),
      stragglers_(job_.processes.size()),
      slow_links_(job_.processes.size()),
      times_(job_.processes.size()),
      spared_(job_.processes.size()),
      lost_(job_.processes.size()) {
  prepare();
  begin();
}

Watch::Watch(Job job, Transport& between, const Deadline& deadline)
    : job_(std::move(job)),
      flights_(job_.processes, job_.self, [this] { wait_.wake(); }),
      stragglers_(job_.processes.size()),
      slow_links_(job_.processes.size()),
      times_(job_.processes.size()),
      spared_(job_.processes.size()),
      lost_(job_.processes.size()) {
  find_peers(between, deadline);
  prepare();
  greet(between, deadline);
  begin();
}

void Watch::prepare() {
  for (std::size_t task = 0; task < job_.processes.size(); ++task) {
    Pulse& pulse = pulses_.emplace_back();
    pulse.task = static_cast<int>(task);
    if (job_.processes[task] != job_.self) continue;
    own_.push_back(pulse.task);
    positions_.emplace_back(pulse.task);
  }
  const std::size_t rarer = 1 + peers_.size() / kPeersPerBeat + own_.size() / kTasksPerBeat;
  every_ = kBeat * rarer;
  patience_ = kPatience * rarer;
  room_.resize(kMostDatagram);
  begun_ = last_beat_ = cpu_since_ = system_clock().now();
  idle_since_ = clock_.now();
  seen_ = sightings(last_beat_);
}

/// Sends a first datagram to the others before any of them continues. A process that has received nothing from another
/// one by then, and receives nothing later, cannot receive from it at all.
void Watch::greet(Transport& between, const Deadline& deadline) {
  if (std::ranges::all_of(peers_, &Peer::here)) return;
  ++beats_;
  tell();
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
  wait_.wake();
  thread_.join();
}

Position& Watch::position(int task) {
  return positions_[static_cast<std::size_t>(std::ranges::lower_bound(own_, task) - own_.begin())];
}

// ---- The watch's thread ----

void Watch::serve() {
  const auto send_flight = [this](int process, std::string bytes) { this->send_flight(process, std::move(bytes)); };
  bool asks = false;
  while (!ending_.load()) {
    TimePoint now = system_clock().now();
    wait_.wait(sockets_, std::min<Duration>(last_beat_ + every_ - now, asks ? FlightGather::kAgain : every_));
    now = system_clock().now();
    receive(now);
    asks = flights_.say(now, send_flight);
    if (now - last_beat_ >= every_) beat(now);
  }
  flights_.say(system_clock().now(), send_flight);
  for (Position& position : positions_) position.leaves();
  look_at_own(system_clock().now());
  for (int i = 0; i < kFarewells; ++i) tell();
}

void Watch::receive(TimePoint now) {
  for (const DatagramSocket& socket : sockets_)
    while (const auto datagram = socket.receive(room_)) take(*datagram, now);
}

void Watch::take(std::string_view datagram, TimePoint now) try {
  Sha256 proof;
  if (datagram.size() < proof.size()) return;
  std::memcpy(proof.data(), datagram.data() + datagram.size() - proof.size(), proof.size());
  datagram.remove_suffix(proof.size());
  if (!same_proof(hmac_sha256(secret_, datagram), proof)) return;
  BlobReader reader(datagram);
  const std::int64_t kind = reader.number();
  if (kind == kPulses) take_pulses(reader, now);
  if (kind == kTimes) take_times(reader);
  flights_.take(kind, reader, [this](int to, const std::string& bytes) { send_flight(to, bytes); });
} catch (const Error&) {  // cut short: another build's, or damaged with a right proof
}

void Watch::take_pulses(BlobReader& reader, TimePoint now) {
  const std::int64_t generation = reader.number(), process = reader.number(), beat = reader.number();
  if (process < 0 || process >= static_cast<std::int64_t>(peer_of_.size()) || process == job_.self) return;
  Peer& peer = peers_[peer_of_[static_cast<std::size_t>(process)]];
  if (beat < peer.beat) return;
  peer.beat = beat;
  peer.heard = now;
  peer.unheard = reader.numbers();
  std::optional<JobVerdict> verdict;
  if (reader.number() != 0) {
    verdict.emplace();
    verdict->culprit = static_cast<int>(reader.number());
    verdict->teller = static_cast<int>(reader.number());
    verdict->code = static_cast<Code>(reader.number());
    verdict->text = reader.text();
  }
  const auto lock = monitor_.lock();
  while (!reader.empty()) {
    const Pulse pulse = read_pulse(reader);
    if (pulse.task < 0 || pulse.task >= static_cast<int>(pulses_.size())) return;
    Pulse& known = pulses_[static_cast<std::size_t>(pulse.task)];
    moved_ = moved_ || !pulse.alike(known);
    known = pulse;
  }
  // A spared task that hears from no other is to end, alone.
  const bool own_end = verdict && verdict->code == Code::peer_lost && is_spared(process);
  if (verdict && generation == generation_ && !own_end) adopt(*verdict);
}

void Watch::take_times(BlobReader& reader) {
  const std::int64_t task = reader.number();
  if (task < 0 || task >= static_cast<std::int64_t>(times_.size())) return;
  WorkTimes times = read_work_times(reader);
  const auto lock = monitor_.lock();
  if (!measured_since_) measured_since_ = system_clock().now();
  times_[static_cast<std::size_t>(task)] = std::move(times);
}

void Watch::beat(TimePoint now) {
  if (now - last_beat_ > every_ + kFresh)  // this process itself stood still, and what the others said is old
    for (Peer& peer : peers_) peer.heard = peer.state_since = now;
  look_at_own(now);
  look_at_peers(now);
  receive(now);  // a process that is gone now may have said before that it leaves
  const std::vector<Sighting> tasks = sightings(now);
  count_time(tasks, now);
  if (!over()) judge(tasks, now);
  look_at_times(tasks, now);
  if (!looked_for_unheard_ && now - begun_ >= patience_) look_for_unheard(tasks);
  last_beat_ = now;
  ++beats_;
  tell();
  const auto lock = monitor_.lock();
  seen_ = tasks;
}

void Watch::look_at_own(TimePoint now) {
  if (now - cpu_since_ >= kBusyOver) {
    const double used = process_cpu_seconds();
    busy_ = used - cpu_before_ >= kBusyShare * std::chrono::duration<double>(now - cpu_since_).count();
    cpu_before_ = used;
    cpu_since_ = now;
  }
  const auto lock = monitor_.lock();
  for (std::size_t i = 0; i < own_.size(); ++i) {
    Pulse pulse = positions_[i].pulse(now, busy_);
    if (pulse.text.size() > kMostText) pulse.text = escaped(pulse.text, kMostText);
    if (pulse.awaited.size() > kMostAwaited) pulse.awaited.resize(kMostAwaited);
    Pulse& known = pulses_[static_cast<std::size_t>(own_[i])];
    moved_ = moved_ || !pulse.alike(known);
    known = std::move(pulse);
  }
}

void Watch::look_at_peers(TimePoint now) {
  for (Peer& peer : peers_) {
    if (!peer.here) continue;
    const ProcessState state = state_of(peer.id);
    if (state != peer.state) peer.state_since = now;
    peer.state = state;
  }
}

std::vector<Sighting> Watch::sightings(TimePoint now) const {
  std::vector<Sighting> tasks;
  const auto lock = monitor_.lock();
  tasks.reserve(pulses_.size());
  for (const Pulse& pulse : pulses_) {
    const int process = job_.processes[static_cast<std::size_t>(pulse.task)];
    Sighting& task = tasks.emplace_back();
    task.pulse = pulse;
    if (!hosts_.empty()) {
      task.host = hosts_[static_cast<std::size_t>(process)];
      task.pid = pids_[static_cast<std::size_t>(process)];
    }
    if (lost_[static_cast<std::size_t>(pulse.task)]) task.pulse.doing = Pulse::Doing::left;
    task.here = process == job_.self;
    if (task.here) continue;
    const Peer& peer = peers_[peer_of_[static_cast<std::size_t>(process)]];
    task.here = peer.here || peer.name.empty();
    task.known = peer.here || peer.beat > 0;
    task.silent = now - peer.heard;
    task.state = peer.state;
    task.state_age = now - peer.state_since;
    task.unheard = peer.unheard;
  }
  return tasks;
}

/// Lets the job's clock run only while all stand still, although there is something to do.
void Watch::count_time(std::span<const Sighting> tasks, TimePoint now) {
  const bool goes_on = std::exchange(moved_, false) || std::ranges::any_of(tasks, [](const Sighting& task) {
                         if (task.state == ProcessState::traced) return true;
                         return task.pulse.busy && task.silent < kFresh && task.state == ProcessState::running;
                       });
  if (!goes_on && !awaits_request(tasks)) return;
  clock_.excuse(now - last_beat_);
  idle_since_ = clock_.now();
}

void Watch::judge(std::span<const Sighting> tasks, TimePoint now) {
  std::optional<JobVerdict> verdict;
  if (interrupt_requested() == 0) verdict = judge_lost(tasks, own_[0], patience_);  // else their ends are no news
  const Duration idle = clock_.now() - idle_since_;
  if (!verdict) verdict = judge_direct(tasks);
  if (!verdict) verdict = found();
  if (!verdict && idle >= job_.deadline) verdict = judge_stalled(tasks, idle);
  if (!verdict) {
    suspect_since_ = TimePoint();
    return;
  }
  if (suspect_since_ == TimePoint()) suspect_since_ = now;
  const auto before = std::ranges::count_if(peers_, [&](const Peer& peer) {
    return peer.process < job_.self && now - peer.heard < kFresh && peer.state == ProcessState::running;
  });
  if (now - suspect_since_ < std::min<Duration>(kAfterYou * before, kAfterAll)) return;
  const auto lock = monitor_.lock();
  if (!goes_on_without(*verdict)) adopt(*verdict);
}

/// Called under the lock. Notes a spared task that is lost.
bool Watch::goes_on_without(const JobVerdict& verdict) {
  const auto task = static_cast<std::size_t>(verdict.culprit);
  if (verdict.code != Code::peer_lost || !spared_[task] || job_.processes[task] == job_.self) return false;
  if (lost_[task]) return true;
  lost_[task] = true;
  losses_.push_back({verdict.culprit, verdict.text.substr(0, verdict.text.find('\n'))});
  any_losses_.store(true);
  suspect_since_ = TimePoint();
  return true;
}

/// Called under the lock. Whether all tasks of the process are spared.
bool Watch::is_spared(std::int64_t process) const {
  for (std::size_t task = 0; task < spared_.size(); ++task)
    if (job_.processes[task] == process && !spared_[task]) return false;
  return true;
}

std::optional<JobVerdict> Watch::found() const {
  const auto lock = monitor_.lock();
  return found_;
}

/// Called under the lock.
std::optional<JobVerdict> Watch::found_by(int task, const Error& error, const std::optional<Failure>& failure) const {
  const bool lost = error.code() == Code::peer_lost && failure, stopped = error.code() == Code::interrupted;
  if (const int signal = interrupt_requested(); signal != 0 && (lost || (stopped && job_.gathered)))
    return JobVerdict{task, task, Code::interrupted, interrupt_error(signal).text()};
  if (lost && failure->unreached_by >= 0) return judge_connection(seen_, *failure);
  return std::nullopt;
}

/// Called under the lock.
void Watch::adopt(const JobVerdict& verdict) {
  if (verdict_) return;
  verdict_ = verdict;
  over_.store(true, std::memory_order_release);
  clock_.set_over(true);
  monitor_.notify();
}

/// Sends how the own tasks stand to all processes.
void Watch::tell() const {
  if (peers_.empty()) return;
  const TimePoint now = system_clock().now();
  std::vector<std::int64_t> unheard;
  for (std::size_t task = 0; task < job_.processes.size(); ++task) {
    const int process = job_.processes[task];
    if (process == job_.self) continue;
    const Peer& peer = peers_[peer_of_[static_cast<std::size_t>(process)]];
    if (!peer.here && now - peer.heard > kFresh) unheard.push_back(static_cast<std::int64_t>(task));
  }
  if (unheard.size() > kMostAwaited) unheard.resize(kMostAwaited);
  const auto lock = monitor_.lock();
  for (std::size_t next = 0; next < own_.size();) {
    BlobWriter head;
    head.add(kPulses).add(generation_).add(job_.self).add(beats_).add(unheard).add(verdict_.has_value());
    if (verdict_)
      head.add(verdict_->culprit).add(verdict_->teller).add(static_cast<int>(verdict_->code)).add(verdict_->text);
    std::string bytes = head.take();
    do {
      BlobWriter writer;
      add(pulses_[static_cast<std::size_t>(own_[next++])], writer);
      bytes += writer.take();
    } while (next < own_.size() && bytes.size() < kFullDatagram);
    bytes = signed_with(secret_, std::move(bytes));
    for (const Peer& peer : peers_) send(bytes, peer);
  }
}

void Watch::send(const std::string& bytes, const Peer& peer) const {
  if (!peer.name.empty()) static_cast<void>(sockets_[peer.socket].send(peer.name, bytes));
}

void Watch::send_flight(int process, std::string bytes) const {
  const auto known = static_cast<std::size_t>(process) < peer_of_.size() && process != job_.self;
  if (known) send(signed_with(secret_, std::move(bytes)), peers_[peer_of_[static_cast<std::size_t>(process)]]);
}

void Watch::look_at_times(std::span<const Sighting> tasks, TimePoint now) {
  auto lock = monitor_.lock();
  if (!measured_since_ || now - last_look_ < tell_interval(now - *measured_since_)) return;
  last_look_ = now;
  std::vector<WorkTimes> times;
  if (job_.self == job_.processes[0]) times = times_;
  lock.unlock();
  if (times.empty()) return send_times(peers_[peer_of_[static_cast<std::size_t>(job_.processes[0])]]);
  for (const Straggler& straggler : stragglers_.look(times))
    log_warn(text_of(straggler, who(tasks[static_cast<std::size_t>(straggler.task)])));
  if (now - last_look_at_links_ < LinkMeter::kEvery) return;
  last_look_at_links_ = now;
  if (const std::optional<SlowLink> link = slow_links_.look(times))
    log_warn(text_of(*link, who(tasks[static_cast<std::size_t>(link->from)]),
                     who(tasks[static_cast<std::size_t>(link->to)])));
}

/// Warns, once, about a network that carries the messages of the job but not the messages of its watch.
void Watch::look_for_unheard(std::span<const Sighting> tasks) {
  looked_for_unheard_ = true;
  std::vector<int> unheard;
  for (const Sighting& task : tasks)
    if (!task.known) unheard.push_back(task.pulse.task);
  if (job_.self != job_.processes[0] || unheard.empty()) return;
  log_warn(tasks_text(unheard) +
           " cannot be heard over UDP: if one is lost or stopped, the job may say so only at its "
           "deadline, and not why\n  try: " +
           (sockets_.size() > 1 ? "let UDP between the hosts through the firewall; --interface chooses another network"
                                : "give this host an IPv4 address, which the watch needs"));
}

/// Sends what the own tasks have measured.
void Watch::send_times(const Peer& peer) const {
  const auto lock = monitor_.lock();
  for (const int task : own_) {
    const WorkTimes& times = times_[static_cast<std::size_t>(task)];
    if (times.samples == 0) continue;
    BlobWriter writer;
    writer.add(kTimes).add(task);
    add(times, writer);
    send(signed_with(secret_, writer.take()), peer);
  }
}

// ---- The tasks' threads ----

void Watch::tell_times(int task, WorkTimes times) {
  for (WorkTimes::Work& work : times.busiest)
    if (work.op.size() > kMostText) work.op = escaped(work.op, kMostText);
  const auto lock = monitor_.lock();
  if (!measured_since_) measured_since_ = system_clock().now();
  times_[static_cast<std::size_t>(task)] = std::move(times);
}

bool Watch::over_within(Duration at_most) const {
  auto lock = monitor_.lock();
  return monitor_.wait_for(lock, at_most, [this] { return verdict_.has_value(); });
}

Error Watch::verdict(int task) const {
  const auto lock = monitor_.lock();
  FERRY_ASSERT(verdict_, "there is no verdict");
  Error error(verdict_->code, verdict_->text);
  if (job_.gathered && verdict_->teller != task) error.told_elsewhere();
  return error;
}

Error Watch::explained(const Error& error, int task, const std::optional<Failure>& failure) {
  const bool echo = error.code() == Code::peer_lost && failure && failure->task != task;
  if (echo && failure->said) {
    Error result = error;
    if (job_.gathered) result.told_elsewhere();
    return result;
  }
  bool found = false;
  {
    const auto lock = monitor_.lock();
    if (const auto verdict = found_by(task, error, failure)) {
      found_ = verdict;
      found = true;
    }
  }
  // A transport may notice that a task is lost before the watch can say why.
  if (echo || found) static_cast<void>(over_within(kVerdictComes));
  const auto* const absent = dynamic_cast<const AbsentError*>(&error);
  if (!over() && absent != nullptr && error.code() == Code::stalled) {
    // Others that wait in the exchange find the same now, and the first of them tells it.
    const auto lock = monitor_.lock();
    Error text = error;
    for (const int other : absent->tasks())
      text.note(who(seen_[static_cast<std::size_t>(other)]) + " " + doing_text(seen_[static_cast<std::size_t>(other)]));
    const auto first = std::ranges::find_if(seen_, [&](const Sighting& other) {
      return other.pulse.task == task || (other.pulse.doing == Pulse::Doing::inside && other.silent < kFresh);
    });
    adopt({absent->tasks()[0], first->pulse.task, error.code(), text.text()});
  }
  if (!over() && absent == nullptr && error.code() == Code::stalled) {
    // A task that has waited for the deadline may find so before the watch does.
    const auto lock = monitor_.lock();
    const bool waits = seen_[static_cast<std::size_t>(task)].pulse.doing == Pulse::Doing::waiting;
    if (const auto stalled = judge_stalled(seen_, job_.deadline); waits && stalled) adopt(*stalled);
  }
  if (over()) return verdict(task);
  // Another task has found it, and leaves it to this one to say so.
  if (error.code() == Code::peer_lost && failure && failure->task == task && !found)
    return {failure->code, failure->text};
  return error;
}

std::optional<int> Watch::teller() const {
  const auto lock = monitor_.lock();
  return verdict_ ? std::optional(verdict_->teller) : std::nullopt;
}

std::vector<Sighting> Watch::seen() const {
  const auto lock = monitor_.lock();
  return seen_;
}

std::vector<int> Watch::answering() const {
  std::vector<int> tasks;
  for (const Sighting& task : seen())
    if (job_.processes[static_cast<std::size_t>(task.pulse.task)] != job_.self &&
        task.pulse.doing != Pulse::Doing::left && task.state == ProcessState::running && task.silent < kFresh)
      tasks.push_back(task.pulse.task);
  return tasks;
}

bool Watch::gathers() const {
  return std::ranges::none_of(answering(),
                              [&](int task) { return job_.processes[static_cast<std::size_t>(task)] < job_.self; });
}

void Watch::spare(std::span<const int> tasks) {
  const auto lock = monitor_.lock();
  spared_.assign(spared_.size(), false);
  for (const int task : tasks) spared_[static_cast<std::size_t>(task)] = true;
}

std::vector<Losses::Loss> Watch::found_lost() {
  if (!any_losses_.load(std::memory_order_relaxed)) return {};
  const auto lock = monitor_.lock();
  any_losses_.store(false);
  return std::exchange(losses_, {});
}

void Watch::lost(const Loss& loss) {
  auto lock = monitor_.lock();
  lost_[static_cast<std::size_t>(loss.task)] = true;
  const std::string name = who(seen_[static_cast<std::size_t>(loss.task)]);
  lock.unlock();
  if (job_.self == job_.processes[0]) log_warn("the job goes on without " + name + ": " + loss.why);
}

void Watch::begin_anew() {
  flights_.begin_anew();
  const auto lock = monitor_.lock();
  found_.reset();
  verdict_.reset();
  ++generation_;
  over_.store(false);
  clock_.set_over(false);
}

}  // namespace ferry
