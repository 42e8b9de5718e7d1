#include "runner/options/budget_option.hpp"

#include <CLI/CLI.hpp>
#include <limits>

#include "base/numbers.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

std::int64_t bytes_from(std::string_view name, std::string_view text) {
  return text == "0" ? 0 : static_cast<std::int64_t>(byte_count(name, text));
}

void read_budget(const std::string& text, Budget& budget) {
  for (const std::string_view item : split(text, ',')) {
    const std::size_t equals = item.find('=');
    const std::string_view what = trimmed(item.substr(0, equals));
    std::optional<std::int64_t>* const limit = what == "bytes"      ? &budget.bytes
                                               : what == "messages" ? &budget.messages
                                               : what == "memory"   ? &budget.memory
                                                                    : nullptr;
    if (equals == std::string_view::npos || limit == nullptr)
      throw Error(Code::usage, "--budget " + escaped(item) + ": expected bytes=, messages= or memory=")
          .hint("for example --budget bytes=10MB,messages=100,memory=1GB");
    if (*limit) throw Error(Code::usage, "--budget: " + std::string(what) + " is given twice");
    const std::string name = "--budget " + std::string(what);
    const std::string_view number = trimmed(item.substr(equals + 1));
    *limit = what == "messages" ? whole_number(name, number, std::int64_t{0}, std::numeric_limits<std::int64_t>::max())
                                : bytes_from(name, number);
  }
}

}  // namespace

void add_budget_option(CLI::App& app, Budget& budget) {
  app.add_option_function<std::string>(
         "--budget", [&budget](const std::string& text) { read_budget(text, budget); },
         "Refuses a plan whose step sends more over all tasks, or whose tasks need more memory each")
      ->type_name("bytes=10MB,messages=100,memory=1GB");
}

void apply_budget(Graph& graph, const Budget& given) {
  Budget limits = graph.budget();
  if (given.bytes) limits.bytes = given.bytes;
  if (given.messages) limits.messages = given.messages;
  if (given.memory) limits.memory = given.memory;
  graph.budget(limits);
}

}  // namespace ferry
