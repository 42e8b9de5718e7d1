// Options that a program adds to the options of `ferry run`, to control how its graph is built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#pragma GCC visibility push(default)
namespace ferry {

/// Numbers and words with their defaults. run_main() and session_options() read them from the command line.
///
///     std::int64_t batch = 32;
///     ferry::ProgramOptions own;
///     own.number("--batch", batch, "Images of a step");
///
/// The variables must live until run_main() or session_options() returns. Names must differ from the names of `ferry
/// run`'s options.
class ProgramOptions {
 public:
  /// Adds an option that takes a whole number from 1 to 1,000,000,000.
  void number(std::string_view name, std::int64_t& value, std::string_view help) {
    options_.push_back({.name = std::string(name), .help = std::string(help), .number = &value, .choices = {}});
  }
  /// Adds an option that takes one of `choices`.
  void word(std::string_view name, std::string& value, std::vector<std::string> choices, std::string_view help) {
    options_.push_back(
        {.name = std::string(name), .help = std::string(help), .word = &value, .choices = std::move(choices)});
  }

  /// Sets the number of steps that run_main() runs without --steps and --epochs. If it is not set, run_main() runs one.
  void steps(std::int64_t by_default) { steps_ = by_default; }
  /// The number that steps() has set; 0: none.
  [[nodiscard]] std::int64_t default_steps() const { return steps_; }
  /// An option that was added.
  struct Option {
    std::string name, help;            ///< "--batch", and its line in --help
    std::int64_t* number = nullptr;    ///< null: the option sets `word`
    std::string* word = nullptr;       ///< null: the option sets `number`
    std::vector<std::string> choices;  ///< the allowed words
  };
  /// The options that were added.
  [[nodiscard]] const std::vector<Option>& options() const { return options_; }

 private:
  std::vector<Option> options_;
  std::int64_t steps_ = 0;
};

}  // namespace ferry
#pragma GCC visibility pop
