#include "runner/options/command_line.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <optional>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/number_text.hpp"
#include "base/system/log.hpp"
#include "base/system/output.hpp"
#include "base/text.hpp"
#include "runner/options/help_text.hpp"

namespace ferry {
namespace {

constexpr std::size_t kScreenLines = 40;
constexpr std::size_t kAlignedExample = 48;  // columns; longer commands do not widen the column of commands

/// The meaning of each exit code in a few words; docs/reference/exit_codes.md has more.
constexpr std::pair<Code, const char*> kMeanings[] = {
    {Code::ok, "done"},
    {Code::conformance, "conformance cases failed"},
    {Code::usage, "a wrong option, feed, fetch or launch"},
    {Code::file, "a bad file"},
    {Code::plan, "the graph cannot be planned or placed"},
    {Code::peer_lost, "another task failed or ended"},
    {Code::stalled, "no progress until the deadline"},
    {Code::resource, "no memory, disk space, descriptors or threads left"},
    {Code::numeric, "NaN, Inf or unequal copies of a variable, if checks are on"},
    {Code::bug, "a bug in ferry"},
    {Code::program, "an error in your code"},
    {Code::preempted, "stopped by SIGTERM, with a checkpoint saved"},
    {Code::interrupted, "stopped by Ctrl-C or SIGTERM"}};
bool output_lost = false, does_more_than_print = false;

/// The subcommand that the user called, or the app itself.
CLI::App& chosen(CLI::App& app) {
  const auto given = app.get_subcommands();
  return given.empty() ? app : chosen(*given.front());
}

/// The names of the commands above `app`: "ferry" for the app of `ferry run`, empty for the app of `ferry`.
std::string path_above(const CLI::App& app) {
  std::string path;
  for (const CLI::App* up = app.get_parent(); up != nullptr; up = up->get_parent())
    path = up->get_name() + (path.empty() ? "" : " " + path);
  return path;
}

std::string help_of(const CLI::App& app) {
  const std::string above = path_above(app);
  return above + (above.empty() ? "" : " ") + app.get_name() + " --help";
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  if (!names.empty()) names.emplace_back("help");
  return names;
}

Error unknown_word(CLI::App& app, const std::string& word) {
  CLI::App& command = chosen(app);
  const bool option = word.size() > 1 && word.front() == '-';
  const std::string name = option ? word.substr(0, word.find('=')) : word;
  auto known = option ? option_names(command) : command_names(command);
  const std::string what = option ? "unknown option " : known.empty() ? "one argument too many: " : "unknown command ";
  Error error(Code::usage, "{}{:?}", as_is(what), name);
  const std::string hyphens = option ? "--" : "";
  // Hyphens do not make names alike: "--batch" does not resemble "--fetch".
  for (std::string& one : known) one.erase(0, hyphens.size());
  const std::string like =
      nearest(option ? name.substr(std::min(name.find_first_not_of('-'), name.size())) : name, known);
  return error.hint(like.empty() ? help_of(command) : hyphens + like + "?");
}

/// "ferry run": the command that the user called.
std::string called(CLI::App& app) {
  const std::string help = help_of(chosen(app));
  return help.substr(0, help.rfind(' '));
}

/// Error(usage) for a value that is not one of a few words: the parser's message is "--place: some not in {auto,all}".
/// Empty for other messages.
std::optional<Error> refused_word(const std::string& message) {
  constexpr std::string_view kNot = " not in {";
  const std::size_t name = message.find(": "), at = message.find(kNot);
  if (name == std::string::npos || at == std::string::npos || at < name + 2 || !message.ends_with('}')) return {};
  const std::string value = message.substr(name + 2, at - name - 2);
  std::vector<std::string> words;
  for (const std::string_view word : split(std::string_view(message).substr(at + kNot.size()), ','))
    words.emplace_back(word.ends_with('}') ? word.substr(0, word.size() - 1) : word);
  const std::string like = nearest(value, words);
  std::ranges::sort(words);
  Error error(Code::usage, "{} {}: the value must be one of {}", message.substr(0, name), value,
              as_is(join(words, ", ")));
  return like.empty() ? error : error.hint("{}?", like);
}

/// The parser's message in ferry's words.
Error refused_option(CLI::App& app, const std::string& message) {
  constexpr std::string_view kOften = ": At Most 1 required but received ", kMissing = ": 1 required ";
  constexpr std::string_view kRequired = " is required", kRequires = " requires ", kExcludes = " excludes ";
  if (std::optional<Error> word = refused_word(message)) return *std::move(word);
  if (message.ends_with(kRequired)) {
    const std::string name = message.substr(0, message.size() - kRequired.size());
    return Error(Code::usage, "{}: {} is missing", as_is(called(app)), name).hint(help_of(chosen(app)));
  }
  if (const std::size_t at = message.find(kRequires); at != std::string::npos)
    return Error(Code::usage, "{} needs {}", message.substr(0, at), message.substr(at + kRequires.size()))
        .hint("give both, or neither");
  if (const std::size_t at = message.find(kExcludes); at != std::string::npos) {
    std::array names{message.substr(0, at), message.substr(at + kExcludes.size())};
    std::ranges::sort(names);  // the parser finds them in the order of their addresses
    return Error(Code::usage, "{} and {} exclude each other", names[0], names[1]).hint("give one of them");
  }
  if (const std::size_t at = message.find(kOften); at != std::string::npos) {
    const std::string option = formatted("{}", message.substr(0, at));
    return Error(Code::usage, option + " is given " + message.substr(at + kOften.size()) + " times")
        .hint("give " + option + " once");
  }
  if (const std::size_t at = message.find(kMissing); at != std::string::npos && message.ends_with(" missing"))
    return Error(Code::usage, "{}: its value is missing", message.substr(0, at)).hint(help_of(chosen(app)));
  return Error(Code::usage, "{:.400}", message).hint(help_of(chosen(app)));
}

Error not_parsed(CLI::App& app, const CLI::ParseError& error) {
  const auto words = app.remaining(true);
  for (const std::string& word : words)
    if (word.starts_with("-")) return unknown_word(app, word);
  if (!words.empty()) return unknown_word(app, words.front());
  return refused_option(app, error.what());
}

/// Error(usage) for an option of `app` that took another option as its value, as in "--report --tasks 2".
void refuse_options_as_values(const CLI::App& app) {
  const std::vector<std::string> known = option_names(app);
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_lnames().empty()) continue;
    for (const std::string& value : option->results())
      if (std::ranges::find(known, value.substr(0, value.find('='))) != known.end())
        throw Error(Code::usage, "--{}: its value is missing", option->get_lnames().front())
            .hint("give it a value before {}; {}", value, help_of(app));
  }
}

