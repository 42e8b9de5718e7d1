#include "runner/launch/agent.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "base/error.hpp"
#include "base/numbers.hpp"
#include "base/process/poll.hpp"
#include "base/process/process.hpp"
#include "base/ranges.hpp"
#include "base/system/machine.hpp"
#include "base/text.hpp"
#include "comm/launch_variables.hpp"
#include "runner/command/machine.hpp"
#include "runner/launch/wire.hpp"

namespace ferry {
namespace {

constexpr std::size_t kMostUnsent = 256 << 10;  // bytes; with more, tasks wait until the launcher has read

/// The launcher's address as this host sees it: from SLURM's variable, else the first word of SSH_CONNECTION. SLURM's
/// variable comes first, since a step of SLURM may have SSH_CONNECTION from the shell of the user.
std::string launcher_address() {
  if (const char* address = std::getenv("SLURM_LAUNCH_NODE_IPADDR"); address != nullptr) return address;
  const char* connection = std::getenv("SSH_CONNECTION");
  return connection == nullptr ? "" : std::string(split(connection, ' ').front());
}

struct AgentTask {
  int number = 0;
  int process = 0;
  Descriptor in, out, error;
  std::string input;           // not yet written to `in`
  bool input_ends = false;     // close `in` after `input`
  bool running = true;         // the task, or the rest of its process group, runs
  ProcessEnd end;              // set when the task's own process has ended
  bool left_programs = false;  // a signal to the group killed the task's own process; others may live
};

/// Whether `end` says little about the task: the process ended well, or a signal for the whole group killed it. The end
/// of another process of the group then says more.
bool is_weak(const ProcessEnd& end, const std::set<int>& group_signals) {
  return end.code() == 0 || group_signals.contains(end.signal);
}

class Agent {
 public:
  /// SLURM signals every process of a step, the agent and its tasks alike. So the agent only notes such a signal, and
  /// does not pass it on.
  Agent(Descriptor in, Descriptor out)
      : signals_({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}),
        wire_(std::move(in), std::move(out), {}),
        end_deadline_(Deadline::never(system_clock())) {}

  int run() {
    const std::vector<ProcessId> others = adopt_orphans();
    wire_.enqueue_text(kAgentBegins);
    const AgentHello hello{FERRY_VERSION, this_host_name(), ranges(this_machine().mask), launcher_address()};
    wire_.enqueue(LaunchFrameKind::hello, 0, hello.data());
    while (!done_ && (!wire_.closed() || waits_for_tasks())) poll_once();
    kill_descendants(others);
    finish();
    return 0;
  }

 private:
  /// If the launcher is gone, tasks that were asked to end get time to end, for example to save a checkpoint.
  bool waits_for_tasks() {
    if (!asked_to_end_) return false;
    if (!std::exchange(launcher_gone_, true)) end_deadline_ = Deadline(system_clock(), grace_);
    return !end_deadline_.expired();
  }

  void poll_once() {
    std::vector<DescriptorWatch> watches = {
        {signals_.descriptor(), true, false, false}, wire_.to_read(), wire_.to_write()};
    const bool listens = wire_.closed() || wire_.unsent() < kMostUnsent;
    for (const AgentTask& task : tasks_) {
      watches.push_back({task.out.get(), listens, false, false});
      watches.push_back({task.error.get(), listens, false, false});
      watches.push_back({task.in.get(), false, !task.input.empty(), false});
    }
    wait_ready(watches, end_deadline_);
    if (watches[1].ready) wire_.receive();
    const std::size_t known = tasks_.size();
    handle_frames();
    for (std::size_t i = 0; i < known; ++i) {
      if (watches[3 + 3 * i].ready) forward_output(tasks_[i], tasks_[i].out, LaunchFrameKind::output);
      if (watches[4 + 3 * i].ready) forward_output(tasks_[i], tasks_[i].error, LaunchFrameKind::error);
      if (watches[5 + 3 * i].ready) feed(tasks_[i]);
    }
    if (watches[0].ready) handle_signals();
    wire_.send();
  }

