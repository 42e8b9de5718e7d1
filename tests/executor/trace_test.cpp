#include "executor/observe/trace.hpp"

#include <doctest/doctest.h>

#include "ops/array/reshape.hpp"
#include "ops/math/math.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

TEST_CASE("the trace of a long run has the first events of each thread, and tells how many are left out") {
  const Plan plan;
  const Instruction instruction;
  Trace trace(0, 2);
  for (std::size_t i = 0; i < Trace::kMostEvents; ++i) trace.add(0, plan, 1, instruction, {}, {}, {});
  CHECK(trace.left_out() == 0);
  for (int i = 0; i < 3; ++i) trace.add(0, plan, 1, instruction, {}, {}, {});
  CHECK(trace.left_out() == 3);
  trace.add(1, plan, 1, instruction, {}, {}, {});
  CHECK(trace.left_out() == 3);
}

TEST_CASE("a trace has the steps, with what the plan lets the task send in each, and the waits for other threads") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  const Value x = identity(g.constant(Tensor(DType::float32, {100}))).laid({split(0)});
  const Plan plan = test::planned(g, {x}, 2);
  const Instruction& send = plan.class_for(1).instructions[plan.class_for(1).regions[1].instructions.first];
  const auto at = [](int microseconds) { return TimePoint() + std::chrono::microseconds(microseconds); };
  Trace trace(1, 1);
  trace.add(0, plan, 1, send, at(10), at(13), at(15));
  const std::int64_t runs[] = {0, 2};
  trace.add_step(plan, 3, at(10), at(20), runs);
  const std::string text = trace.str(Duration());
  CAPTURE(text);
  CHECK(text.find(R"("name":"step 3","cat":"step","ph":"X","ts":10.0,"dur":10.0)") != std::string::npos);
  CHECK(text.find(R"("sends":[[0,2,400]])") != std::string::npos);
  CHECK(text.find(R"("cat":"thread_wait","ph":"X","ts":10.0,"dur":3.0)") != std::string::npos);
}

TEST_CASE("a trace has what walker 0 gives a queue, and in a row of the queue what the device did") {
  const Plan plan;
  Instruction copy;
  copy.what = Opcode::copy;
  const auto at = [](int microseconds) { return TimePoint() + std::chrono::microseconds(microseconds); };
  Trace trace(0, 2);
  trace.add_launch(plan, 1, copy, at(10), at(11));
  trace.add_queued({1, PlanQueue::Role::out}, plan, 1, copy, at(20), at(25));
  const std::string text = trace.str(Duration());
  CAPTURE(text);
  CHECK(text.find(R"("name":"launch copy ")") != std::string::npos);
  CHECK(text.find(R"("cat":"launch","ph":"X","ts":10.0,"dur":1.0,"pid":0,"tid":0)") != std::string::npos);
  CHECK(text.find(R"("tid":2,"args":{"name":"gpu:1.out"})") != std::string::npos);
  CHECK(text.find(R"("cat":"copy","ph":"X","ts":20.0,"dur":5.0,"pid":0,"tid":2)") != std::string::npos);
  for (std::size_t i = 0; i < Trace::kMostEvents; ++i)
    trace.add_queued({1, PlanQueue::Role::out}, plan, 1, copy, {}, {});
  CHECK(trace.left_out() == 1);
}

TEST_CASE("a step of which events are left out is none") {
  const Plan plan;
  const Instruction instruction;
  Trace trace(0, 1);
  for (std::size_t i = 0; i <= Trace::kMostEvents; ++i) trace.add(0, plan, 1, instruction, {}, {}, {});
  trace.add_step(plan, 0, {}, {}, {});
  CHECK(trace.str(Duration()).find("\"step\"") == std::string::npos);
}

}  // namespace
}  // namespace ferry