/// Error(usage) for an empty word, such as one from an unset "$VARIABLE". No option accepts an empty value, and after
/// "--option=" CLI11 would take the next word as the value.
void refuse_empty(std::span<const char* const> words) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string word = words[i], before = words[i - 1];
    const bool has_equals = word.size() > 3 && word.starts_with("--") && word.find('=') == word.size() - 1;
    if (!word.empty() && !has_equals) continue;
    const std::string option = has_equals ? word.substr(0, word.size() - 1) : before;
    if (!option.starts_with("--")) throw Error(Code::usage, "argument {} is empty", i).hint("leave it out");
    throw Error(Code::usage, "{}: its value is empty", option).hint("leave {} out", option);
  }
}

}  // namespace

bool parse_command_line(CLI::App& app, int argc, const char* const* argv) {
  refuse_empty({argv, static_cast<std::size_t>(argc)});
  try {
    app.parse(argc, argv);
    refuse_options_as_values(chosen(app));
  } catch (const CLI::CallForVersion& version) {
    print(std::string(version.what()) + "\n");
    return false;
  } catch (const CLI::Success&) {
    // "ferry rnu --help": without a known command, the parser would give the help of ferry.
    const auto words = app.remaining(true);
    if (&chosen(app) == &app && !command_names(app).empty() && !words.empty()) throw unknown_word(app, words.front());
    set_help_text(app);
    print(chosen(app).help(path_above(chosen(app)), CLI::AppFormatMode::Normal));
    return false;
  } catch (const CLI::ParseError& error) {
    refuse_options_as_values(chosen(app));
    throw not_parsed(app, error);
  } catch (const Error&) {  // an option refused its value
    refuse_options_as_values(chosen(app));
    throw;
  }
  return true;
}

