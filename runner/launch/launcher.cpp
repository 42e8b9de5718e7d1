#include "runner/launch/launcher.hpp"

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "base/format.hpp"
#include "base/system/limits.hpp"
#include "base/system/log.hpp"
#include "base/system/machine.hpp"
#include "comm/backends.hpp"
#include "comm/launch_variables.hpp"
#include "runner/launch/hosts.hpp"
#include "runner/launch/restart_waits.hpp"
#include "runner/launch/slurm.hpp"
#include "runner/launch/supervisor.hpp"

namespace ferry {
namespace {

/// The hosts in the hostfile that the environment names. Kubernetes' MPI Operator sets the variable of the MPI in use.
std::optional<std::vector<LaunchHost>> hosts_of_environment() {
  std::string file, by;
  for (const char* variable : {"OMPI_MCA_orte_default_hostfile", "I_MPI_HYDRA_HOST_FILE", "HYDRA_HOST_FILE"}) {
    const char* const value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    if (!file.empty() && file != value)
      throw Error(Code::usage, "{} names the hostfile {:?}, {} names {:?}", as_is(by), file, as_is(variable), value)
          .hint("--hostfile FILE, or unset one of the two");
    file = value;
    by = variable;
  }
  if (file.empty()) return std::nullopt;
  try {
    return read_hostfile(file);
  } catch (const Error& error) {
    throw Error(error.code(), "the hostfile that " + by + " names: " + error.text()).hint("--hosts or --hostfile FILE");
  }
}

/// Without --hosts, a hostfile or an allocation, this host gets any number of tasks.
std::vector<HostTasks> placed_tasks(const LaunchOptions& options) {
  if (!options.hosts.empty()) return place_tasks(parse_hosts(options.hosts), options.tasks, options.per_host);
  if (!options.hostfile.empty()) return place_tasks(read_hostfile(options.hostfile), options.tasks, options.per_host);
  if (const auto named = hosts_of_environment()) return place_tasks(*named, options.tasks, options.per_host);
  if (const auto allocated = allocated_hosts()) return place_tasks(*allocated, options.tasks, options.per_host);
  const std::string own = this_host_name();
  const int slots = options.tasks.value_or(options.per_host.value_or(usable_cores()));
  return place_tasks(
      std::array{LaunchHost{.name = own.empty() ? "localhost" : own, .slots = slots, .where = "this host"}},
      options.tasks, options.per_host);
}

/// Error(usage) as one of several tasks of another launcher: each of them would be a launcher that runs the whole job.
void require_one_launcher(const LaunchOptions& options) {
  std::optional<MpiLaunch> started;
  try {
    started = numbered_launch();
    if (const auto tcp = started ? std::nullopt : tcp_launch())
      started = MpiLaunch{tcp->task, tcp->tasks, tcp->size_variable};
  } catch (const Error&) {
    return;  // the variables are not clear
  }
  if (!started || started->size == 1) return;
  const std::string many = std::to_string(started->size), command = options.command.front() + " …";
  const Launcher launcher = std::ranges::find(kLaunchVariables, started->by, &LaunchVariable::name)->by;
  const std::string by = launcher == Launcher::tcp    ? "another launcher"
                         : launcher == Launcher::srun ? "srun"
                                                      : "mpirun";
  throw Error(Code::usage, "ferry launch: " + by + " starts it " + many + " times (" + started->by +
                               "), and each would run the whole job")
      .hint("either alone: ferry launch -n " + many + " -- " + command + " or " +
            (launcher == Launcher::tcp ? command + " by the other launcher" : by + " -n " + many + " " + command));
}

/// Whether a restart may help. It does not if the command, a file or the plan is wrong, or if somebody stopped the job.
bool restart_may_help(const JobEnd& end) {
  constexpr std::array kHopeless = {Code::usage, Code::file, Code::plan, Code::preempted, Code::interrupted};
  return end.stop_signal == 0 && std::none_of(kHopeless.begin(), kHopeless.end(),
                                              [&](Code code) { return end.failure->code == static_cast<int>(code); });
}

std::string stopped_by(int signal) {
  return std::string("stopped by signal ") + std::to_string(signal) + " (" + strsignal(signal) + ")";
}

void log_end(const JobEnd& end) {
  if (end.stop_signal != 0)
    log_info(stopped_by(end.stop_signal) + ": " + end.failure->text + "; exit code " +
             std::to_string(end.failure->code));
  else
    log_error(end.failure->text);
}

/// Waits before a restart. Returns the signal with which the user ends the wait, or 0 if none came.
int wait_for_stop(Duration wait, SignalQueue& signals) {
  const Deadline end(system_clock(), wait);
  do {
    std::array watched = {DescriptorWatch{signals.descriptor(), true, false, false}};
    wait_ready(watched, end);
    while (const int signal = signals.next())
      if (signal == SIGINT || signal == SIGTERM || signal == SIGHUP) return signal;
  } while (!end.expired());
  return 0;
}

}  // namespace

int launch(const LaunchOptions& options) {
  require_one_launcher(options);
  const std::vector<HostTasks> placed = placed_tasks(options);
  const std::vector<ProcessId> others = adopt_orphans();
  SignalQueue signals({SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT});
  RestartWaits waits(options.restart_wait);
  for (int restart = 1;; ++restart) {
    const TimePoint begin = system_clock().now();
    const JobEnd end = Supervisor(options, placed, others, signals).run();
    for (const std::string& text : end.lost) log_warn(text + "; the job has gone on");
    if (!end.failure) return 0;
    log_end(end);
    if (restart > options.restarts || !restart_may_help(end)) return end.failure->code;
    const Duration wait = waits.after(system_clock().now() - begin);
    const std::string which = "restart " + std::to_string(restart) + " of " + std::to_string(options.restarts);
    log_warn("the job starts again in " + seconds_text(wait) + ": " + which);
    if (const int signal = wait_for_stop(wait, signals); signal != 0) {
      log_info(stopped_by(signal) + " before " + which + " of a job that had failed: " + end.failure->text +
               "; exit code " + std::to_string(static_cast<int>(Code::interrupted)));
      return static_cast<int>(Code::interrupted);
    }
  }
}

}  // namespace ferry
