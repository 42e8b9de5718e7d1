// Options of a program's own, beside those of `ferry run`: what its graph is made of.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ferry {

/// Numbers and words with their defaults, which run_main() reads from the command line.
///
///     std::int64_t batch = 32;
///     ferry::ProgramOptions own;
///     own.number("--batch", batch, "Images of a step");
///
/// The variables outlive run_main(). Names are unlike those of `ferry run`.
class ProgramOptions {
 public:
  /// NAME N, from 1 to 1,000,000,000.
  void number(std::string_view name, std::int64_t& value, std::string_view help);
  /// NAME WORD, one of `choices`.
  void word(std::string_view name, std::string& value, std::vector<std::string> choices, std::string_view help);

  struct Option {
    std::string name, help;
    std::int64_t* number = nullptr;  ///< else `word`
    std::string* word = nullptr;
    std::vector<std::string> choices;
  };
  [[nodiscard]] const std::vector<Option>& options() const { return options_; }

 private:
  std::vector<Option> options_;
};

}  // namespace ferry
