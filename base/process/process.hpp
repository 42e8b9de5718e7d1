// Starts processes, with pipes to them, and ends them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/process/descriptor.hpp"
#include "base/process/process_state.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Both ends of a pipe. Started programs do not inherit them.
struct Pipe {
  Descriptor reader, writer;
};
/// Error(resource) if the system has no more descriptors.
[[nodiscard]] Pipe make_pipe();

/// A program to start.
struct ProgramStart {
  std::vector<std::string> arguments;  ///< [0] is searched for in the PATH of the new program unless it has a slash
  std::vector<std::pair<std::string, std::string>> set = {};  ///< variables in addition to this process's variables
  /// Variables of this process that the program does not get.
  std::vector<std::string> unset = {};
  int in = -1, out = -1, error = -1;  ///< become its stdin, stdout and stderr; -1: inherited from this process
  bool dies_with_parent = true;       ///< it is killed when the thread that started it ends
};

/// Starts the program in its own process group, and returns its process id. No signal is blocked, and the signals that
/// WithoutWriteSignals ignores have their default actions. Error(usage), with program and reason, if the program cannot
/// be executed; Error(resource) if the system allows no more processes. Not thread-safe with changes of the
/// environment.
[[nodiscard]] int start_program(const ProgramStart& program);

/// How a process ended.
struct ProcessEnd {
  int process = 0;
  int group = 0;      ///< its process group
  int exit_code = 0;  ///< valid if `signal` is 0
  int signal = 0;     ///< the signal that killed the process; 0: none did

  /// The exit code that a shell gives: 128 + signal for a killed process.
  [[nodiscard]] int code() const noexcept { return signal != 0 ? 128 + signal : exit_code; }
  /// "ended with exit code 3", "was killed by signal 9 (Killed)".
  [[nodiscard]] std::string text() const;
};

/// Returns a child of this process that has ended, and removes it from the system; nothing if no ended child is left.
/// Never waits.
[[nodiscard]] std::optional<ProcessEnd> next_ended_child() noexcept;

/// From now on, this process becomes the parent of its descendants when their own parent ends, so that
/// kill_descendants() finds them. Returns the children that this process has already, from before an exec.
[[nodiscard]] std::vector<ProcessId> adopt_orphans();

/// Kills all children of this process except `spared` and, after adopt_orphans(), all their descendants. Waits at most
/// one second for their ends. next_ended_child() does not return these children.
void kill_descendants(std::span<const ProcessId> spared);

/// Sends a signal to all processes of the group that start_program() made for `process`.
void signal_group(int process, int signal) noexcept;

/// Whether the group that start_program() made for `process` still has processes. An ended process counts until its
/// parent has waited for it.
[[nodiscard]] bool group_lives(int process) noexcept;

/// The path of the program that runs in this process. Error(resource) without /proc.
[[nodiscard]] std::string this_program_path();

}  // namespace ferry
#pragma GCC visibility pop
