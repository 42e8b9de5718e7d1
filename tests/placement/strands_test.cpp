// Strands on threads: the verifier must accept how the planner places them, and must notice when a wait is removed.
#include "placement/class/place_strands.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>

#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "placement/class/strand_clocks.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

Plan planned_on(const Graph& g, const std::vector<Value>& fetches, int threads, const std::vector<Value>& targets = {},
                const test::Feeds& feeds = {}) {
  Signature signature;
  for (const Value& fetch : fetches) signature.fetches.push_back(fetch.id());
  for (const Value& target : targets) signature.targets.push_back(target.op().id());
  for (const auto& [value, sizes] : feeds) signature.feeds.push_back({value, 0, sizes});
  Plan plan = make_plan(g, signature, Topology::local(1, threads), test::AllKernels()).plan;
  const Verdict verdict = verify(plan);
  CHECK_MESSAGE(verdict.pass, verdict.reason);
  return plan;
}

std::set<int> threads_of(const Plan& plan) {
  std::set<int> threads;
  for (const Instruction& i : plan.classes[0].instructions) threads.insert(i.strand);
  return threads;
}

/// A stencil over a row of `width` points: in each of `steps` steps a point is made from itself and its neighbours.
Values stencil(Graph& g, int width, int steps, std::int64_t elements = 64) {
  const Value x = g.input("x", DType::float32, {elements});
  Values row;
  for (int p = 0; p < width; ++p) row.push_back(tanh(x * static_cast<double>(p + 1)));
  for (int t = 0; t < steps; ++t) {
    Values next;
    for (int p = 0; p < width; ++p) {
      Value sum = row[p];
      if (p > 0) sum = sum + row[p - 1];
      if (p + 1 < width) sum = sum - row[p + 1];
      next.push_back(tanh(sum));
    }
    row = std::move(next);
  }
  return row;
}

Plan stencil_plan(int threads) {
  Graph g;
  const Values row = stencil(g, 8, 20);
  return planned_on(g, row, threads, {}, {{g.value_named("x"), {64}}});
}

TEST_CASE("points in a row are divided into blocks, and neighbours alone wait") {
  const Plan plan = stencil_plan(2);
  const PlanClass& c = plan.classes[0];
  CHECK(threads_of(plan) == std::set<int>{0, 1});
  CHECK(verify(plan).proved.size() == verify(stencil_plan(1)).proved.size() + 1);
  std::size_t on_one = 0;
  for (const Instruction& i : c.instructions) on_one += i.strand;
  CHECK(on_one > c.instructions.size() * 2 / 5);
  CHECK(on_one < c.instructions.size() * 3 / 5);
  CHECK(c.waits.size() >= 2 * 19);
  CHECK(c.waits.size() <= 2 * 24 + 8);  // the fetches at the end wait as well
}

TEST_CASE("plans for any number of threads are verified, and made the same twice") {
  for (int threads : {1, 2, 3, 4, 7}) {
    const Plan plan = stencil_plan(threads);
    CHECK(threads_of(plan).size() == static_cast<std::size_t>(threads));
    CHECK(fingerprint(plan) == fingerprint(stencil_plan(threads)));
  }
}

TEST_CASE("a wait less is a race, which the verifier names with both ops") {
  const Plan good = stencil_plan(3);
  std::size_t tried = 0;
  for (std::size_t k = 0; k < good.classes[0].instructions.size(); ++k) {
    for (std::uint32_t w = 0; w < good.classes[0].instructions[k].waits.count; ++w) {
      Plan plan = good;
      PlanClass& c = plan.classes[0];
      Range& waits = c.instructions[k].waits;
      std::swap(c.waits[waits[w]], c.waits[waits.first + waits.count - 1]);
      --waits.count;
      const Verdict verdict = verify(plan);
      CHECK_FALSE(verdict.pass);
      CHECK_MESSAGE(verdict.reason.find("no wait orders them") != std::string::npos, verdict.reason);
      CHECK(verdict.reason.find("strands_test.cpp:") != verdict.reason.rfind("strands_test.cpp:"));
      ++tried;
    }
  }
  CHECK(tried > 40);
}

TEST_CASE("a wait for one instruction less is a race, or another wait implies it") {
  const Plan good = stencil_plan(2);
  for (std::size_t w = 0; w < good.classes[0].waits.size(); ++w) {
    Plan plan = good;
    --plan.classes[0].waits[w].count;
    CHECK_FALSE(verify(plan).pass);
  }
}

TEST_CASE("a wait for what comes later would last for ever") {
  Plan plan = stencil_plan(2);
  PlanClass& c = plan.classes[0];
  c.waits[0].count += 40;
  CHECK(verify(plan).reason.find("they would wait for ever") != std::string::npos);
}

TEST_CASE("messages and regions belong to thread 0") {
  Plan plan = stencil_plan(2);
  for (Instruction& i : plan.classes[0].instructions)
    if (i.what == Opcode::fetch) i.strand = 1;
  CHECK(verify(plan).reason.find("where only thread 0 may run it") != std::string::npos);
}

