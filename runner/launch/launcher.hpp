// `ferry launch`: starts the tasks of a job on this host or on several, and supervises them.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace ferry {

struct LaunchOptions {
  std::vector<std::string> command;    ///< the program of each task, and its arguments
  std::optional<int> tasks, per_host;  ///< without: as many as the hosts have slots
  /// As parse_hosts() and read_hostfile() take them; at most one. Neither: the hostfile that the environment names,
  /// else the nodes of an allocation (slurm.hpp), else this host.
  std::string hosts, hostfile;
  std::string interface;  ///< where the rendezvous listens; "": where the hosts reach this one
  std::string ssh;        ///< the command, and options of it; "": srun for the nodes of an allocation, ssh for others
  std::vector<std::string> variables;  ///< "NAME=VALUE" or "NAME", for all tasks
  bool go_on = false;                  ///< a task that is lost does not end the job: JobEnds::lose
  int restarts = 0;                    ///< how often a job that fails is started again
  std::chrono::milliseconds restart_wait =
      std::chrono::seconds(1);  ///< before the first; later ones: restart_waits.hpp
  std::chrono::milliseconds arrival_wait = std::chrono::seconds(60);  ///< for all hosts to come
  std::chrono::milliseconds grace = std::chrono::seconds(30);         ///< for tasks to end that are asked to
};

/// Runs the job to its end. Returns its exit code: the exit code of the task that failed first
/// (docs/guide/launching.md). When it returns, none of the job's processes is left on this host, and on others those
/// that run are about to be killed.
[[nodiscard]] int launch(const LaunchOptions& options);

}  // namespace ferry
