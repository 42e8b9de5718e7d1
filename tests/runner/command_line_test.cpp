#include "runner/options/command_line.hpp"

#include <doctest/doctest.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <stdexcept>
#include <vector>

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "runner/options/run_options.hpp"
#include "runner/run/run_main.hpp"
#include "tests/support/log_text.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

/// The text of the error that parsing these words gives; "" when they parse.
std::string refused(std::vector<const char*> words) {
  CLI::App app("test", "ferry");
  int tasks = 0;
  std::string file;
  CLI::App* run = app.add_subcommand("run", "runs");
  run->add_option("--tasks", tasks, "how many");
  run->add_option("FILE", file, "what");
  std::string place;
  CLI::Option* const steps = run->add_option("--steps", tasks, "steps");
  run->add_option("--epochs", tasks, "epochs")->excludes(steps)->needs(run->add_option("--data", file, "data"));
  run->add_option("--place", place, "where")->check(CLI::IsMember({"auto", "annotated"}));
  app.add_subcommand("plan", "plans")->add_option("FILE", file, "what")->required();
  app.require_subcommand(1);
  words.insert(words.begin(), "ferry");
  try {
    static_cast<void>(parse_command_line(app, static_cast<int>(words.size()), words.data()));
  } catch (const Error& error) {
    CHECK(error.code() == Code::usage);
    return error.text();
  }
  return "";
}

/// The code that guarded() returns, and its log.
std::pair<int, std::string> reported(const Action& body) {
  const test::LogText log;
  const int code = guarded(body);
  return {code, log.text};
}

TEST_CASE("a program whose graph cannot be made for what its own code threw") {
  std::string name = "program";
  char* words[] = {name.data(), nullptr};
  int made = 0;
  const auto [code, lines] = reported([&] {
    made = run_main(1, words, {}, [](Graph&, const std::string&) { throw std::runtime_error("enough"); });
    return made;
  });
  CHECK(made == 10);
  CHECK(lines == "error: the program threw: enough\n");
}

TEST_CASE("a mistyped option names the nearest one of its command") {
  CHECK(refused({"run", "--taks", "3"}) == "unknown option \"--taks\"\n  try: --tasks?");
  CHECK(refused({"run", "--taks=3"}) == "unknown option \"--taks\"\n  try: --tasks?");
  CHECK(refused({"run", "--batch", "8"}) == "unknown option \"--batch\"\n  try: ferry run --help");  // not --fetch
  CHECK(refused({"run", "--xyzzy"}) == "unknown option \"--xyzzy\"\n  try: ferry run --help");
}

TEST_CASE("a mistyped command names the nearest one") {
  CHECK(refused({"rum"}) == "unknown command \"rum\"\n  try: run?");
  CHECK(refused({"run", "a.pb", "b.pb"}) == "one argument too many: \"b.pb\"\n  try: ferry run --help");
}

TEST_CASE("a value of the wrong kind names its option") {
  const std::string text = refused({"run", "--tasks", "many"});
  CHECK(text.find("--tasks") != std::string::npos);
  CHECK(text.find("many") != std::string::npos);
}

TEST_CASE("an option that is given several times or without its value") {
  CHECK(refused({"run", "--tasks", "3", "--tasks", "4"}) == "--tasks is given 2 times\n  try: give --tasks once");
  CHECK(refused({"run", "--tasks=3", "--tasks=4", "--tasks=5"}) ==
        "--tasks is given 3 times\n  try: give --tasks once");
  CHECK(refused({"run", "a.pb", "--tasks"}) == "--tasks: its value is missing\n  try: ferry run --help");
  for (const std::vector<const char*>& words :
       {std::vector{"run", "--data", "--tasks", "a.pb"}, std::vector{"run", "a.pb", "--data", "--tasks=2"},
        std::vector{"run", "--data", "--tasks", "2", "a.pb", "b.pb"}, std::vector{"run", "--steps", "--tasks", "2"}})
    CHECK(refused(words).find(": its value is missing\n  try: give it a value before --tasks") != std::string::npos);
}

TEST_CASE("the parser's messages are in plain words, and say what to do") {
  CHECK(refused({"plan"}) == "ferry plan: FILE is missing\n  try: ferry plan --help");
  CHECK(refused({"run", "--steps", "1", "--epochs", "2", "--data", "d"}) ==
        "--epochs and --steps exclude each other\n  try: give one of them");
  CHECK(refused({"run", "--epochs", "2"}) == "--epochs needs --data\n  try: give both, or neither");
  CHECK(refused({"run", "--place", "annotate"}) ==
        "--place annotate: the value must be one of annotated, auto\n  try: annotated?");
  CHECK(refused({"run", "--place", "x"}) == "--place x: the value must be one of annotated, auto");
}

TEST_CASE("help of an unknown command is an error") {
  CHECK(refused({"rum", "--help"}) == "unknown command \"rum\"\n  try: run?");
  CHECK(refused({"hlp"}) == "unknown command \"hlp\"\n  try: help?");
}

TEST_CASE("an empty value names its option") {
  for (const std::vector<const char*>& words : {std::vector{"run", "--tasks", ""}, std::vector{"run", "--tasks="},
                                                std::vector{"run", "--tasks=", "a.pb"}, std::vector{"--tasks="}})
    CHECK(refused(words) == "--tasks: its value is empty\n  try: leave --tasks out");
  CHECK(refused({"run", ""}) == "argument 2 is empty\n  try: leave it out");
  CHECK(refused({""}) == "argument 1 is empty\n  try: leave it out");
}

TEST_CASE("a plan is written into a file that is read as one") {
  CLI::App app("test", "ferry");
  RunOptions options;
  add_run_options(app, options);
  const auto given = [&](const char* name) {
    const char* const words[] = {"ferry", "--save-plan", name};
    return test::error_of([&] { static_cast<void>(parse_command_line(app, 3, words)); });
  };
  CHECK(given("a.plan").code() == Code::ok);
  const Error error = given("runs/add.pb");
  CHECK(error.code() == Code::usage);
  CHECK(error.text() ==
        "--save-plan runs/add.pb: the name of a plan's file ends in .plan\n  try: --save-plan runs/add.pb.plan");
}

TEST_CASE("right words parse") {
  CHECK(refused({"run", "--tasks=3", "a.pb"}).empty());
}

TEST_CASE("what is thrown becomes text and an exit code") {
  CHECK(reported([] { return 0; }) == std::pair(0, std::string()));
  const auto plan = reported([]() -> int { throw Error(Code::plan, "op c: no"); });
  CHECK(plan.first == 4);
  CHECK(plan.second.find("op c: no") != std::string::npos);
  CHECK(reported([]() -> int { throw std::bad_alloc(); }).first == 7);
  CHECK(reported([]() -> int { throw std::logic_error("odd"); }).first == 9);
  CHECK(reported([]() -> int { throw 5; }).first == 9);
}

TEST_CASE("an error takes one screen at most") {
  std::string text = "first";
  for (int i = 1; i < 100; ++i) text += "\n  line " + std::to_string(i);
  const std::string cut = one_screen(text);
  CHECK(std::count(cut.begin(), cut.end(), '\n') == 39);
  CHECK(cut.ends_with("… and 61 more lines"));
  CHECK(one_screen("short\n  text") == "short\n  text");
}

}  // namespace
}  // namespace ferry
