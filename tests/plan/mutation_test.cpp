// The verifier must refuse broken plans: plans of random graphs are mutated, each in one place and so that the result
// is not equivalent; each must be refused with a cause that says where.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "ops/array/array.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/mutations/mutations.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/random_plan.hpp"

namespace ferry {
namespace {

constexpr int kOfEach = 25;

/// A plan with a tile region that works on whole rows.
Plan plan_of_rows(std::uint64_t seed, const PlanOptions& options) {
  Graph g;
  const Value x = g.input("x", DType::float32, {16 + static_cast<std::int64_t>(seed % 5), 8});
  const Value centered = x - sum(x, {1}, true) * 0.125;
  return test::planned(g, {centered * 2.0}, 1, {}, {{x.id(), x.shape().sizes()}}, options);
}

/// A plan in which a product has an epilogue.
Plan plan_of_pieces(std::uint64_t seed) {
  Graph g;
  const Value x = g.input("x", DType::float32, {16 + static_cast<std::int64_t>(seed % 5), 8});
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {8, 8})));
  PlanOptions options;
  options.fuse_from = 2;
  return test::planned(g, {maximum(matmul(x, w) - x, 0)}, 1, {}, {{x.id(), x.shape().sizes()}}, options);
}

/// A mesh of two rows.
MeshId blocks(Graph& g) {
  return g.mesh({{"y", 2}, {"x", Mesh::kOpen}}, "/task:*");
}

/// A variable in blocks.
Value in_blocks(Graph& g, std::uint64_t seed) {
  const auto rows = 16 + static_cast<std::int64_t>(seed % 7);
  return g.variable("x", g.constant(Tensor(DType::float32, {rows, rows}))).laid({split(0), split(1)});
}

/// A plan with halos along one or two dims.
Plan plan_of_halos(std::uint64_t seed) {
  Graph g;
  auto here = g.on(blocks(g));
  const Value x = in_blocks(g, seed);
  const Value wide = pad(x, {1, 1}, {1, 1});
  const Value up = slice(wide, {0, 1}, {0, 1}, {-2, -1}), down = slice(wide, {0, 1}, {2, 1}, {kEnd, -1});
  const Value left = slice(wide, {0, 1}, {1, 0}, {-1, -2});
  return test::planned(g, {up + down + left}, 2 + 2 * static_cast<int>(seed / 20 % 2));
}

/// A plan with a stencil on a variable in rows or blocks, or on a value made of it.
Plan plan_of_stencils(std::uint64_t seed) {
  Graph g;
  auto here = g.on(blocks(g));
  const Value x = in_blocks(g, seed);
  const Value y = seed % 3 == 0 ? x : x * 2.0;
  const Value wide = pad(y, {1, 1}, {1, 1});
  const Value up = slice(wide, {0, 1}, {0, 1}, {-2, -1}), right = slice(wide, {0, 1}, {1, 2}, {-1, kEnd});
  PlanOptions options;
  options.fuse_from = 2;
  return test::planned(g, {(up + right) * 0.5 + y}, 2 + 2 * static_cast<int>(seed / 20 % 2), {}, {}, options);
}

/// A plan with a loop that swaps a value, which is split over the tasks.
Plan plan_of_swaps(std::uint64_t seed) {
  Graph g;
  auto here = g.on(g.mesh("x"));
  const auto rows = 2048 + static_cast<std::int64_t>(seed % 7);
  const Value x = g.variable("x", g.constant(Tensor(DType::float32, {rows}))).laid({split(0)});
  return test::planned(g,
                       while_loop(
                           {g.constant(0.0), x}, [](const std::vector<Value>& s) { return less(s[0], 3.0); },
                           [](const std::vector<Value>& s) -> std::vector<Value> {
                             return {s[0] + 1.0, exp(exp(s[1]) * 2.0)};
                           }),
                       2);
}

/// A plan with a convolution and a pooling over an image in rows or blocks, and their gradients.
Plan plan_of_sliding(std::uint64_t seed) {
  Graph g;
  const auto rows = 16 + static_cast<std::int64_t>(seed % 7);
  auto here = g.on(blocks(g));
  const Value x = g.variable("x", g.constant(Tensor(DType::float32, {2, 3, rows, rows}))).laid({split(2), split(3)});
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {8, 3, 3, 3})));
  const Value y = max_pool2d(conv2d(x, w, {.padding = {1, 1}}), {3, 3}, {.strides = {2, 2}});
  return test::planned(g, gradients(sum(y * y), {x, w}), 2 + 2 * static_cast<int>(seed / 20 % 2));
}

/// The plan of a random graph. For half of the seeds it has tile regions wherever two elementwise ops can be joined.
Plan some_plan(std::uint64_t seed) {
  const int tasks = 2 + static_cast<int>(seed / 2 % 3);
  PlanOptions options;
  if (seed / 2 % 2 == 0) options.fuse_from = 2;
  if (seed % 20 == 9) return plan_of_rows(seed, options);
  if (seed % 20 == 19) return plan_of_pieces(seed);
  if (seed % 20 == 13) return plan_of_halos(seed);
  if (seed % 20 == 17) return plan_of_stencils(seed);
  if (seed % 20 == 3) return plan_of_sliding(seed);
  if (seed % 20 == 7) return plan_of_swaps(seed);
  if (seed % 2 == 0)
    return test::random_plan(seed, {.ops = 12,
                                    .tasks = tasks,
                                    .hosts = 1 + static_cast<int>(seed / 4 % 4),
                                    .shares_memory = seed / 16 % 2 == 0,
                                    .fuse_from = options.fuse_from});
  const test::RandomGraph made = test::random_graph(seed, 30, tasks);
  return test::planned(*made.graph, made.fetches, tasks, made.targets, test::feeds_of(made), options);
}

/// True if the cause names the fault: a task, an op, a value, a channel or collective, or a table.
bool says_where(const std::string& reason) {
  for (const char* word : {"task ", "'", "channel ", "collective ", "buffer ", "malformed plan: "})
    if (reason.find(word) != std::string::npos) return true;
  return false;
}

TEST_CASE("mutated plans are refused with a cause") {
  std::vector<Plan> plans;
  int reaching = 0;  // plans in which members reach into each other's memory
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    plans.push_back(some_plan(seed));
    REQUIRE(verify(plans.back()).pass);
    reaching += std::ranges::any_of(plans.back().schedules, [](const Schedule& s) { return s.via != Via::messages; });
  }
  CHECK(reaching > 0);
  int refused = 0, with_a_line = 0;
  for (const test::Mutation& mutation : test::mutations()) {
    CAPTURE(mutation.name);
    int done = 0;
    for (std::uint64_t seed = 0; seed < 20 * plans.size() && done < kOfEach; ++seed) {
      CAPTURE(seed);
      Plan plan = plans[(seed * 7 + mutation.name.size()) % plans.size()];
      test::Dice dice(seed);
      if (!mutation.apply(plan, dice)) continue;
      ++done;
      const Verdict verdict = verify(plan);
      CHECK_FALSE(verdict.pass);
      CHECK_MESSAGE(says_where(verdict.reason), verdict.reason);
      refused += verdict.pass ? 0 : 1;
      with_a_line += verdict.reason.find(".cpp:") != std::string::npos ? 1 : 0;
    }
    CHECK(done == kOfEach);
  }
  MESSAGE(refused << " mutated plans refused, " << with_a_line << " with a user's line");
  CHECK(refused >= 1000);
  CHECK(with_a_line > refused / 3);
}

}  // namespace
}  // namespace ferry