  void handle_frames() {
    try {
      while (const auto frame = wire_.next()) take(*frame);
    } catch (const Error& error) {
      wire_.enqueue(LaunchFrameKind::refused, 0,
                    packed(std::array{std::to_string(static_cast<int>(error.code())), error.text()}));
      done_ = true;
    }
  }

  void take(const LaunchFrame& frame) {
    if (frame.kind == LaunchFrameKind::start) {
      start(StartTasks::of(frame.data));
    } else if (frame.kind == LaunchFrameKind::signal) {
      const int signal = whole_number("signal", unpacked(frame.data).at(0), 1, 64);
      if (signal != SIGKILL) group_signals_.insert(signal);
      for (const AgentTask& task : tasks_)
        if (task.running) signal_group(task.process, signal);
    } else if (frame.kind == LaunchFrameKind::input || frame.kind == LaunchFrameKind::input_end) {
      for (AgentTask& task : tasks_) {
        if (task.number != frame.task) continue;
        task.input += frame.data;
        task.input_ends |= frame.kind == LaunchFrameKind::input_end;
        feed(task);
      }
    }
  }

  void start(const StartTasks& wanted) {
    grace_ = wanted.grace;
    if (chdir(wanted.folder.c_str()) != 0)
      throw Error(Code::usage, "the current folder is not there: {:?}: {}", wanted.folder, std::strerror(errno))
          .hint("ferry launch in a folder that all hosts have");
    std::vector<std::string> processes;
    for (int i = 0; i < wanted.count; ++i) {
      tasks_.push_back(started(wanted, i));
      processes.push_back(std::to_string(tasks_.back().process));
    }
    wire_.enqueue(LaunchFrameKind::started, wanted.first, packed(processes));
  }

  static AgentTask started(const StartTasks& wanted, int local) {
    // Variables of a launcher that runs `ferry launch` describe another job.
    std::vector<std::string> others{"FERRY_RENDEZVOUS"};
    for (const LaunchVariable& variable : kLaunchVariables)
      if (variable.by != Launcher::tcp) others.emplace_back(variable.name);
    AgentTask task;
    task.number = wanted.first + local;
    Pipe out = make_pipe(), error = make_pipe();
    ProgramStart program{.arguments = wanted.command,
                         .set = {{"RANK", std::to_string(task.number)}, {"LOCAL_RANK", std::to_string(local)}},
                         .unset = std::move(others),
                         .out = out.writer.get(),
                         .error = error.writer.get()};
    for (const std::string& variable : wanted.variables) {
      const std::size_t equals = variable.find('=');
      program.set.emplace_back(variable.substr(0, equals), variable.substr(equals + 1));
    }
    // Only task 0 gets input. The agent's own stdin is /dev/null here.
    Pipe in;
    if (task.number == 0) {
      in = make_pipe();
      program.in = in.reader.get();
      never_wait(in.writer);
      task.in = std::move(in.writer);
    }
    task.process = start_program(program);
    task.out = std::move(out.reader);
    task.error = std::move(error.reader);
    never_wait(task.out);
    never_wait(task.error);
    return task;
  }

  /// Reads once from an output of the task, and forwards the bytes. Returns whether there may be more.
  bool forward_output(const AgentTask& task, Descriptor& from, LaunchFrameKind kind) {
    if (!from.open()) return false;
    std::array<char, 64 << 10> buffer{};
    const ssize_t got = read(from.get(), buffer.data(), buffer.size());
    if (got > 0) wire_.enqueue(kind, task.number, {buffer.data(), static_cast<std::size_t>(got)});
    if (got == 0) from.close();
    return got > 0;
  }

