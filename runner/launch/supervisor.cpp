#include "runner/launch/supervisor.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <utility>

#include "base/format.hpp"
#include "base/numbers.hpp"
#include "base/random_bytes.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "runner/launch/job_table.hpp"

namespace ferry {
namespace {

// A job is over within 5 s of its first failure: the other tasks get time to report their errors, then to clean up.
constexpr auto kErrorReportTime = std::chrono::seconds(2);
constexpr auto kCleanUpTime = std::chrono::milliseconds(1500);
constexpr auto kKillWait = std::chrono::milliseconds(700);
/// Longer than any job, in a number that agents can still read.
constexpr auto kLongestGrace = std::chrono::milliseconds(1 << 30);
/// The tasks' output is still forwarded at the end while the reader makes progress within this time.
constexpr auto kSlowReader = std::chrono::seconds(2);
/// The time between two tries to reach hosts by ssh.
constexpr Duration kRetryInterval = std::chrono::seconds(1);

std::string this_folder() {
  const std::unique_ptr<char, decltype(&std::free)> folder(getcwd(nullptr, 0), &std::free);
  if (folder == nullptr) throw Error(Code::usage, "the current folder is gone").hint("cd to one that is there");
  return folder.get();
}

std::string fresh_secret() {
  std::array<unsigned char, 16> bytes{};
  fill_at_random(std::as_writable_bytes(std::span(bytes)));
  std::string hex;
  for (const unsigned char byte : bytes)
    hex.append(1, "0123456789abcdef"[byte >> 4]).append(1, "0123456789abcdef"[byte & 15]);
  return hex;
}

int number_at(const std::vector<std::string>& texts, std::size_t at) {
  return whole_number("a number of an agent", at < texts.size() ? texts[at] : "", 0, 1 << 30);
}

}  // namespace

Supervisor::Supervisor(const LaunchOptions& options, std::span<const HostTasks> placed,
                       std::span<const ProcessId> others, SignalQueue& signals)
    : cleanup_{others},
      options_(options),
      signals_(signals),
      folder_(this_folder()),
      output_(placed.size() > 1 || placed.front().count > 1),
      step_at_(Deadline::never(system_clock())) {
  for (const HostTasks& tasks : placed) agents_.push_back(std::make_unique<HostAgent>(tasks, options));
}

JobEnd Supervisor::run() {
  schedule_step(Step::none, options_.arrival_wait);  // the time for all agents to connect
  while (!(all_ended() && output_.empty()) && !left_) poll_once();
  std::optional<TaskFailure> failure = ends_.first();
  if (failure && failure->task >= 0) failure->text += last_words_.of(failure->task, !failure->killed);
  const int interrupted = static_cast<int>(Code::interrupted);
  if (stop_signal_ != 0 && (starting_ || step_ > Step::kill))
    failure = TaskFailure{interrupted,
                          starting_ ? "no task was started" : "not all tasks had ended in time, and were killed", ""};
  std::vector<std::string> lost = failure ? std::vector<std::string>() : ends_.lost();
  return {std::move(failure), std::move(lost), stop_signal_};
}

bool Supervisor::all_ended() const {
  return !retry_at_ &&
         std::all_of(agents_.begin(), agents_.end(), [](const auto& agent) { return agent->end.has_value(); });
}

void Supervisor::poll_once() {
  constexpr std::size_t kOwn = 4, kEach = 3;
  HostAgent& first = *agents_.front();
  DescriptorWatch input = input_.watch();
  input.to_read &= !first.processes.empty() && !first.wire().closed();
  std::vector<DescriptorWatch> watches = {{signals_.descriptor(), true, false, false},
                                          output_.watch(TaskStream::error),
                                          output_.watch(TaskStream::out),
                                          input};
  const bool listens = !output_.full();
  for (const auto& agent : agents_) {
    watches.push_back(agent->wire().to_read(listens));
    watches.push_back(agent->wire().to_write());
    watches.push_back(agent->stderr_watch());
  }
  wait_ready(watches, retry_at_ && retry_at_->remaining() < step_at_.remaining() ? *retry_at_ : step_at_);
  if (watches[1].ready) output_.write_to(TaskStream::error);  // first, since stderr begins with the table
  if (watches[2].ready) output_.write_to(TaskStream::out);
  if (watches[3].ready) input_.forward_input(first.wire());
  for (std::size_t i = 0; i < agents_.size(); ++i) {
    HostAgent& agent = *agents_[i];
    if (watches[kOwn + kEach * i + 2].ready)
      for (const std::string& line : agent.read_stderr()) output_.enqueue("[" + agent.name() + "] " + line);
    if (watches[kOwn + kEach * i].ready) handle_frames(agent);
  }
  if (watches[0].ready) handle_signals();
  if (starting_ && step_ == Step::none && all_connected()) start_tasks();
  if (step_at_.expired()) do_step();
  if (retry_at_ && retry_at_->expired()) retry_hosts();
  for (const auto& agent : agents_) agent->wire().send();
}

bool Supervisor::all_connected() const {
  return std::all_of(agents_.begin(), agents_.end(), [](const auto& agent) { return agent->hello.has_value(); });
}

std::string Supervisor::meeting_address() const {
  if (!options_.interface.empty()) return options_.interface;
  for (const auto& agent : agents_) {
    if (!agent->is_remote()) continue;
    if (!agent->hello->launcher.empty()) return agent->hello->launcher;
    throw Error(Code::usage, "host " + agent->name() +
                                 " does not say by which address it is reached (neither SSH_CONNECTION nor "
                                 "SLURM_LAUNCH_NODE_IPADDR)")
        .hint("--interface NAME, which all hosts reach");
  }
  return {};  // loopback
}

void Supervisor::start_tasks() {
  starting_ = false;
  schedule_step(Step::none, Duration::max());
  int world = 0;
  for (const auto& agent : agents_) world += agent->tasks().count;
  const std::string secret = fresh_secret();
  rendezvous_.emplace(RendezvousOptions{.address = meeting_address(), .tasks = world, .secret = secret});
  std::vector<std::string> variables = {"WORLD_SIZE=" + std::to_string(world), "MASTER_ADDR=" + rendezvous_->address(),
                                        "MASTER_PORT=" + std::to_string(rendezvous_->port()), "FERRY_SECRET=" + secret,
                                        "FERRY_RENDEZVOUS_SERVED=1"};
  variables.insert(variables.end(), options_.variables.begin(), options_.variables.end());
  for (const auto& agent : agents_) {
    StartTasks start{.folder = folder_,
                     .first = agent->tasks().first,
                     .count = agent->tasks().count,
                     .grace = std::min<std::chrono::milliseconds>(options_.grace, kLongestGrace),
                     .command = options_.command,
                     .variables = variables};
    start.variables.push_back("LOCAL_WORLD_SIZE=" + std::to_string(start.count));
    agent->wire().enqueue(LaunchFrameKind::start, start.first, start.data());
  }
}

void Supervisor::show_table() {
  std::vector<HostRow> rows;
  for (const auto& agent : agents_)
    rows.push_back({agent->is_remote() ? agent->name() : agent->hello->host, agent->tasks().first, agent->processes,
                    agent->hello->cores});
  const std::string& address = rendezvous_->address();
  output_.enqueue("ferry " FERRY_VERSION " launches " + options_.command.front() + "; its tasks meet at " +
                  (address.find(':') == std::string::npos ? address : "[" + address + "]") + ":" +
                  std::to_string(rendezvous_->port()));
  for (const std::string& line : job_table(rows)) output_.enqueue(line);
}

void Supervisor::handle_frames(HostAgent& agent) {
  agent.wire().receive();
  try {
    while (const auto frame = agent.wire().next()) take(agent, *frame);
  } catch (const Error& error) {
    agent.wire().close();
    ends_.add(Error(error.code(), "host " + agent.name() + ": " + error.text()), agent.name());
    schedule_step(Step::kill, Duration::zero());
  }
  // The agent's process ends now and reports the reason; if it does not end, it is killed with the others.
  if (agent.hello && agent.wire().closed() && agent.running > 0 && step_ == Step::none && !may_lose(agent))
    schedule_step(Step::ask, kErrorReportTime);
}

void Supervisor::take(HostAgent& agent, const LaunchFrame& frame) {
  const auto texts = frame.kind == LaunchFrameKind::output || frame.kind == LaunchFrameKind::error
                         ? std::vector<std::string>()
                         : unpacked(frame.data);
  switch (frame.kind) {
    case LaunchFrameKind::output:
      output_.take(frame.task, TaskStream::out, frame.data);
      break;
    case LaunchFrameKind::error:
      output_.take(frame.task, TaskStream::error, frame.data);
      last_words_.take(frame.task, frame.data);
      break;
    case LaunchFrameKind::input_taken:
      input_.taken(static_cast<std::size_t>(number_at(texts, 0)));
      break;
    case LaunchFrameKind::refused:
      throw Error(static_cast<Code>(number_at(texts, 0)), texts.size() < 2 ? "" : texts[1]);
    case LaunchFrameKind::hello: {
      agent.hello = AgentHello::of(frame.data);
      if (agent.hello->version != FERRY_VERSION)
        throw Error(Code::usage, "it has ferry {}, the launcher is " FERRY_VERSION, agent.hello->version)
            .hint("the same version on all hosts");
      break;
    }
    case LaunchFrameKind::started: {
      for (std::size_t i = 0; i < texts.size(); ++i) agent.processes.push_back(number_at(texts, i));
      const auto started = [](const auto& one) { return !one->processes.empty(); };
      if (std::all_of(agents_.begin(), agents_.end(), started)) show_table();
      break;
    }
    case LaunchFrameKind::ended: {
      const ProcessEnd end{.process = 0, .exit_code = number_at(texts, 0), .signal = number_at(texts, 1)};
      --agent.running;
      output_.end(frame.task);
      if (may_lose(frame.task, end)) {
        ends_.add_loss(frame.task, agent.name(), end);
        break;
      }
      if (ends_.add(frame.task, agent.name(), end) && step_ == Step::none) schedule_step(Step::ask, kErrorReportTime);
      // Tasks on a host that is cut off do not learn that the job is over, so they are asked to end.
      if (options_.continue_after_loss && frame.task == 0 && end.code() == 0 && step_ == Step::none)
        schedule_step(Step::ask, options_.grace);
      break;
    }
    default:
      throw Error(Code::peer_lost, "its agent says what only a launcher does");
  }
}

void Supervisor::handle_signals() {
  while (const int signal = signals_.next()) {
    if (signal == SIGCHLD)
      handle_ends();
    else if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP)
      handle_stop(signal);
    else if (signal != SIGCONT)
      signal_all_tasks(signal);
  }
}

