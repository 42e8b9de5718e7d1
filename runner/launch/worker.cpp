#include "runner/launch/worker.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <functional>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/process/poll.hpp"
#include "base/process/process.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "comm/launch_variables.hpp"

namespace ferry {
namespace {

/// The interval for looking whether tasks have ended. Tasks are not children of the worker, so it gets no signal.
constexpr Duration kLook = std::chrono::milliseconds(50);
/// The time for launchers (an agent, MPI's daemon) to report how their tasks ended.
constexpr Duration kToReport = std::chrono::seconds(2);
/// The least time for the command to end, however short the grace is.
constexpr Duration kToEnd = std::chrono::seconds(1);

/// Whether an entry of a process's environment is the rank of a task. A variable that the worker itself also has does
/// not count.
bool is_rank(const std::string& entry) {
  const std::string name = entry.substr(0, entry.find('='));
  const auto named = [&](const LaunchVariable& variable) {
    return variable.meaning == LaunchVariable::Meaning::rank && variable.name == name;
  };
  return std::ranges::any_of(kLaunchVariables, named) && std::getenv(name.c_str()) == nullptr;
}

class Worker {
 public:
  explicit Worker(const WorkerOptions& options)
      : options_(options),
        others_(adopt_orphans()),
        signals_({SIGCHLD, SIGTERM, SIGINT, SIGHUP}),
        command_(start_program({.arguments = options.command})) {}

  int run() {
    wait_until(Deadline::never(system_clock()), [this] { return stop_ != 0; });
    const bool in_time = end_ || stop();
    kill_descendants(others_);
    if (stop_ != 0) return in_time ? 0 : static_cast<int>(Code::interrupted);
    if (end_->code() != 0) log_error(formatted("{:?} {}", options_.command.front(), as_is(end_->text())));
    return end_->code();
  }

 private:
  /// Waits, and reaps children, until the condition holds, the command has ended, or the time is over. Returns false if
  /// the time is over.
  bool wait_until(const Deadline& until, const std::function<bool()>& holds) {
    while (true) {
      while (const int signal = signals_.next())
        if (signal != SIGCHLD && stop_ == 0) stop_ = signal;
      while (const auto end = next_ended_child())
        if (end->process == command_) end_ = end;
      if (end_ || holds()) return true;
      if (until.expired()) return false;
      std::array watches = {DescriptorWatch{signals_.descriptor(), true, false, false}};
      const Duration look = stop_ == 0 ? Duration::max() : kLook;
      wait_ready(watches, Deadline(system_clock(), std::min(look, until.remaining())));
    }
  }

  /// Sends the stop signal to each task process that handles it and has not got it yet. Returns how many of them still
  /// run.
  std::size_t signal_tasks() {
    std::size_t running = 0;
    for (const ProcessId& process : descendant_processes()) {
      if (!handles_signal(process, stop_) || std::ranges::none_of(first_environment(process), is_rank)) continue;
      ++running;
      if (std::ranges::find(signalled_, process) != signalled_.end()) continue;
      kill(static_cast<pid_t>(process.pid), stop_);
      signalled_.push_back(process);
    }
    return running;
  }

  /// Ends the tasks, then the command. Returns whether all have ended in time, so that nothing must be killed.
  bool stop() {
    const Deadline grace(system_clock(), options_.grace);
    const std::size_t tasks = signal_tasks();
    log_info(std::string("stopped by signal ") + std::to_string(stop_) + " (" + strsignal(stop_) + "), sent to " +
             plural(tasks, "task"));
    bool in_time = wait_until(grace, [this] { return signal_tasks() == 0; });
    if (in_time && tasks > 0)
      wait_until(Deadline(system_clock(), std::min(kToReport, grace.remaining())),
                 [] { return descendant_processes().size() == 1; });
    signal_group(command_, SIGTERM);
    in_time &= wait_until(Deadline(system_clock(), std::max(kToEnd, grace.remaining())), [] { return false; });
    return in_time;
  }

  const WorkerOptions& options_;
  const std::vector<ProcessId> others_;
  SignalQueue signals_;
  const int command_;
  std::optional<ProcessEnd> end_;  // of the command
  int stop_ = 0;                   // the first signal that asked the worker to stop
  std::vector<ProcessId> signalled_;
};

}  // namespace

int run_worker(const WorkerOptions& options) {
  return Worker(options).run();
}

}  // namespace ferry