TEST_CASE("a small product and what follows it on its pieces go to any thread, with the waits that they need") {
  Graph g;
  const Value x = g.input("x", DType::float32, {32, 32});
  Values ends;
  for (int chain = 0; chain < 6; ++chain) {
    Value y = matmul(x, x * static_cast<double>(chain + 1));
    y = (y + x) * 0.5;
    ends.push_back(tanh(matmul(y, x) - x));
  }
  ends.push_back(matmul(ends[0], ends[5]) + ends[3]);
  const Plan good = planned_on(g, ends, 2, {}, {{x.id(), {32, 32}}});
  std::set<int> threads;
  for (const Instruction& i : good.classes[0].instructions)
    if (i.what == Opcode::tiles) threads.insert(i.strand);
  CHECK(threads == std::set<int>{0, 1});
  std::size_t tried = 0;
  for (std::size_t k = 0; k < good.classes[0].instructions.size(); ++k) {
    if (good.classes[0].instructions[k].what != Opcode::tiles) continue;
    for (std::uint32_t w = 0; w < good.classes[0].instructions[k].waits.count; ++w, ++tried) {
      Plan plan = good;
      PlanClass& c = plan.classes[0];
      Range& waits = c.instructions[k].waits;
      std::swap(c.waits[waits[w]], c.waits[waits.first + waits.count - 1]);
      --waits.count;
      CHECK(verify(plan).reason.find("no wait orders them") != std::string::npos);
    }
  }
  CHECK(tried > 0);
}

TEST_CASE("a chain stays on one thread") {
  Graph g;
  Value x = g.input("x", DType::float32, {64});
  const ValueId fed = x.id();
  for (int i = 0; i < 50; ++i) x = tanh(x);
  CHECK(threads_of(planned_on(g, {x}, 4, {}, {{fed, {64}}})) == std::set<int>{0});
}

/// Chains of small kernels that each end in a sum over the tasks; these sums share one message.
std::vector<Value> chains_into_a_bucket(Graph& g, int chains) {
  std::vector<Value> fetches;
  auto all = g.on(g.mesh("dp"));
  for (int c = 0; c < chains; ++c) {
    Value x = g.variable("x" + std::to_string(c), g.constant(Tensor(DType::float32, {8, 64}))).laid({split(0)});
    for (int k = 0; k < 10; ++k) x = tanh(x);
    fetches.push_back(identity(sum(x, {0})).laid({replicated()}));
  }
  return fetches;
}

TEST_CASE("kernels that write parts of one bucket need each other's results no more than the first one's place") {
  Graph g;
  Signature signature;
  for (const Value& fetch : chains_into_a_bucket(g, 8)) signature.fetches.push_back(fetch.id());
  const Plan plan = make_plan(g, signature, Topology::local(2, 2), test::AllKernels()).plan;
  const Verdict verdict = verify(plan);
  CHECK_MESSAGE(verdict.pass, verdict.reason);
  const PlanClass& c = plan.class_for(0);
  std::vector<std::uint32_t> ran(2, 0), sums(2, 0), waits;
  std::uint32_t first = 0;
  for (std::uint32_t k = 0; k < c.regions[1].instructions.count; ++k) {
    const Instruction& i = c.instructions[c.regions[1].instructions[k]];
    ++ran[i.strand];
    if (i.what != Opcode::kernel || plan.string(i.op) != "Sum") continue;
    if (++sums[i.strand] == 1 && i.strand == 0) first = ran[0];
    for (std::uint32_t w = 0; w < i.waits.count; ++w) waits.push_back(c.waits_of(i)[w].count);
  }
  CHECK(sums == std::vector<std::uint32_t>{4, 4});
  CHECK(waits == std::vector<std::uint32_t>{first});
}

TEST_CASE("large kernels, which split by themselves, stay on thread 0") {
  Graph g;
  const Values row = stencil(g, 8, 5, 100000);
  CHECK(threads_of(planned_on(g, row, 2, {}, {{g.value_named("x"), {100000}}})) == std::set<int>{0});
}

TEST_CASE("random layers on threads, variables and ordered ops among them, are verified") {
  std::mt19937 random(7);
  int placed = 0;
  for (int round = 0; round < 40; ++round) {
    Graph g;
    const Value x = g.input("x", DType::float32, {32});
    const Value v = g.variable("v", g.constant(Tensor(DType::float32, {32})));
    const std::size_t width = 24 + random() % 40;
    Values layer;
    for (std::size_t i = 0; i < width; ++i) layer.push_back((i % 5 == 0 ? v : x) * static_cast<double>(i));
    for (int depth = 0; depth < 6; ++depth) {
      Values next;
      for (std::size_t i = 0; i < width; ++i) {
        const Value a = layer[i], b = layer[random() % (random() % 3 == 0 ? width : i + 1)];
        const Value after[] = {layer[random() % width]};
        if (random() % 16 == 0) {
          auto ordered = g.after(after);
          next.push_back(exp(a));
        } else {
          next.push_back(random() % 2 == 0 ? tanh(a + b) : tanh(a * b) - a);
        }
      }
      layer = std::move(next);
    }
    const Value assigned = assign(v, layer[3] + v);
    const Plan plan =
        planned_on(g, layer, 2 + static_cast<int>(random() % 4), {assigned}, {{g.value_named("x"), {32}}});
    placed += threads_of(plan).size() > 1 ? 1 : 0;
  }
  CHECK(placed > 30);
}

TEST_CASE("clocks: what a wait implies is not waited for again") {
  StrandClocks clocks(3, 3);
  const Wait first[] = {{0, 1}};
  clocks.add(0, {});
  clocks.add(1, first);
  CHECK(clocks.needed(2, {{0, 1}, {1, 1}}) == std::vector<Wait>{{1, 1}});
  CHECK(clocks.needed(2, {{0, 1}}) == std::vector<Wait>{{0, 1}});
  CHECK(clocks.needed(1, {{0, 1}}).empty());
  const Wait second[] = {{1, 1}};
  clocks.add(2, second);
  CHECK(clocks.known(2, 1, 0) == 1);
  CHECK(clocks.known(1, 1, 2) == 0);
  CHECK(clocks.needed(0, {{2, 1}, {1, 1}}) == std::vector<Wait>{{2, 1}});
}

}  // namespace
}  // namespace ferry
