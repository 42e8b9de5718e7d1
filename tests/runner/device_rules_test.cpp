#include "runner/options/device_rules.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "ops/control/control.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry {
namespace {

struct Fixture {
  test::TempFolder folder;
  Graph g;
  Value x = g.input("layer/x", DType::float32, {4, 2}).named("layer/x");
  Value y = (x + x).named("layer/y");
  Value z = (y * y).named("z");

  void apply(const std::string& rules) {
    local_files().write(folder / "rules.txt", rules);
    apply_device_rules(g, folder / "rules.txt");
  }
  std::string refusal(const std::string& rules) {
    try {
      apply(rules);
    } catch (const Error& error) {
      CHECK(error.code() == Code::usage);
      return error.text().substr(error.text().find("rules.txt"));
    }
    return "accepted";
  }
  [[nodiscard]] const Annotation& of(const Value& value) const { return value.op().annotation(); }
};

/// Checks that the message's first line is `what`, and that a caret stands under this column of `line`.
void points_at(const std::string& text, const std::string& what, const std::string& line, std::size_t column) {
  CHECK_MESSAGE(text.starts_with(what + "\n  " + line + "\n  " + std::string(column, ' ') + "^\n"), text);
}

TEST_CASE("the first line that matches an op places it") {
  Fixture f;
  f.apply("# comments\n\n  layer/*   /task:1/cpu:0\r\n* /task:2\n");
  CHECK(f.of(f.x).device.str() == "/task:1/cpu:0");
  CHECK(f.of(f.y).device.str() == "/task:1/cpu:0");
  CHECK(f.of(f.z).device.str() == "/task:2");
}

TEST_CASE("layouts on meshes") {
  Fixture f;
  f.apply("layer/? split(0) on dp\nz  partial(sum),replicated on dp=*,tp=2 on /job:worker/task:*");
  REQUIRE(f.g.meshes().size() == 2);
  CHECK(f.of(f.x).mesh == f.of(f.y).mesh);
  CHECK(f.g.meshes()[f.of(f.y).mesh].str() == "dp=* on /task:*");
  CHECK(f.of(f.y).layouts == std::vector<Layout>{{split(0)}});
  CHECK(f.g.meshes()[f.of(f.z).mesh].str() == "dp=*,tp=2 on /job:worker/task:*");
  CHECK(f.of(f.z).layouts == std::vector<Layout>{{partial(Reduce::sum), replicated()}});
}

TEST_CASE("ops in bodies are placed too, and a rule wins over the graph") {
  Fixture f;
  const Value one = f.g.constant(1).named("one");
  const Values got = cond(
      less(one, 2), [&] { return Values{(one + 1).named("inside")}; }, [&] { return Values{one * 1}; });
  f.apply("*inside /task:1\none /task:2");
  CHECK(f.of(one).device.str() == "/task:2");
  const Graph& body = f.g.subgraph(SubgraphRef{0});
  bool met = false;
  for (OpId id = 0; id < body.size(); ++id) met = met || body.op(id).annotation().device.str() == "/task:1";
  CHECK(met);
}

TEST_CASE("a malformed line is named, with a caret under the place") {
  Fixture f;
  points_at(f.refusal("z"), "rules.txt:1: a device or a layout is missing after the pattern", "z", 1);
  points_at(f.refusal("\nz task:1"),
            "rules.txt:2: expected a device (/task:N), or replicated, split(DIM) or partial(sum|max|min)", "z task:1",
            2);
  points_at(f.refusal("z split(x) on dp"), "rules.txt:1: expected a number", "z split(x) on dp", 8);
  points_at(f.refusal("z split(0) dp"), "rules.txt:1: expected 'on' and a mesh", "z split(0) dp", 11);
  points_at(f.refusal("z split(0) on dp=*,tp=2"), "rules.txt:1: a layout of 1 on a mesh of 2 axes",
            "z split(0) on dp=*,tp=2", 2);
  points_at(f.refusal("z /task:1 twice"), "rules.txt:1: one word too many", "z /task:1 twice", 10);
  points_at(f.refusal("z /task:x"), "rules.txt:1: malformed device '/task:x': expected a number, 0 or more", "/task:x",
            6);
  CHECK(f.refusal("z split(0),split(1) on a,b").find("at most one may be open") != std::string::npos);
}

TEST_CASE("a pattern that matches nothing is an error, with the nearest name") {
  Fixture f;
  const std::string text = f.refusal("z /task:0\nlayer/w /task:0");
  CHECK(text.starts_with("rules.txt:2: no op has a name like 'layer/w'"));
  CHECK(text.find("layer/x?") != std::string::npos);
}

}  // namespace
}  // namespace ferry
