// HostAgent: the launcher's side of the connection to the agent on a host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/process/process.hpp"
#include "runner/launch/hosts.hpp"
#include "runner/launch/launch_options.hpp"
#include "runner/launch/wire.hpp"

namespace ferry {

/// The agent on a host. On this host the agent is a child process. For another host, or from outside of a step of
/// SLURM, the child process is ssh or srun, which runs the agent there.
class HostAgent {
 public:
  /// Starts the agent. Error(usage) if ssh or srun cannot be started. `earlier`: the reason why an earlier try of ssh
  /// did not reach the host, for lost().
  HostAgent(HostTasks tasks, const LaunchOptions& options, std::string earlier = {});

  [[nodiscard]] const HostTasks& tasks() const { return tasks_; }
  [[nodiscard]] const std::string& name() const { return tasks_.host.name; }
  [[nodiscard]] bool is_remote() const { return stderr_pipe_.open(); }
  [[nodiscard]] int process() const { return process_; }
  [[nodiscard]] AgentWire& wire() { return wire_; }
  [[nodiscard]] const AgentWire& wire() const { return wire_; }

  /// Watches the stderr of ssh or srun.
  [[nodiscard]] DescriptorWatch stderr_watch() const {
    return {stderr_pipe_.get(), stderr_pipe_.open() && !stderr_ended_, false, false};
  }
  /// Reads the available part of this stderr. Returns its complete lines, except lines that do not concern the job.
  [[nodiscard]] std::vector<std::string> read_stderr();

  /// Whether the last reason why ssh did not reach the host may be temporary: the host, or its name, does not exist
  /// yet.
  [[nodiscard]] bool may_retry() const;
  [[nodiscard]] const std::string& reason() const { return stderr_last_; }

  /// The reason why an agent ended before its tasks; names the host.
  [[nodiscard]] Error lost() const;

  std::optional<AgentHello> hello;  ///< set when the agent has sent it
  std::vector<int> processes;       ///< process ids of the tasks, once they have started
  int running = 0;                  ///< tasks that have not ended
  std::optional<ProcessEnd> end;    ///< end of the child process: the agent, ssh or srun

 private:
  HostAgent(HostTasks tasks, const LaunchOptions& options, std::string earlier, Pipe to, Pipe from, Pipe stderr_pipe);

  HostTasks tasks_;
  bool by_srun_;
  Descriptor stderr_pipe_;  // stderr of ssh or srun; not open without them
  bool stderr_ended_ = false;
  std::string stderr_partial_, stderr_last_;
  int process_ = 0;
  AgentWire wire_;
};

}  // namespace ferry
