// Processes that this one starts, and pipes to them.
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

/// Both ends of a pipe, which programs that are started do not inherit.
struct Pipe {
  Descriptor reader, writer;
};
/// Error(resource) when there can be none.
[[nodiscard]] Pipe make_pipe();

/// A program to start.
struct ProgramStart {
  std::vector<std::string> arguments;  ///< [0] is looked for in its own PATH unless it has a slash
  std::vector<std::pair<std::string, std::string>> set = {};  ///< variables in addition to this process's variables
  std::vector<std::string> unset = {};                        ///< variables of this process that it does not get
  int in = -1, out = -1, error = -1;  ///< become its stdin, stdout and stderr; -1: inherited from this process
  bool dies_with_parent = true;       ///< it is killed when the thread that started it ends
};

/// Starts the program in a process group of its own, with no signal blocked, and those that WithoutWriteSignals
/// ignores as they are by default. Returns its process id. Error(usage), naming program and reason, when it cannot be
/// executed; Error(resource) when there can be no more processes. Not thread-safe with changes of the environment.
[[nodiscard]] int start_program(const ProgramStart& program);

/// How a process ended.
struct ProcessEnd {
  int process = 0;
  int group = 0;      ///< its process group
  int exit_code = 0;  ///< where `signal` is 0
  int signal = 0;     ///< that killed it; 0: none did

  /// The exit code that a shell gives: 128 + signal for a killed process.
  [[nodiscard]] int code() const noexcept { return signal != 0 ? 128 + signal : exit_code; }
  /// "ended with exit code 3", "was killed by signal 9 (Killed)".
  [[nodiscard]] std::string text() const;
};

/// A child of this process that has ended and was not told of yet; none: all others still run. Never waits.
[[nodiscard]] std::optional<ProcessEnd> next_ended_child() noexcept;

/// From now on this process becomes the parent of descendants after their own parent has ended, so that
/// kill_descendants() finds them. Returns the children that it has already, from before an exec.
[[nodiscard]] std::vector<ProcessId> adopt_orphans();

/// Kills all children of this process but those `spared` and, after adopt_orphans(), all that they have started, and
/// waits for their ends, for a second at most. next_ended_child() does not tell of those.
void kill_descendants(std::span<const ProcessId> spared);

/// Sends a signal to all processes of the group that start_program() made for `process`.
void signal_group(int process, int signal) noexcept;

/// Whether that group still has processes. A process that has ended counts until its parent has noticed that.
[[nodiscard]] bool group_lives(int process) noexcept;

/// The path of the program that runs in this process. Error(resource) without /proc.
[[nodiscard]] std::string this_program_path();

}  // namespace ferry
#pragma GCC visibility pop
