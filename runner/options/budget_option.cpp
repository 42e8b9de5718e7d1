#include "runner/options/budget_option.hpp"

#include <CLI/CLI.hpp>
#include <limits>

#include "base/numbers.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

constexpr const char* kExample = "for example --budget bytes=10MB,messages=100,memory=1GB";

/// Parses a limit of bytes or of messages. `item`: the argument, such as "bytes=10MB", for the error.
std::int64_t limit_in(std::string_view item, bool of_messages, std::string_view text) {
  if (text == "0") return 0;
  try {
    if (of_messages) return whole_number("", text, std::int64_t{0}, std::numeric_limits<std::int64_t>::max());
    return static_cast<std::int64_t>(byte_count("", text));
  } catch (const Error&) {
    throw Error(Code::usage, "--budget {}: not {}", item,
                of_messages ? "a number of messages, 0 or more" : "a number of bytes, 0 or more")
        .hint(kExample);
  }
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
      throw Error(Code::usage, "--budget {}: expected bytes=, messages= or memory=", item).hint(kExample);
    if (*limit)
      throw Error(Code::usage, "--budget: " + std::string(what) + " is given twice").hint("give one limit for it");
    *limit = limit_in(trimmed(item), what == "messages", trimmed(item.substr(equals + 1)));
  }
}

}  // namespace

void add_budget_option(CLI::App& app, Budget& budget) {
  app.add_option_function<std::string>(
         "--budget", [&budget](const std::string& text) { read_budget(text, budget); },
         "Refuses a plan with more bytes or messages in a step of all tasks, or with more memory in a task")
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
