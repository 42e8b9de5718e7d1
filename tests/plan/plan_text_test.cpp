#include "plan/text/plan_text.hpp"

#include <doctest/doctest.h>

#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "placement/explain/explain.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

PlanResult three_machines() {
  Graph g;
  const auto here = g.line({"add.cpp", 7});
  const Value a = g.constant({1, 2, 3}, on("/task:0")).named("a");
  const Value b = g.constant({10, 20, 30}, on("/task:1")).named("b");
  Value c;
  {
    const auto there = g.device("/task:2");
    c = (a + b).named("c");
  }
  Signature signature;
  signature.fetches = {c.id()};
  PlanOptions options;
  options.reasons = true;
  return make_plan(g, signature, Topology::local(3), test::AllKernels(), options);
}

/// The line of `text` that has `part`; "" when none has.
std::string line_with(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  if (at == std::string::npos) return "";
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

TEST_CASE("a plan's text has its channels, classes and instructions") {
  const std::string text = text_of(three_machines().plan);
  CHECK(text.starts_with("plan of 3 tasks in 3 classes; a step sends 3 messages of 36 bytes, copies 0 values\n"));
  CHECK(line_with(text, "a task 0 -> task 2") == "  0 a task 0 -> task 2 int32 12 bytes 1 slot  at add.cpp:7");
  CHECK(line_with(text, "b task 1 -> task 2") == "  1 b task 1 -> task 2 int32 12 bytes 1 slot  at add.cpp:7");
  CHECK(line_with(text, "  c int32") == "  c int32[3] to task 0");
  CHECK(line_with(text, "class 2: task 2, 1 thread, cpu:0 ") != "");
  CHECK(line_with(text, " Add c (") != "");
  CHECK(text == text_of(three_machines().plan));
}

TEST_CASE("of many groups and members the text names the first and the last") {
  Graph g;
  const auto all = g.on(g.mesh({{"rows", Mesh::kOpen}, {"columns", 2}}));
  const Value x = identity(g.constant(Tensor(DType::float32, {64, 64}))).laid({split(0), split(1)});
  const std::string text = text_of(test::planned(g, {sum(x)}, 64));
  INFO(text);
  CHECK(text.find("over {0-1} {2-3} {4-5} {6-7} .. {62-63}, 32 groups") != std::string::npos);
  CHECK(text.find("over {0,2,4,6,..62} {1,3,5,7,..63}") != std::string::npos);
  INFO(text);
  CHECK(text_of(test::planned(g, {sum(x)}, 8)).find("over {0-1} {2-3} {4-5} {6-7}") != std::string::npos);
}

TEST_CASE("a plan's text has what each turn of a loop sends beside what a step does") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  const Value x = identity(g.constant(Tensor(DType::float32, {1000}))).laid({split(0)});
  const Values ends = while_loop(
      {g.constant(0.0), x}, [](const Values& c) { return less(c[0], 200.0); },
      [](const Values& c) -> Values {
        return {c[0] + 1.0, c[1] * sum(c[1])};
      });
  const Plan plan = test::planned(g, {sum(ends[1])}, 2);
  Traffic turn;
  for (int task = 0; task < 2; ++task)
    for (std::uint32_t region = 2; region < plan.class_for(task).regions.size(); ++region)
      turn += traffic_of(plan, task, region);
  REQUIRE(turn.sent_messages > 0);
  const std::string line = line_with(text_of(plan), "each turn of ");
  CHECK(line.find(" sends " + std::to_string(turn.sent_messages) + " messages of " + std::to_string(turn.sent_bytes) +
                  " bytes, copies " + std::to_string(turn.copies) + " values") != std::string::npos);
  CHECK(line.find(ends[1].op().name()) != std::string::npos);
}

TEST_CASE("a plan's text has the size of its buckets, if one was chosen") {
  Plan plan = three_machines().plan;
  CHECK(line_with(text_of(plan), "buckets") == "");
  plan.bucket_bytes = 4096;
  CHECK(line_with(text_of(plan), "buckets") == "sums in buckets of 4096 bytes");
}

TEST_CASE("explain has a reason for each op and transfer") {
  const PlanResult result = three_machines();
  const std::string all = explain(result);
  for (const char* name : {"a  ", "b  ", "c  "}) CHECK(all.find(name) != std::string::npos);
  CHECK(all.find("12 bytes") != std::string::npos);
  CHECK(all.find("at add.cpp:7") != std::string::npos);
}

TEST_CASE("explain of one op leaves out the others, and names the nearest to one that is not there") {
  PlanResult result;
  result.reasons = {{"dense", "task 0: because", {"m.cpp", 3}}, {"dense:1", "sent", {}}, {"dense2", "task 1: too", {}}};
  CHECK(explain(result, "dense") == "dense    task 0: because  at m.cpp:3\ndense:1  sent\n");
  try {
    static_cast<void>(explain(result, "dens"));
    FAIL("nothing thrown");
  } catch (const Error& error) {
    CHECK(error.code() == Code::usage);
    CHECK(error.text() == "explain: the plan has no op named \"dens\"\n  try: dense?");
  }
}

TEST_CASE("explain ends with the warnings") {
  PlanResult result;
  result.warnings = {"x moved to cpu:0"};
  CHECK(explain(result) == "warning: x moved to cpu:0\n");
}

}  // namespace
}  // namespace ferry
