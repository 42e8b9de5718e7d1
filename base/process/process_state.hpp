// The state of processes and threads of this machine, as the system reports it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace ferry {

/// A process of this machine. Its start time distinguishes it from a later process with the same process id.
struct ProcessId {
  std::int64_t pid = 0;
  std::uint64_t start = 0;  ///< clock ticks since the machine's boot; 0: not known

  bool operator==(const ProcessId&) const = default;
};

enum class ProcessState : std::uint8_t {
  running,
  stopped,  ///< by SIGSTOP or Ctrl-Z
  traced,   ///< halted by a debugger
  gone      ///< ended, or a zombie
};

[[nodiscard]] ProcessId this_process();
/// The command that started this process, quoted for a shell; empty if the system does not report it.
[[nodiscard]] std::string command_line();
/// The state of a process. It is `running` also if the system does not report the state. Thread-safe.
[[nodiscard]] ProcessState state_of(const ProcessId& process);
/// The children of this process, zombies too; empty if the system does not list processes. Thread-safe.
[[nodiscard]] std::vector<ProcessId> child_processes();
/// All descendants of this process: its children, their children, and so on. As child_processes() otherwise.
[[nodiscard]] std::vector<ProcessId> descendant_processes();
/// Whether the process has a handler for the signal. False if the system does not report it. Thread-safe.
[[nodiscard]] bool handles_signal(const ProcessId& process, int signal);
/// The environment with which the process began its program, as texts "NAME=VALUE". Empty if the system does not report
/// it, for example for a process of another user. Thread-safe.
[[nodiscard]] std::vector<std::string> first_environment(const ProcessId& process);
/// A text that is equal in two processes of one machine if they use the same process ids for the same processes.
/// Thread-safe.
[[nodiscard]] std::string process_namespace();
/// The system's number of the calling thread.
[[nodiscard]] std::int64_t this_thread_number();
/// The system call in which a thread of this process sleeps, and the file it concerns if there is one: "read of
/// /data/a.csv", "futex". Empty if the thread runs or has ended, or if the system does not report it. Thread-safe.
[[nodiscard]] std::string current_system_call(std::int64_t thread);
/// CPU time that all threads of this process have used, in seconds. Thread-safe.
[[nodiscard]] double process_cpu_seconds();
/// CPU time that the calling thread has used, in seconds.
[[nodiscard]] double thread_cpu_seconds();

}  // namespace ferry
#pragma GCC visibility pop
