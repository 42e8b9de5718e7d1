// The launcher's side of an agent on a host.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/process/process.hpp"
#include "runner/launch/hosts.hpp"
#include "runner/launch/launcher.hpp"
#include "runner/launch/wire.hpp"

namespace ferry {

/// An agent and its host. Started here as a process, elsewhere by ssh or srun, which then is the process.
class HostAgent {
 public:
  /// Starts it. Error(usage) when ssh or srun cannot be started. `earlier`: the reason why ssh did not reach the host
  /// before, for lost().
  HostAgent(HostTasks tasks, const LaunchOptions& options, std::string earlier = {});

  [[nodiscard]] const HostTasks& tasks() const { return tasks_; }
  [[nodiscard]] const std::string& name() const { return tasks_.host.name; }
  [[nodiscard]] bool is_remote() const { return said_.open(); }
  [[nodiscard]] int process() const { return process_; }
  [[nodiscard]] AgentWire& wire() { return wire_; }
  [[nodiscard]] const AgentWire& wire() const { return wire_; }

  /// What ssh or srun writes to stderr.
  [[nodiscard]] DescriptorWatch to_said() const { return {said_.get(), said_.open() && !said_ended_, false, false}; }
  /// Reads what there is of that, and returns its complete lines, except those that say nothing of the job.
  [[nodiscard]] std::vector<std::string> read_said();

  /// Whether the last reason why ssh did not reach the host may pass: it, or its name, is not there yet.
  [[nodiscard]] bool may_come_later() const;
  [[nodiscard]] const std::string& reason() const { return said_last_; }

  /// Why an agent ended before its tasks: names host and reason.
  [[nodiscard]] Error lost() const;

  std::optional<AgentHello> hello;  ///< once it has come
  std::vector<int> processes;       ///< of the tasks, once they are started
  int running = 0;                  ///< tasks that have not ended
  std::optional<ProcessEnd> end;    ///< of the agent, ssh or srun

 private:
  HostAgent(HostTasks tasks, const LaunchOptions& options, std::string earlier, Pipe to, Pipe from, Pipe said);

  HostTasks tasks_;
  bool by_srun_;
  Descriptor said_;  // stderr of ssh or srun; not open without them
  bool said_ended_ = false;
  std::string said_begun_, said_last_;
  int process_ = 0;
  AgentWire wire_;
};

}  // namespace ferry