void Supervisor::handle_stop(int signal) {
  if (signal == SIGINT) ++interrupts_;
  const bool first = stop_signal_ == 0;
  if (first) stop_signal_ = signal;
  if (starting_ || interrupts_ > 1 || all_ended()) {
    schedule_step(Step::kill, Duration::zero());
    return;
  }
  signal_all_tasks(signal);
  if (first) schedule_step(Step::kill, options_.grace);
}

void Supervisor::handle_ends() {
  while (const auto end = next_ended_child())
    for (const auto& agent : agents_)
      if (agent->process() == end->process) {
        agent->end = *end;
        handle_host_end(*agent);
      }
}

void Supervisor::handle_host_end(HostAgent& agent) {
  handle_frames(agent);
  for (const std::string& line : agent.read_stderr()) output_.enqueue("[" + agent.name() + "] " + line);
  agent.wire().close();
  if (agent.running == 0) return;
  if (step_ == Step::none && agent.may_retry()) return schedule_retry(agent);
  if (may_lose(agent)) return ends_.add_loss(agent.lost(), agent.name());
  ends_.add(agent.lost(), agent.name());
  if (starting_)
    schedule_step(Step::kill, Duration::zero());
  else if (step_ == Step::none)
    schedule_step(Step::ask, kErrorReportTime);
}

