// Runs a job once: starts its tasks by an agent on each host, passes on their output, its input and signals, and sees
// to it that all have ended when one has failed.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/process/poll.hpp"
#include "comm/rendezvous.hpp"
#include "runner/launch/host_agent.hpp"
#include "runner/launch/job_ends.hpp"
#include "runner/launch/last_words.hpp"
#include "runner/launch/launcher.hpp"
#include "runner/launch/task_input.hpp"
#include "runner/launch/task_output.hpp"

namespace ferry {

/// How a job ended.
struct JobEnd {
  std::optional<TaskFailure> failure;  ///< none: all tasks ended with exit code 0, except for lost ones
  std::vector<std::string> lost;       ///< LaunchOptions::go_on: tasks and hosts without which the job has ended well
  int asked_by = 0;                    ///< the signal by which the user asked it to stop; 0: none
};

class Supervisor {
 public:
  /// `signals` has all that the launcher handles, and SIGCHLD; `placed` is not empty; `others` are children of this
  /// process that are none of the job's.
  Supervisor(const LaunchOptions& options, std::span<const HostTasks> placed, std::span<const ProcessId> others,
             SignalQueue& signals);

  /// Runs the job to its end; called once. None of its processes is left on this host.
  [[nodiscard]] JobEnd run();

 private:
  /// What happens to tasks that do not end by themselves, one step after the other.
  enum class Step { none, ask, kill, abandon, leave };

  /// Whatever happens, none of the job's processes stays.
  struct Cleanup {
    std::span<const ProcessId> others;
    ~Cleanup() { kill_descendants(others); }
  };

  void turn();
  [[nodiscard]] bool all_have_come() const;
  void start_tasks();
  [[nodiscard]] std::string meeting_address() const;
  void show_table();
  [[nodiscard]] bool all_over() const;

  void take_frames(HostAgent& agent);
  void take(HostAgent& agent, const LaunchFrame& frame);
  void take_signals();
  void take_stop(int signal);
  void take_ends();
  void host_over(HostAgent& agent);
  void try_later(const HostAgent& agent);
  void try_again();
  [[nodiscard]] bool may_lose(int task, const ProcessEnd& end) const;
  [[nodiscard]] bool may_lose(const HostAgent& agent) const;
  void say_to_all(int signal);

  void after(Step step, Duration time);
  void do_step();
  [[nodiscard]] bool waits_for_reader();

  Cleanup cleanup_;  // first, so that it is the last to go
  const LaunchOptions& options_;
  SignalQueue& signals_;
  std::string folder_;  // the current one of the tasks
  std::vector<std::unique_ptr<HostAgent>> agents_;
  std::optional<RendezvousServer> rendezvous_;
  TaskOutput output_;
  TaskInput input_;
  LastWords words_;
  JobEnds ends_;
  Step step_ = Step::none;
  Deadline step_at_;
  int asked_by_ = 0, interrupts_ = 0;
  bool starting_ = true;              // not all agents have come yet
  bool warned_ = false;               // that a host has not come yet
  std::optional<Deadline> again_at_;  // when hosts that ssh did not reach are tried again
  bool left_ = false;                 // agents are left behind that cannot be killed
};

}  // namespace ferry
