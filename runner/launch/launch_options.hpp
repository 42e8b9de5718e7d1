// LaunchOptions: the options of `ferry launch`.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace ferry {

struct LaunchOptions {
  std::vector<std::string> command;    ///< the program of each task, and its arguments
  std::optional<int> tasks, per_host;  ///< if not set, the slots of the hosts decide
  /// Texts for parse_hosts() and read_hostfile(); at most one is set. If neither is set: the hostfile that the
  /// environment names, else the nodes of an allocation (slurm.hpp), else this host.
  std::string hosts, hostfile;
  std::string interface;               ///< where the rendezvous listens; "": where the hosts reach this host
  std::string ssh;                     ///< command with options; "": srun for nodes of an allocation, else ssh
  std::vector<std::string> variables;  ///< "NAME=VALUE" or "NAME", for all tasks
  bool continue_after_loss = false;    ///< a lost task does not end the job: JobEnds::add_loss
  int restarts = 0;                    ///< most restarts of a job that fails
  std::chrono::milliseconds restart_wait =
      std::chrono::seconds(1);  ///< before the first restart; later waits: restart_waits.hpp
  std::chrono::milliseconds arrival_wait = std::chrono::seconds(60);  ///< for all hosts to connect
  std::chrono::milliseconds grace = std::chrono::seconds(30);         ///< for tasks to end after they are asked to
};

}  // namespace ferry
