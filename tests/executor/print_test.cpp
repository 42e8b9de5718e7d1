// A value that several tasks hold is printed once.
#include <doctest/doctest.h>

#include "executor/session/session.hpp"
#include "ops/control/control.hpp"
#include "ops/math/math.hpp"
#include "tests/support/errors_of.hpp"

namespace ferry {

TEST_CASE("one of the tasks that hold a value prints it") {
  Graph g;
  Value shown;
  {
    const auto mesh = g.on(g.mesh("all"));
    shown = print(g.constant({1, 2}) + 1, "value");
  }
  const std::string text = test::errors_of([&] {
    Session session(g, Cluster::connect(ClusterOptions{.tasks = 3, .threads = 1, .jobs = ""}));
    CHECK(session.run({shown})[0].str() == "[2 3]");
  });
  CHECK(text == "value: [2 3]\n");
}

}  // namespace ferry
