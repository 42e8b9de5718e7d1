#include "runner/options/help_text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace ferry {
namespace {

constexpr std::size_t kColumn = 30;                            // column where the text of an option begins
constexpr std::size_t kWidth = 100, kLeast = 60, kMost = 120;  // columns: without a terminal; limits with a terminal
constexpr std::size_t kFewOptions = 12;                        // up to this number, options are not in groups

struct OptionGroup {
  const char* title;
  std::string_view options;  ///< separated by spaces
};

constexpr OptionGroup kGroups[] = {
    {"Input", "--entry --fetch --fetch-to --feed --feed-part --dim --shape --data --model --graph --ops"},
    {"Steps", "--steps --epochs --eval-every --seed --step"},
    {"Tasks and devices",
     "--tasks --place --no-equal --hosts --cluster --jobs --threads --invariant --memory --gpu-memory --device "
     "--devices --soft-placement --no-compile "
     "--balance --budget --tune --transport --interface --deadline"},
    {"Output",
     "--out --save --save-plan --print-every --all --json --dot --svg --full --diff --dump-after --dump-problem "
     "--times --stats "
     "--print-annotations --price"},
    {"Checkpoints", "--checkpoint --checkpoint-every --checkpoint-keep --resume"},
    {"Watching", "--report --trace --metrics --tensorboard"},
    {"Finding faults",
     "--check-numerics --check-replicas --check-passes --sync-gpu --flight-recorder --record-turns --replay-turns"},
};

std::size_t columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kWidth;
  return std::clamp<std::size_t>(size.ws_col, kLeast, kMost);
}

/// `text` in lines of at most `width` columns. All lines except the first begin with `indent` blanks.
std::string wrapped(std::string_view text, std::size_t indent, std::size_t width) {
  std::string all, line;
  for (const std::string_view word : split(text, ' ')) {
    if (!line.empty() && indent + line.size() + 1 + word.size() > width) {
      all += line + "\n" + std::string(indent, ' ');
      line.clear();
    }
    line += (line.empty() ? "" : " ") + std::string(word);
  }
  return all + line;
}

/// "  NAME" and its text in two columns. If the name is long, the text begins on the next line.
std::string entry(const std::string& name, const std::string& text) {
  const std::string first = "  " + name;
  const bool fits = first.size() + 2 <= kColumn;
  return first + (fits ? std::string(kColumn - first.size(), ' ') : "\n" + std::string(kColumn, ' ')) +
         wrapped(text, kColumn, columns()) + "\n";
}

/// "{auto,cpu}" becomes "auto|cpu"; other types stay as they are.
std::string value_of(const CLI::Option& option) {
  std::string type = option.get_type_name();
  const auto open = type.find('{');
  if (open == std::string::npos) return type;
  type = type.substr(open + 1, type.find('}') - open - 1);
  std::ranges::replace(type, ',', '|');
  return type;
}

std::string names_of(const std::set<CLI::Option*>& options) {
  std::vector<std::string> names;
  for (const CLI::Option* option : options) names.push_back(option->get_name());
  std::ranges::sort(names);
  return join(names, " and ");
}

class HelpText final : public CLI::Formatter {
 public:
  HelpText() { label("SUBCOMMAND", "COMMAND"); }

  std::string make_option(const CLI::Option* option, bool positional) const override {
    if (positional) return entry(option->get_name(true, false), option->get_description());
    std::vector<std::string> names;
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    std::string name = join(names, ", ");
    if (option->get_type_size() != 0) {
      const std::string value = value_of(*option);
      name += (value.starts_with("[") ? "" : " ") + value;
    }
    std::string text = option->get_description();
    if (!option->get_needs().empty()) text += "; needs " + names_of(option->get_needs());
    if (!option->get_excludes().empty()) text += "; not with " + names_of(option->get_excludes());
    return entry(name, text);
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }

  std::string make_description(const CLI::App* app) const override {
    return wrapped(app->get_description(), 0, columns()) + "\n\n";
  }

  /// Leaves one empty line between groups; CLI11 has two.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override {
    std::string help = Formatter::make_help(app, std::move(name), mode);
    for (std::size_t at = help.find("\n\n\n"); at != std::string::npos; at = help.find("\n\n\n")) help.erase(at, 1);
    return help;
  }
};

bool is_shown(const CLI::Option& option) {
  return !option.get_group().empty();
}

void set_groups(CLI::App& app) {
  if (CLI::Option* const help = app.get_help_ptr()) help->description("Prints this help");
  if (app.get_options().size() <= kFewOptions) return;
  for (const OptionGroup& group : kGroups)
    for (const std::string_view name : split(group.options, ' '))
      if (CLI::Option* option = app.get_option_no_throw(std::string(name)); option != nullptr && is_shown(*option))
        option->group(group.title);
}

}  // namespace

void set_help_text(CLI::App& app) {
  app.formatter(std::make_shared<HelpText>());
  set_groups(app);
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) set_help_text(*command);
}

}  // namespace ferry
