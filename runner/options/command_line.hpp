// What the command lines of all subcommands share: parsing with helpful messages, and the one place where an error
// becomes text on stderr and an exit code (docs/reference/exit_codes.md).
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace ferry {

/// The action that the command line asks for. It is run after parsing and returns the exit code. A subcommand sets it
/// in its callback.
using Action = std::function<int()>;

/// Parses into `app`. Prints the help or the version if it is asked for, and then returns false. Error(usage) names the
/// option or word that is wrong, and the nearest one that exists.
[[nodiscard]] bool parse_command_line(CLI::App& app, int argc, const char* const* argv);

/// Adds to the end of the help of `app`: examples (on each line a command and its effect), and the exit codes unless it
/// is a subcommand.
void add_examples(CLI::App& app, std::string_view lines);

/// Runs `body` and returns its exit code. An exception is printed on stderr, one screen at most, and determines the
/// exit code: a ferry::Error has its own; Code::resource for exhausted memory and std::system_error, Code::bug for all
/// else.
[[nodiscard]] int guarded(const Action& body) noexcept;

/// The exit code and the text (here uncut) that guarded() reports for `error`.
struct Report {
  int exit_code = 0;
  std::string text;
  bool told_elsewhere = false;  ///< another task of the job prints it
};
[[nodiscard]] Report report_of(const std::exception_ptr& error);

/// `text` cut to one screen: at most 40 lines, and a line that says how many more there were.
[[nodiscard]] std::string one_screen(std::string_view text);

/// Writes to stdout. If that fails, further output is dropped, and the command goes on. One warning on stderr says so,
/// except where a command that does nothing but print (ferry plan) wrote to a reader that has enough (head).
void print(std::string_view text);
/// From here on the command does more than print: print() also warns when the reader of stdout is gone.
void warn_of_lost_reader();
}  // namespace ferry
