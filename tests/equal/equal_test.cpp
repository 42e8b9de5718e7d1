// What the proof says of plans that mean something else, in words.
#include <doctest/doctest.h>

#include <algorithm>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/data/host.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/asynchronous.hpp"
#include "ops/train/optim.hpp"
#include "tests/equal/changes.hpp"
#include "tests/equal/planned_graph.hpp"
#include "tests/support/has.hpp"

namespace ferry::test {
namespace {

/// The first instruction of the plan with that op.
Instruction& kernel(Plan& plan, std::string_view op) {
  for (PlanClass& c : plan.classes)
    for (Instruction& i : c.instructions)
      if (i.what == Opcode::kernel && plan.string(i.op) == op) return i;
  throw Error(Code::bug, "no such op");
}

void swap_inputs(Plan& plan, std::string_view op) {
  for (PlanClass& c : plan.classes)
    for (Instruction& i : c.instructions)
      if (i.what == Opcode::kernel && plan.string(i.op) == op)
        std::swap(c.operands[i.inputs[0]], c.operands[i.inputs[1]]);
}

struct Sample {
  Graph g;
  Value a = g.input("a", {4, 4}), b = g.input("b", {4, 4});
};

TEST_CASE("operands exchanged are found, with the op, the user's line and the difference") {
  Sample s;
  const Value y = matmul(s.a, s.b), z = y - s.a;
  const Signature signature = signature_of(s.g, {z});
  Plan plan = plan_for(s.g, signature, Topology::local(1));
  CHECK(compared(s.g, signature, plan).verdict == Equality::Verdict::equal);
  swap_inputs(plan, "MatMul");
  REQUIRE(verify(plan).pass);
  const Equality result = compared(s.g, signature, plan);
  CHECK(result.verdict == Equality::Verdict::differs);
  CHECK(has(result.reason, "fetch 'sub' on task 0 is another value than in the graph"));
  CHECK(has(result.reason, "first difference: MatMul 'matmul' at "));
  CHECK(has(result.reason, "equal_test.cpp:"));
  CHECK(has(result.reason, "the plan has MatMul(b, a), not MatMul(a, b)"));
}

TEST_CASE("a sum over tasks of what all have whole counts it several times") {
  Graph g;
  const MeshId mesh = g.mesh("x");
  Value y;
  {
    auto on = g.on(mesh);
    const Value a = g.input("a", {4, 4});
    y = exp(sum(identity(a).laid({split(0)}), {0}));
  }
  const Signature signature = signature_of(g, {y});
  Plan plan = plan_for(g, signature, Topology::local(2));
  CHECK(compared(g, signature, plan).verdict == Equality::Verdict::equal);
  const std::vector<MeaningChange> changes = meaning_changes();
  const auto twice = std::ranges::find(changes, "a sum over tasks made twice", &MeaningChange::name);
  Dice dice(0);
  REQUIRE(twice->apply(plan, dice));
  const Verdict verdict = verify(plan);
  REQUIRE_MESSAGE(verdict.pass, verdict.reason);
  const Equality result = compared(g, signature, plan);
  CHECK(result.verdict == Equality::Verdict::differs);
  CHECK(has(result.reason, "combines by sum over tasks that do not each have a part to combine: Sum(a)"));
}

TEST_CASE("random numbers of another op, and of the setup, are not the graph's") {
  Graph g;
  const Value a = uniform(g, {4}), b = uniform(g, {4});
  const Value y = a + b;
  const Signature signature = signature_of(g, {y});
  Plan plan = plan_for(g, signature, Topology::local(1));
  CHECK(compared(g, signature, plan).verdict == Equality::Verdict::equal);
  SUBCASE("another op") {
    Instruction& first = kernel(plan, "RandomUniform");
    for (Instruction& i : plan.classes[0].instructions) i.name = i.op == first.op ? first.name : i.name;
    CHECK(has(compared(g, signature, plan).reason, "is another value than in the graph"));
  }
  SUBCASE("the setup") {
    PlanClass& c = plan.classes[0];
    REQUIRE(c.regions[0].instructions.count == 0);
    c.regions[0].instructions = {c.regions[1].instructions.first, 1};
    c.regions[1].instructions = {c.regions[1].instructions.first + 1, c.regions[1].instructions.count - 1};
    CHECK(has(compared(g, signature, plan).reason,
              "it runs once, in the setup, and its value changes from step to step"));
  }
}

TEST_CASE("the host's name of another task is another value") {
  const auto name_on = [](Graph& g, const char* task) {
    const auto there = g.device(task);
    return host_name(g);
  };
  Graph first, second;
  const Values names{name_on(first, "/task:0"), name_on(second, "/task:1")};
  const Topology topology = Topology::local(2);
  const Signature signature = signature_of(first, {names[0]});
  const Plan plan = plan_for(first, signature, topology);
  CHECK(compared(first, signature, plan).verdict == Equality::Verdict::equal);
  const Equality other = compared(second, signature_of(second, {names[1]}), plan);
  CHECK(other.verdict == Equality::Verdict::differs);
  CHECK_MESSAGE(has(other.reason, "on task 1"), other.reason);
}

TEST_CASE("a variable that is not set, and one that is set to something else") {
  Graph g;
  const Value v = g.variable("v", g.constant({1.0, 2.0}));
  const Value set = assign(v, v * 2.0);
  const Signature signature = signature_of(g, {}, {set});
  Plan plan = plan_for(g, signature, Topology::local(1));
  CHECK(compared(g, signature, plan).verdict == Equality::Verdict::equal);
  SUBCASE("not set") {
    plan.classes[0].regions[1].instructions.count = 0;
  }
  SUBCASE("set to something else") {
    Instruction& mul = kernel(plan, "Mul");
    plan.classes[0].operands[mul.inputs[1]] = plan.classes[0].operands[mul.inputs[0]];
  }
  const Equality result = compared(g, signature, plan);
  CHECK(result.verdict == Equality::Verdict::differs);
  CHECK(has(result.reason, "variable 'v' on task 0 after the step is another value than in the graph"));
}

TEST_CASE("loops are equal for any number of turns") {
  Graph g;
  const Value n = g.input("n", DType::float32, {});
  const Values end = while_loop(
      {n, n * 2.0}, [](const Values& c) { return less(c[0], 10.0); },
      [](const Values& c) {
        return Values{c[0] + 1.0, c[1] - c[0]};
      });
  const Signature signature = signature_of(g, {end[0], end[1]});
  Plan plan = plan_for(g, signature, Topology::local(1));
  CHECK(compared(g, signature, plan).verdict == Equality::Verdict::equal);
  swap_inputs(plan, "Sub");
  CHECK(has(compared(g, signature, plan).reason, "after a turn of loop 'while"));
}

TEST_CASE("3,000 doublings and 3,000 Fibonacci steps") {
  Graph g;
  Value x, z;
  {
    const auto here = g.device("/task:0");
    x = g.input("x", {2});
  }
  {
    const auto there = g.device("/task:1");
    z = g.input("z", {2});
    for (int k = 0; k < 3000; ++k) z = z + z;
    for (int k = 0; k < 3000; ++k) x = std::exchange(z, z + x);
  }
  const Signature signature = signature_of(g, {z});
  Plan plan = plan_for(g, signature, Topology::local(2));
  const Equality result = compared(g, signature, plan);
  CHECK_MESSAGE(result.verdict == Equality::Verdict::equal, result.reason);
  Instruction& first = kernel(plan, "Add");
  first.what = Opcode::copy;
  first.op = kNone;
  first.inputs.count = 1;
  CHECK(has(compared(g, signature, plan).reason, "fetch 'add_5999' on task 0 is another value than in the graph"));
}

TEST_CASE("windows of windows that fill with different numbers, cut along one dim after another") {
  Graph g;
  const MeshId mesh = g.mesh({{"down", 2}, {"across", 2}});
  const Value x = g.input("x", {6, 6});
  Value y;
  {
    auto on = g.on(mesh);
    const Value once = pad(identity(x).laid({split(0), split(1)}), {1, 0}, {1, 0}, 1.0);
    y = pad(once, {2, 2}, {0, 2}, 2.0) * 2.0;
  }
  const Signature signature = signature_of(g, {y});
  const Equality result = compared(g, signature, plan_for(g, signature, Topology::local(4)));
  CHECK_MESSAGE(result.verdict == Equality::Verdict::equal, result.reason);
}

TEST_CASE("the bits of a value as another dtype are summed as that, and not as the value") {
  Graph g;
  const MeshId mesh = g.mesh("x");
  const Value x = g.input("x", {4, 4});
  Value y;
  {
    auto on = g.on(mesh);
    const Value bits = bit_cast(identity(x).laid({split(0)}), DType::int32);
    y = exp(cast(sum(bits, {0}), DType::float32));
  }
  const Signature signature = signature_of(g, {y});
  Plan plan = plan_for(g, signature, Topology::local(2));
  const Equality result = compared(g, signature, plan);
  CHECK_MESSAGE(result.verdict == Equality::Verdict::equal, result.reason);
  for (Collective& collective : plan.collectives)
    if (collective.reduce == Reduce::sum) collective.dtype = DType::float32;
  CHECK(has(compared(g, signature, plan).reason, "adds up int32 as float32"));
}

TEST_CASE("a concatenation whose parts are made in their places, in another shape") {
  Graph g;
  const Value a = g.input("a", {4}), b = g.input("b", {4});
  const Value row = expand_dims(concat({a + 1.0, b + 2.0}, 0), {0});
  const Value y = concat({row, row * 2.0}, 0);
  const Signature signature = signature_of(g, {y});
  Plan plan = plan_for(g, signature, Topology::local(1));
  const Equality result = compared(g, signature, plan);
  CHECK_MESSAGE(result.verdict == Equality::Verdict::equal, result.reason);
  PlanClass& c = plan.classes[0];
  std::vector<Buffer*> parts;
  for (Buffer& buffer : c.buffers)
    if (buffer.view_of != kNone && buffer.bytes == 16) parts.push_back(&buffer);
  REQUIRE(parts.size() >= 2);
  std::swap(parts[0]->offset, parts[1]->offset);
  CHECK(compared(g, signature, plan).verdict == Equality::Verdict::differs);
}

TEST_CASE("operands exchanged of an op that commutes, and the largest of equal values over tasks, are the same") {
  Graph g;
  const MeshId mesh = g.mesh("x");
  Value y;
  {
    const auto on = g.on(mesh);
    const Value a = identity(g.input("a", {4, 4})).laid({split(0)}),
                b = identity(g.input("b", {4, 4})).laid({split(0)});
    y = exp(max(maximum(a * b, b), {0}));
  }
  const Signature signature = signature_of(g, {y});
  Plan plan = plan_for(g, signature, Topology::local(2));
  const std::vector<MeaningChange> changes = meaning_changes();
  const auto twice = std::ranges::find(changes, "a sum over tasks made twice", &MeaningChange::name);
  Dice dice(0);
  REQUIRE(twice->apply(plan, dice));
  swap_inputs(plan, "Mul");
  swap_inputs(plan, "Maximum");
  const Equality result = compared(g, signature, plan);
  CHECK_MESSAGE(result.verdict == Equality::Verdict::equal, result.reason);
}

TEST_CASE("a packed filter is a known op if a kernel takes it") {
  Graph g;
  const Value x = g.input("x", {2, 16, 19, 23});
  const Value y = conv2d(x, g.constant(Tensor(DType::float32, {40, 8, 3, 3})), {}, 2);
  const Signature signature = signature_of(g, {y});
  Plan plan = plan_for(g, signature, Topology::local(1));
  Instruction& packing = kernel(plan, "PackedFilter");
  CHECK(verify(plan, {nullptr, &all_kernels()}).unproved.empty());
  CHECK(has(verify(plan).unproved.at(0), "PackedFilter"));
  CHECK(compared(g, signature, plan).verdict == Equality::Verdict::equal);
  packing.attrs = static_cast<std::uint32_t>(plan.attrs.size());
  plan.attrs.emplace_back().set("groups", std::int64_t{4});
  CHECK(has(verify(plan, {nullptr, &all_kernels()}).reason,
            "it packs float32[40,8,3,3] into float32[4608], which no kernel takes"));
  CHECK(has(compared(g, signature, plan).reason, "its last input is not the packed form of its input 1"));
}

TEST_CASE("a server's turns are followed one by one, and what all workers gave is added up once") {
  Graph g;
  Value w, loss;
  {
    auto server = g.device("/job:ps/task:0/cpu:0");
    w = g.variable("w", g.constant({{0.0}, {0.0}}));
  }
  {
    auto here = g.on(g.mesh("workers", "/job:worker/task:*"));
    const Value x = uniform(g, {4, 2}).laid({split(0)});
    loss = mean(square(matmul(x, w) - 1.0));
  }
  const Values updates = asynchronous(sgd(loss, {w}, 0.5), {.staleness = 4});
  Topology topology = Topology::local(3);
  for (std::size_t t = 0; t < 3; ++t) {
    topology.tasks[t].job = t == 0 ? "ps" : "worker";
    topology.tasks[t].index_in_job = t == 0 ? 0 : static_cast<std::int32_t>(t) - 1;
  }
  const Signature signature = signature_of(g, {loss}, updates);
  Plan plan = plan_for(g, signature, topology);
  const Equality result = compared(g, signature, plan);
  CHECK_MESSAGE(result.verdict == Equality::Verdict::equal, result.reason);
  CHECK(std::ranges::any_of(result.rests_on, [](const std::string& line) { return line.find("servers make") == 0; }));
  PlanClass& c = plan.classes[plan.class_of[0]];
  SUBCASE("of one worker only") {
    kernel(plan, "AddUp").inputs.count = 1;
    CHECK(has(compared(g, signature, plan).reason, "it does not add up what each worker gave, each once"));
  }
  SUBCASE("of one worker twice") {
    const Range inputs = kernel(plan, "AddUp").inputs;
    c.operands[inputs[0]] = c.operands[inputs[1]];
    CHECK(has(compared(g, signature, plan).reason, "it does not add up what each worker gave, each once"));
  }
  SUBCASE("the update of the other way round") {
    swap_inputs(plan, "Sub");
    CHECK(compared(g, signature, plan).verdict == Equality::Verdict::differs);
  }
}

/// On the first of three tasks, what make(g) gives. On a mesh of one task, what use() makes of it.
void check_moved(const std::string& which, Value (*make)(Graph&), Value (*use)(const Value&)) {
  Graph g;
  Value r, y;
  {
    auto here = g.device("/task:0");
    r = make(g);
  }
  {
    auto on = g.on(g.mesh("x", "/task:1"));
    y = use(r);
  }
  const Signature signature = signature_of(g, {y});
  const Equality result = compared(g, signature, plan_for(g, signature, Topology::local(3)));
  CHECK_MESSAGE(result.verdict == Equality::Verdict::equal, which << ": " << result.reason);
}

TEST_CASE("random values without elements are equal to all values without elements") {
  constexpr std::int64_t kNoElements = 0;
  const auto row = [](Graph& g) { return uniform(g, {kNoElements}); };
  const auto rows = [](Graph& g) { return uniform(g, {3, kNoElements}); };
  check_moved("Pad", row, [](const Value& r) { return pad(r, {0}, {2}, 1.0); });
  check_moved("Sum", row, [](const Value& r) { return sum(r); });
  check_moved("Prod", row, [](const Value& r) { return prod(r); });
  check_moved("MatMul", rows, [](const Value& r) { return matmul(r, r, false, true); });
  check_moved("Reshape", rows, [](const Value& r) { return pad(reshape(r, {0}), {1}, {1}, 2.0); });
  check_moved("Add", row, [](const Value& r) { return concat({r + r + r, pad(r, {0}, {1}, 1.0)}, 0); });
}

TEST_CASE("effects of values without elements are told apart") {
  Graph g;
  const Value none = g.input("none", {std::int64_t{0}});
  const Value first = print(none, "first"), second = print(none, "second");
  const Signature signature = signature_of(g, {}, {first, second});
  Plan plan = plan_for(g, signature, Topology::local(1));
  CHECK(compared(g, signature, plan).verdict == Equality::Verdict::equal);
  PlanClass& c = plan.classes[0];
  std::vector<Instruction*> prints;
  for (Instruction& i : c.instructions)
    if (i.what == Opcode::kernel && plan.string(i.op) == "Print") prints.push_back(&i);
  REQUIRE(prints.size() == 2);
  *prints[1] = *prints[0];
  CHECK(has(compared(g, signature, plan).reason, "it runs twice"));
}

/// Joins a value of each task on a mesh of all.
struct JoinedParts {
  explicit JoinedParts(bool exchanged) {
    std::vector<Value> parts;
    for (const char* task : {"0", "1"}) {
      const auto here = g.device(std::string("/task:") + task);
      parts.push_back(exp(g.variable(std::string("part") + task, g.constant(Tensor(DType::float32, {2, 3})))));
    }
    if (exchanged) std::swap(parts[0], parts[1]);
    const auto all = g.on(g.mesh("x"));
    total = sum(sqrt(concat(parts, 0)));
  }
  Graph g;
  Value total;
};

TEST_CASE("a task's part of a concatenation is the input that the graph has there") {
  const JoinedParts in_order(false), exchanged(true);
  const Signature signature = signature_of(in_order.g, {in_order.total});
  const Plan plan = plan_for(in_order.g, signature, Topology::local(2));
  CHECK(std::ranges::none_of(plan.collectives, [&](const Collective& collective) {
    return plan.schedules[collective.schedule].kind == CollectiveKind::broadcast;
  }));
  CHECK(compared(in_order.g, signature, plan).verdict == Equality::Verdict::equal);
  CHECK(compared(exchanged.g, signature_of(exchanged.g, {exchanged.total}), plan).verdict != Equality::Verdict::equal);
}

TEST_CASE("a request of other fetches is another one") {
  Sample s;
  const Value y = s.a + s.b, z = s.a * s.b;
  const Plan plan = plan_for(s.g, signature_of(s.g, {y}), Topology::local(1));
  CHECK(has(compared(s.g, signature_of(s.g, {z}), plan).reason, "the request needs no such op of the graph"));
  CHECK(
      has(compared(s.g, signature_of(s.g, {y, z}), plan).reason, "the plan fetches add; the request fetches add, mul"));
  Signature unfed = signature_of(s.g, {y});
  unfed.feeds.pop_back();
  CHECK(has(compared(s.g, unfed, plan).reason, "the request does not feed 'b', which it needs"));
  static_cast<void>(s.g.input("c", {4, 4}));
  CHECK(has(compared(s.g, signature_of(s.g, {y}), plan).reason, "the plan is fed a, b; the request feeds a, b, c"));
}

}  // namespace
}  // namespace ferry::test
