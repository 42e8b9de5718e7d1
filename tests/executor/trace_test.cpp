#include "executor/observe/trace.hpp"

#include <doctest/doctest.h>

namespace ferry {
namespace {

TEST_CASE("the trace of a long run has the first events of each thread, and tells how many are left out") {
  const Plan plan;
  const Instruction instruction;
  Trace trace(0, 2);
  for (std::size_t i = 0; i < Trace::kMostEvents; ++i) trace.add(0, plan, 1, instruction, {}, {});
  CHECK(trace.left_out() == 0);
  for (int i = 0; i < 3; ++i) trace.add(0, plan, 1, instruction, {}, {});
  CHECK(trace.left_out() == 3);
  trace.add(1, plan, 1, instruction, {}, {});
  CHECK(trace.left_out() == 3);
}

}  // namespace
}  // namespace ferry
