// A value that several tasks hold is printed once.
#include <doctest/doctest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include "executor/session.hpp"
#include "ops/control.hpp"
#include "ops/math.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry {
namespace {

/// What `run` writes to stderr.
template <class F>
std::string errors_of(const F& run) {
  const test::TempFolder folder;
  const std::string path = folder / "stderr";
  std::fflush(stderr);
  const int kept = ::dup(STDERR_FILENO);
  std::FILE* file = std::fopen(path.c_str(), "w");
  ::dup2(::fileno(file), STDERR_FILENO);
  run();
  std::fflush(stderr);
  ::dup2(kept, STDERR_FILENO);
  ::close(kept);
  std::fclose(file);
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("one of the tasks that hold a value prints it") {
  Graph g;
  Value shown;
  {
    const auto mesh = g.on(g.mesh("all"));
    shown = print(g.constant({1, 2}) + 1, "value");
  }
  const std::string text = errors_of([&] {
    Session session(g, Cluster::connect(ClusterOptions{.tasks = 3, .threads = 1, .jobs = ""}));
    CHECK(session.run({shown})[0].str() == "[2 3]");
  });
  CHECK(text == "value: [2 3]\n");
}

}  // namespace ferry
