// Compares the verifier's verdicts with simulations: plans that it accepts never stall on a machine that buffers no
// messages; for small plans, good and broken, every order of events is explored.
#include <doctest/doctest.h>

#include <cstdlib>

#include "ops/math/math.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/random_plan.hpp"
#include "tests/support/simulator.hpp"

namespace ferry {
namespace {

/// How many plans to simulate: a few hundred, or as many as the long suite asks for.
std::uint64_t plans_to_simulate() {
  const char* wanted = std::getenv("FERRY_TEST_PLANS");
  return wanted == nullptr ? 300 : std::strtoull(wanted, nullptr, 10);
}

/// The plan of a random graph. For half of the seeds it has tile regions wherever two elementwise ops can be joined.
Plan some_plan(std::uint64_t seed, int ops, int tasks) {
  PlanOptions options;
  if (seed / 2 % 2 == 0) options.fuse_from = 2;
  if (seed % 2 == 0)
    return test::random_plan(
        seed,
        {.ops = ops, .tasks = tasks, .hosts = 1 + static_cast<int>(seed / 4 % 4), .fuse_from = options.fuse_from});
  const test::RandomGraph made = test::random_graph(seed, ops * 2, tasks);
  return test::planned(*made.graph, made.fetches, tasks, made.targets, test::feeds_of(made), options);
}

/// Exchanges two instructions of a random region of a random class; false when the region has fewer than two.
bool swap_two(Plan& plan, test::Dice& dice) {
  PlanClass& c = plan.classes[dice.below(plan.classes.size())];
  const Range range = c.regions[dice.below(c.regions.size())].instructions;
  if (range.count < 2) return false;
  const std::size_t a = dice.below(range.count), b = (a + 1 + dice.below(range.count - 1)) % range.count;
  std::swap(c.instructions[range.first + a], c.instructions[range.first + b]);
  return true;
}

TEST_CASE("simulated: plans that the verifier accepts never stall with nothing buffered") {
  const std::uint64_t count = plans_to_simulate();
  std::uint64_t messages = 0, accepted_changes = 0;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    CAPTURE(seed);
    Plan plan = some_plan(seed, 4 + static_cast<int>(seed % 9), 2 + static_cast<int>(seed / 2 % 3));
    const Verdict verdict = verify(plan);
    REQUIRE_MESSAGE(verdict.pass, verdict.reason);
    const test::Script script = test::unroll(plan, 2, seed);
    messages += script.messages.size();
    const std::string stall = test::run(script);
    REQUIRE_MESSAGE(stall.empty(), stall);
    test::Dice dice(seed);
    if (!swap_two(plan, dice) || !verify(plan).pass) continue;
    ++accepted_changes;
    const std::string changed = test::run(test::unroll(plan, 2, seed));
    REQUIRE_MESSAGE(changed.empty(), changed);
  }
  CHECK(messages > 10 * count);
  CHECK(accepted_changes > count / 100);
}

TEST_CASE("explored: every order of events of small plans agrees with the verifier, good or broken") {
  constexpr std::size_t kMostStates = 1000;
  int explored = 0, stalls = 0, races = 0, larger = 0, stricter = 0;
  for (std::uint64_t seed = 0; seed < 240; ++seed) {
    CAPTURE(seed);
    const int tasks = 2 + static_cast<int>(seed % 4 == 1);
    Plan plan =
        seed % 2 == 0 ? test::random_plan(seed, {.ops = 1, .tasks = 2, .control = false}) : some_plan(seed, 5, tasks);
    for (std::uint64_t change = 0; change < 6; ++change) {
      CAPTURE(change);
      Plan changed = plan;
      test::Dice dice(seed * 100 + change);
      if (change > 0 && !swap_two(changed, dice)) continue;
      const Verdict verdict = verify(changed);
      const test::Script script = test::unroll(changed, 2, seed);
      const test::Exploration all = test::explore(script, kMostStates);
      if (!all.complete) {
        ++larger;
        continue;
      }
      ++explored;
      if (verdict.pass) REQUIRE(all.good());
      if (all.stalls || all.races) REQUIRE_FALSE(verdict.pass);
      stalls += all.stalls ? 1 : 0;
      races += all.races ? 1 : 0;
      const bool deadlock = verdict.reason.find("would deadlock") != std::string::npos ||
                            verdict.reason.find("wait for ever") != std::string::npos;
      if (deadlock) REQUIRE_MESSAGE(all.stalls, verdict.reason);
      stricter += !verdict.pass && all.good() ? 1 : 0;
    }
  }
  MESSAGE(explored << " explored, " << stalls << " stall, " << races << " race, " << stricter
                   << " refused though they would run, " << larger << " have more states");
  CHECK(explored > 700);
  CHECK(stalls > 5);
  CHECK(races > 50);
  CHECK(larger < explored / 2);
}

}  // namespace
}  // namespace ferry
