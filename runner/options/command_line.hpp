// The command line: what all subcommands share. Parsing with messages that help, and the one place where an error
// becomes text on stderr and an exit code (docs/exit_codes.md).
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

/// Parses into `app`. False when the help or the version was asked for, which is then on stdout. Error(usage) names the
/// option or word that is wrong, and the nearest one that exists.
[[nodiscard]] bool parse_command_line(CLI::App& app, int argc, const char* const* argv);

/// Examples at the end of the help of `app`, a command and what it does on each line; then the exit codes.
void add_examples(CLI::App& app, std::string_view lines);

/// Runs `body` and gives its exit code. What it throws is written to stderr, one screen at most, and becomes the exit
/// code: that of a ferry::Error, 7 for exhausted memory, 9 for anything else.
[[nodiscard]] int guarded(const Action& body) noexcept;

/// `error` as exit code and text; both as guarded() reports them.
struct Report {
  int exit_code = 0;
  std::string text;
};
[[nodiscard]] Report report_of(const std::exception_ptr& error);

/// `text` cut to one screen: at most 40 lines, and a line that says how many more there were.
[[nodiscard]] std::string one_screen(std::string_view text);

/// Writes to stdout. When it is closed or full, this is said once on stderr and the rest is dropped, while the run goes
/// on.
void print(std::string_view text);
}  // namespace ferry