void Supervisor::schedule_retry(const HostAgent& agent) {
  if (!retry_at_) retry_at_.emplace(system_clock(), kRetryInterval);
  if (std::exchange(warned_, true)) return;
  log_warn("host " + agent.name() + " (" + agent.tasks().host.where + ") cannot be reached by ssh yet: " +
           agent.reason() + "; ferry tries again until --deadline (" + seconds_text(options_.arrival_wait) + ")");
}

void Supervisor::retry_hosts() {
  retry_at_.reset();
  for (auto& agent : agents_)
    if (agent->end && agent->may_retry())
      agent = std::make_unique<HostAgent>(agent->tasks(), options_, agent->reason());
}

/// Whether the job may continue without a task that ended like this: a signal killed it, or it lost its peers.
bool Supervisor::may_lose(int task, const ProcessEnd& end) const {
  return options_.continue_after_loss && task != 0 &&
         (end.signal != 0 || end.exit_code == static_cast<int>(Code::peer_lost));
}

/// The same for a host with all its tasks.
bool Supervisor::may_lose(const HostAgent& agent) const {
  return options_.continue_after_loss && !starting_ && agent.tasks().first != 0;
}

void Supervisor::signal_all_tasks(int signal) {
  for (const auto& agent : agents_)
    agent->wire().enqueue(LaunchFrameKind::signal, 0, packed(std::array{std::to_string(signal)}));
}

