// Runs a job once: starts its tasks through an agent on each host, and forwards their output, their input and signals.
// If one task fails, it ends all others.
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
#include "runner/launch/launch_options.hpp"
#include "runner/launch/task_input.hpp"
#include "runner/launch/task_output.hpp"

namespace ferry {

/// How a job ended.
struct JobEnd {
  std::optional<TaskFailure> failure;  ///< none: all tasks ended with exit code 0, except for lost tasks
  std::vector<std::string> lost;  ///< LaunchOptions::continue_after_loss: lost tasks and hosts of a job that ended well
  int stop_signal = 0;            ///< the signal with which the user stopped the job; 0: none
};

class Supervisor {
 public:
  /// `signals` must receive SIGCHLD and all signals that the launcher handles. `placed` is not empty. `others` are
  /// children of this process that do not belong to the job.
  Supervisor(const LaunchOptions& options, std::span<const HostTasks> placed, std::span<const ProcessId> others,
             SignalQueue& signals);

  /// Runs the job to its end; called once. When it returns, none of the job's processes is left on this host.
  [[nodiscard]] JobEnd run();

 private:
  /// The steps to end tasks that do not end by themselves, in order.
  enum class Step { none, ask, kill, abandon, leave };

  /// Kills all processes of the job on this host, also after an exception.
  struct Cleanup {
    std::span<const ProcessId> others;
    ~Cleanup() { kill_descendants(others); }
  };

  void poll_once();
  [[nodiscard]] bool all_connected() const;
  void start_tasks();
  [[nodiscard]] std::string meeting_address() const;
  void show_table();
  [[nodiscard]] bool all_ended() const;

  void handle_frames(HostAgent& agent);
  void take(HostAgent& agent, const LaunchFrame& frame);
  void handle_signals();
  void handle_stop(int signal);
  void handle_ends();
  void handle_host_end(HostAgent& agent);
  void schedule_retry(const HostAgent& agent);
  void retry_hosts();
  [[nodiscard]] bool may_lose(int task, const ProcessEnd& end) const;
  [[nodiscard]] bool may_lose(const HostAgent& agent) const;
  void signal_all_tasks(int signal);

  void schedule_step(Step step, Duration time);
  void do_step();
  [[nodiscard]] bool waits_for_reader();

  Cleanup cleanup_;  // first, so that it is destroyed last
  const LaunchOptions& options_;
  SignalQueue& signals_;
  std::string folder_;  // the current folder of the tasks
  std::vector<std::unique_ptr<HostAgent>> agents_;
  std::optional<RendezvousServer> rendezvous_;
  TaskOutput output_;
  TaskInput input_;
  LastWords last_words_;
  JobEnds ends_;
  Step step_ = Step::none;
  Deadline step_at_;
  int stop_signal_ = 0, interrupts_ = 0;
  bool starting_ = true;              // some agents have not connected yet
  bool warned_ = false;               // about a host that cannot be reached yet
  std::optional<Deadline> retry_at_;  // the next try to reach hosts by ssh
  bool left_ = false;                 // agents that cannot be killed are left behind
};

}  // namespace ferry
