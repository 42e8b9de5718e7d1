#include "runner/run/session_options.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "base/files/files.hpp"
#include "graph/graph.hpp"
#include "ops/math/math.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

/// A command line, and what session_options() has left of it.
struct Words {
  explicit Words(std::vector<std::string> given) : words(std::move(given)) {
    words.insert(words.begin(), "program");
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    argc = static_cast<int>(words.size());
  }
  SessionArguments read(const ProgramOptions& own = {}) { return session_options(argc, argv.data(), own); }
  [[nodiscard]] std::vector<std::string> left() const {
    CHECK(argv[argc] == nullptr);
    return {argv.begin() + 1, argv.begin() + argc};
  }

  std::vector<std::string> words;
  std::vector<char*> argv;
  int argc = 0;
};

std::string refused(std::vector<std::string> words, const ProgramOptions& own = {}) {
  const Error error = test::error_of([&] { static_cast<void>(Words(std::move(words)).read(own)); });
  CHECK(error.code() == Code::usage);
  return error.text();
}

TEST_CASE("a program with a session has ferry's options and keeps its own arguments") {
  std::int64_t hidden = 32;
  ProgramOptions own;
  own.number("--hidden", hidden, "units");
  Words words({"in.txt", "--tasks", "3", "--mine=4", "--check-numerics", "-v", "--hidden", "64", "--seed=7", "3"});
  const SessionArguments options = words.read(own);
  CHECK(options.cluster.tasks == 3);
  CHECK(options.session.run.check_numerics);
  CHECK(options.session.run.seed == 7);
  CHECK(options.cluster.alike.contains("--check-numerics"));
  CHECK(hidden == 64);
  CHECK(words.left() == std::vector<std::string>{"in.txt", "--mine=4", "-v", "3"});
  Words none({});
  CHECK(none.read().cluster.tasks == 0);
  CHECK(none.left().empty());
}

TEST_CASE("a session's device is its plans' default") {
  CHECK(Words({"--device", "sim:3"}).read().cluster.simulated == 3);
  CHECK(Words({"--device", "cpu"}).read().session.plan.default_device == DeviceKind::cpu);
}

TEST_CASE("a mistyped option of ferry's is refused, unless it stands behind --") {
  CHECK(
      refused({"--taks", "3"}) ==
      "unknown option \"--taks\"\n  try: --tasks? An option of the program's own goes into ProgramOptions, or follows "
      "--");
  CHECK(refused({"--reprot=r.html"}).starts_with("unknown option \"--reprot\"\n  try: --report?"));
  CHECK(refused({"--tasks", "many"}).find("--tasks") != std::string::npos);
  CHECK(refused({"--check-num"}).find("try: --check-numerics?") != std::string::npos);
  CHECK(refused({"--print-e", "2"}).find("try: --print-every?") != std::string::npos);
  CHECK(refused({"-tasks", "3"}).starts_with("unknown option \"-tasks\"\n  try: --tasks?"));
  CHECK(refused({"-seed=3"}).starts_with("unknown option \"-seed\"\n  try: --seed?"));
  for (const char* word : {"--rate", "--dir", "--batch", "-t", "--verbose", "--print", "--check", "-rate"}) {
    Words words({word, "1"});
    static_cast<void>(words.read());
    CHECK(words.left() == std::vector<std::string>{word, "1"});
  }
  Words words({"--tasks", "2", "--", "--taks", "3"});
  CHECK(words.read().cluster.tasks == 2);
  CHECK(words.left() == std::vector<std::string>{"--", "--taks", "3"});
}

TEST_CASE("an option that is given twice, without a value, or with another option as its value") {
  CHECK(refused({"--threads", "2", "--threads=3"}).starts_with("--threads is given 2 times"));
  CHECK(refused({"--threads"}).starts_with("--threads: its value is missing"));
  CHECK(refused({"--threads="}).starts_with("--threads: its value is empty"));
  CHECK(refused({"--report", "--tasks", "2"})
            .starts_with("--report: its value is missing\n  try: give it a value before --tasks"));
  CHECK(refused({"--seed", "--tasks", "2"})
            .starts_with("--seed: its value is missing\n  try: give it a value before --tasks"));
}

TEST_CASE("options that a session alone cannot follow are refused by name") {
  CHECK(refused({"--steps", "3"}) ==
        "--steps: this program makes its own session, which does not follow it\n  try: in the program, run_main() with "
        "a TrainingLoop, which follows all options of ferry run");
  CHECK(refused({"--model", "m"}).find("try: ferry::load and ferry::save") != std::string::npos);
  for (const char* word : {"--metrics", "--checkpoint", "--feed", "--out", "--devices", "--entry", "--eval-every"})
    CHECK(refused({word, "1"}).starts_with(word));
}

TEST_CASE("a session writes a report when it is closed") {
  const test::TempFolder folder;
  const std::string page = folder / "run.html";
  Words words({"--tasks", "2", "--report", page});
  const SessionArguments options = words.read();
  Graph g;
  const Value c = g.constant({1, 2}, on("/task:1")) + g.constant({3, 4}, on("/task:1"));
  Session session(g, Cluster::connect(options.cluster), options.session);
  session.run({c});
  session.close();
  CHECK(local_files().read(page).text().find("</html>") != std::string::npos);
}

}  // namespace
}  // namespace ferry