void Supervisor::schedule_step(Step step, Duration time) {
  step_ = step;
  step_at_ = Deadline(system_clock(), time);
}

/// Whether somebody still reads the tasks' output. If so, the output must not be dropped.
bool Supervisor::waits_for_reader() {
  return output_.take_progress() && !output_.empty();
}

void Supervisor::do_step() {
  switch (step_) {
    case Step::none: {
      const auto refused = [](const auto& agent) { return agent->may_retry(); };
      if (const auto at = std::ranges::find_if(agents_, refused); at != agents_.end()) {
        ends_.add((*at)->lost(), (*at)->name());
        return schedule_step(Step::kill, Duration::zero());
      }
      std::vector<std::string> late;
      for (const auto& agent : agents_)
        if (!agent->hello) late.push_back(agent->name());
      ends_.add(
          Error(Code::stalled,
                "after " + std::to_string(std::chrono::ceil<std::chrono::seconds>(options_.arrival_wait).count()) +
                    " s nothing is heard of " + join(late, ", "))
              .hint("a longer --deadline, or ssh " + late.front() + " true"),
          late.front());
      schedule_step(Step::kill, Duration::zero());
      break;
    }
    case Step::ask:
      ends_.begin_shutdown();
      signal_all_tasks(SIGTERM);
      schedule_step(Step::kill, kCleanUpTime);
      break;
    case Step::kill:
      retry_at_.reset();
      ends_.begin_shutdown();
      signal_all_tasks(SIGKILL);
      for (const auto& agent : agents_)
        if (agent->processes.empty()) agent->wire().close();
      schedule_step(Step::abandon, kKillWait);
      break;
    case Step::abandon:
      if (waits_for_reader()) return schedule_step(Step::abandon, kSlowReader);
      for (const auto& agent : agents_)
        if (!agent->end) signal_group(agent->process(), SIGKILL);
      schedule_step(Step::leave, kKillWait);
      break;
    case Step::leave:
      if (waits_for_reader()) return schedule_step(Step::leave, kSlowReader);
      left_ = true;
      break;
  }
}

}  // namespace ferry