void add_examples(CLI::App& app, std::string_view lines) {
  std::vector<std::pair<std::string_view, std::string_view>> examples;
  std::size_t width = 0;
  for (const std::string_view line : split(trimmed(lines), '\n')) {
    const std::string_view whole = trimmed(line), command = whole.substr(0, whole.find("  "));
    examples.emplace_back(command, trimmed(whole.substr(command.size())));
    if (command.size() <= kAlignedExample && command.size() < whole.size()) width = std::max(width, command.size());
  }
  std::string text = "Examples:";
  for (const auto& [command, effect] : examples) {
    text.append("\n  ").append(command);
    if (!effect.empty()) text.append(command.size() < width ? width - command.size() + 2 : 2, ' ').append(effect);
  }
  if (app.get_parent() == nullptr) {  // the exit codes are the same for all commands
    text += "\n\nExit codes:";
    for (const auto& [code, meaning] : kMeanings)
      text += "\n  " + right_aligned(std::to_string(static_cast<int>(code)), 3) + "  " + meaning;
  } else {
    text += "\n\nExit codes: ferry --help lists them";
  }
  app.footer(text);
}

Report report_of(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const Error& e) {
    return {static_cast<int>(e.job_code()), e.text(), e.is_told_elsewhere()};
  } catch (const std::bad_alloc&) {
    return {static_cast<int>(Code::resource), as_error(error, Code::resource, "ferry").text()};
  } catch (const std::system_error& e) {
    const Error error =
        Error(Code::resource, std::string("the system refused a request of ferry: ") + e.what())
            .hint(e.code() == std::errc::operation_not_permitted
                      ? "a sandbox must allow clone3, or refuse it by ENOSYS"
                      : "fewer --tasks or --threads, or higher limits (ulimit -v, ulimit -u, ulimit -n)");
    return {static_cast<int>(Code::resource), error.text()};
  } catch (const std::exception& e) {
    return {static_cast<int>(Code::bug), std::string("a bug in ferry: ") + e.what()};
  } catch (...) {
    return {static_cast<int>(Code::bug), "a bug in ferry: an unknown exception"};
  }
}

std::string one_screen(std::string_view text) {
  const auto lines = split(text, '\n');
  if (lines.size() <= kScreenLines) return std::string(text);
  std::string cut;
  for (std::size_t i = 0; i + 1 < kScreenLines; ++i) cut.append(lines[i]).append("\n");
  return cut + "  … and " + std::to_string(lines.size() - kScreenLines + 1) + " more lines";
}

int guarded(const Action& body) noexcept {
  try {
    return body();
  } catch (...) {
    const Report report = report_of(std::current_exception());
    if (!report.told_elsewhere) log_error(one_screen(report.text));
    return report.exit_code;
  }
}

void print(std::string_view text) {
  if (output_lost) return;
  const int error = write_all(STDOUT_FILENO, printable(text));
  if (error == 0 || error == EAGAIN) return;
  output_lost = true;
  if (error == EPIPE && !does_more_than_print) return;
  log_warn(std::string("stdout: ") + std::strerror(error) + "; ferry prints no more results, but continues");
}

void warn_of_lost_reader() {
  does_more_than_print = true;
}

}  // namespace ferry
