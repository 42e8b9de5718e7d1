// Common parts of the command lines of all subcommands: parsing with helpful messages, and the one place that turns an
// error into text on stderr and an exit code (docs/reference/exit_codes.md).
#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace ferry {

/// The action that the command line requests. A subcommand sets it in its callback. It runs after parsing and returns
/// the exit code.
using Action = std::function<int()>;

/// Parses into `app`. If the command line asks for the help or the version, prints it and returns false. Error(usage)
/// names the option or word that is wrong, and the most similar one that exists.
[[nodiscard]] bool parse_command_line(CLI::App& app, int argc, const char* const* argv);

/// Adds to the end of the help of `app`: examples (on each line a command and its effect), and the exit codes unless
/// `app` is a subcommand.
void add_examples(CLI::App& app, std::string_view lines);

/// Runs `body` and returns its exit code. An exception is printed on stderr, one screen at most, and determines the
/// exit code: a ferry::Error has its own; Code::resource for exhausted memory and std::system_error, Code::bug for
/// everything else.
[[nodiscard]] int guarded(const Action& body) noexcept;

/// The exit code and the whole text that guarded() reports for `error`.
struct Report {
  int exit_code = 0;
  std::string text;
  bool told_elsewhere = false;  ///< another task of the job prints it
};
[[nodiscard]] Report report_of(const std::exception_ptr& error);

/// `text` cut to one screen: at most 40 lines, and a line with the number of further lines.
[[nodiscard]] std::string one_screen(std::string_view text);

/// Writes to stdout. If writing fails, drops all further output, and the command continues. Prints one warning about it
/// on stderr, except if a command that only prints (ferry plan) wrote to a reader that reads no more (head).
void print(std::string_view text);
/// Call it when the command is about to do more than print. From then on print() also warns if the reader of stdout is
/// gone.
void warn_of_lost_reader();
}  // namespace ferry