  /// Writes input to the task's stdin until the pipe is full. Drops the input if nobody reads the pipe.
  void feed(AgentTask& task) {
    while (!task.input.empty()) {
      const ssize_t written = task.in.open() ? write(task.in.get(), task.input.data(), task.input.size()) : -1;
      if (written < 0 && task.in.open() && errno == EAGAIN) return;
      const std::size_t taken = written > 0 ? static_cast<std::size_t>(written) : task.input.size();
      if (written <= 0) task.in.close();
      wire_.enqueue(LaunchFrameKind::input_taken, task.number, packed(std::array{std::to_string(taken)}));
      task.input.erase(0, taken);
    }
    if (task.input_ends) task.in.close();
  }

  void handle_signals() {
    while (const int signal = signals_.next()) {
      asked_to_end_ |= signal == SIGINT || signal == SIGTERM || signal == SIGHUP;
      if (signal != SIGCHLD) group_signals_.insert(signal);
    }
    while (const auto end = next_ended_child())
      for (AgentTask& task : tasks_)
        if (task.running && (task.process == end->process || task.process == end->group)) record_end(task, *end);
    for (AgentTask& task : tasks_)
      if (task.running && is_over(task)) send_end(task, task.end);
    const auto running = [](const AgentTask& task) { return task.running; };
    done_ |= !tasks_.empty() && std::none_of(tasks_.begin(), tasks_.end(), running);
  }

  /// Notes the end of a process of the task's group. If a signal for the whole group has killed the task's shell, the
  /// task consists of the programs that the shell has started. The end of the task is then the first of their ends that
  /// is not weak.
  void record_end(AgentTask& task, const ProcessEnd& end) const {
    const bool own = end.process == task.process;
    const bool of_rest =
        task.left_programs && is_weak(task.end, group_signals_) && !group_signals_.contains(end.signal);
    if (own || of_rest) task.end = end;
    if (own) task.left_programs = group_signals_.contains(end.signal);
  }

  /// Whether the task's process has ended. If a signal for the whole group killed it, its programs must also have
  /// ended.
  [[nodiscard]] static bool is_over(const AgentTask& task) {
    return task.end.process != 0 && !(task.left_programs && group_lives(task.process));
  }

  void send_end(AgentTask& task, const ProcessEnd& end) {
    drain(task);
    task.running = false;
    wire_.enqueue(LaunchFrameKind::ended, task.number,
                  packed(std::array{std::to_string(end.exit_code), std::to_string(end.signal)}));
  }

  /// Forwards the rest of an ended task's output. A process that the task has left may still write, so the number of
  /// reads is limited; it suffices for all that a pipe holds.
  void drain(AgentTask& task) {
    constexpr int kMostReads = 32;
    for (int i = 0; i < kMostReads && forward_output(task, task.out, LaunchFrameKind::output); ++i) continue;
    for (int i = 0; i < kMostReads && forward_output(task, task.error, LaunchFrameKind::error); ++i) continue;
  }

  /// Forwards the rest of the output, and waits until all is sent or the launcher is gone.
  void finish() {
    for (AgentTask& task : tasks_) drain(task);
    while (!wire_.closed() && wire_.unsent() > 0) {
      std::array watches = {wire_.to_read(), wire_.to_write()};
      wait_ready(watches, Deadline::never(system_clock()));
      if (watches[0].ready) wire_.receive();
      wire_.send();
    }
  }

  SignalQueue signals_;
  AgentWire wire_;
  std::vector<AgentTask> tasks_;
  bool done_ = false;            // all tasks have ended, or none could be started
  std::set<int> group_signals_;  // signals that all processes of tasks have got, except SIGKILL
  bool asked_to_end_ = false;
  bool launcher_gone_ = false;  // the launcher is gone
  Duration grace_{};
  Deadline end_deadline_;
};

}  // namespace

int run_launch_agent() {
  Descriptor in = take_standard(STDIN_FILENO), out = take_standard(STDOUT_FILENO);
  return Agent(std::move(in), std::move(out)).run();
}

}  // namespace ferry
