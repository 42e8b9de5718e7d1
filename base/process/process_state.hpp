// What the system says of a process of this machine: whether it runs, was stopped, or is gone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#pragma GCC visibility push(default)
namespace ferry {

/// A process of this machine. Its start time tells it from a later process that got the same number.
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
/// The command that started this process, for a shell; empty where the system tells nothing.
[[nodiscard]] std::string started_as();
/// `running`, too, where the system tells nothing. Thread-safe.
[[nodiscard]] ProcessState state_of(const ProcessId& process);
/// The children of this process, zombies too; none where the system tells nothing. Thread-safe.
[[nodiscard]] std::vector<ProcessId> child_processes();
/// The same with the children of children, and so on.
[[nodiscard]] std::vector<ProcessId> descendant_processes();
/// Whether the process has a handler for the signal. False where the system tells nothing. Thread-safe.
[[nodiscard]] bool handles_signal(const ProcessId& process, int signal);
/// The environment with which the process began its program: "NAME=VALUE" each. Empty where the system tells nothing,
/// as of a process of another user. Thread-safe.
[[nodiscard]] std::vector<std::string> first_environment(const ProcessId& process);
/// Equal in two processes of one machine if each sees the other under its process number. Thread-safe.
[[nodiscard]] std::string process_namespace();
/// The calling thread, as the system numbers it.
[[nodiscard]] std::int64_t this_thread_number();
/// The system call in which a thread of this process sleeps, and the file it concerns if there is one: "read of
/// /data/a.csv", "futex". Empty when the thread runs or has ended, or where the system tells nothing. Thread-safe.
[[nodiscard]] std::string sleeps_in(std::int64_t thread);
/// CPU time that all threads of this process have used, in seconds. Thread-safe.
[[nodiscard]] double process_cpu_seconds();
/// CPU time that the calling thread has used, in seconds.
[[nodiscard]] double thread_cpu_seconds();

}  // namespace ferry
#pragma GCC visibility pop
