#include "runner/options/own_options.hpp"

#include "base/text.hpp"
#include "runner/options/number_options.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kMostNumber = 1'000'000'000;

}  // namespace

void add_own_options(CLI::App& app, const ProgramOptions& own) {
  for (const ProgramOptions::Option& option : own.options()) {
    if (option.number != nullptr)
      restrict_range(app.add_option(option.name, *option.number, option.help), std::int64_t{1}, kMostNumber)
          ->capture_default_str();
    else
      app.add_option(option.name, *option.word, option.help)
          ->check(CLI::IsMember(option.choices).description(""))
          ->type_name(join(option.choices, "|"))
          ->capture_default_str();
  }
}

}  // namespace ferry
