// Plans of small graphs: what the passes add is read from the finished plan. Every plan here must pass the verifier.
#include "placement/planner.hpp"

#include <doctest/doctest.h>

#include <array>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/data/host.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

/// The plan, which the verifier must accept.
Plan planned(const Graph& g, const std::vector<Value>& fetches, int tasks, const std::vector<Value>& targets = {},
             const test::Feeds& feeds = {}) {
  const Plan plan = test::planned(g, fetches, tasks, targets, feeds);
  const Verdict verdict = verify(plan);
  CHECK_MESSAGE(verdict.pass, verdict.reason);
  return plan;
}

/// What a task does in a region, by default its step: "receive receive_wait Add send …".
std::string step_of(const Plan& plan, int task, std::uint32_t region = 1) {
  const PlanClass& c = plan.class_for(task);
  std::string text;
  for (std::uint32_t k = 0; k < c.regions[region].instructions.count; ++k) {
    const Instruction& i = c.instructions[c.regions[region].instructions[k]];
    text += (text.empty() ? "" : " ") + std::string(i.what == Opcode::kernel ? plan.string(i.op) : name_of(i.what));
    if (i.what == Opcode::collective || i.what == Opcode::collective_wait)
      text += "." + std::string(name_of(plan.schedules[plan.collectives[i.collective()].schedule].kind));
  }
  return text;
}

/// How many instructions, buffers, collectives and steps of all-reduce schedules a plan has.
std::array<std::size_t, 4> extent_of(const Plan& plan) {
  std::array<std::size_t, 4> sum{0, 0, plan.collectives.size(), 0};
  for (const PlanClass& c : plan.classes) {
    sum[0] += c.instructions.size();
    sum[1] += c.buffers.size();
  }
  for (const Schedule& schedule : plan.schedules)
    if (schedule.kind == CollectiveKind::all_reduce) sum[3] += schedule.steps.size();
  return sum;
}

TEST_CASE("a plan for 1,024 hosts is as long as one for 2, but for rounds of the sums between them") {
  Graph g;
  auto everywhere = g.on(g.mesh({{"dp", Mesh::kOpen}, {"tp", 4}}));
  const Value x = g.constant(Tensor(DType::float32, {2048, 8})).laid({split(0), replicated()});
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {8, 16}))).laid({replicated(), split(1)});
  const Value loss = sum(matmul(x, w));
  const Value update = sgd(loss, {w}, 0.5)[0];
  const auto on_hosts = [&](int hosts) {
    Topology topology = Topology::local(4 * hosts);
    for (int t = 0; t < topology.size(); ++t) topology.tasks[t].host = t / 4;
    const Plan plan = test::planned(g, {loss}, topology, {update});
    CHECK_NOTHROW(require_verified(plan));
    return extent_of(plan);
  };
  const auto few = on_hosts(2), many = on_hosts(1024);
  CHECK(many[0] == few[0]);
  CHECK(many[1] == few[1]);
  CHECK(many[2] == few[2]);
  CHECK(many[3] - few[3] == 9 * 5);
}

TEST_CASE("c = a + b over three tasks: two messages, and the result goes to task 0") {
  Graph g;
  auto a = g.constant({1, 2, 3}, on("/task:0"));
  auto b = g.constant({10, 20, 30}, on("/task:1"));
  Value c;
  {
    auto here = g.device("/task:2");
    c = a + b;
  }
  const Plan plan = planned(g, {c}, 3);
  CHECK(step_of(plan, 0, 0) == "Constant");
  CHECK(step_of(plan, 0) == "send receive receive_wait fetch send_wait");
  CHECK(step_of(plan, 1) == "send send_wait");
  CHECK(step_of(plan, 2) == "receive receive receive_wait receive_wait Add send send_wait");
}

TEST_CASE("if a job lacks tasks, the error has the number of tasks that is enough for all ops") {
  Graph g;
  const Value a = g.constant({1.0}, on("/task:1")).named("a");
  const auto there = g.device("/task:4");
  const Value b = (a + a).named("b");
  CHECK_THROWS_WITH_AS(planned(g, {b}, 1),
                       doctest::Contains("start at least 5 tasks, for example by --tasks 5 or mpirun -np 5\n  for b"),
                       Error);
}

TEST_CASE("a value goes to a task once, however many use it there") {
  Graph g;
  auto x = g.input("x", DType::float32, {4});
  Value total;
  {
    auto here = g.device("/task:1");
    total = (x + x) * x;
  }
  const Plan plan = planned(g, {total}, 2, {}, {{x.id(), {4}}});
  CHECK(plan.channels.size() == 2);
  CHECK(step_of(plan, 0) == "feed send receive receive_wait fetch send_wait");
  CHECK(step_of(plan, 1) == "receive receive_wait Add Mul send send_wait");
}

TEST_CASE("a send is waited for once it has been answered, so that a chain between two tasks takes two buffers") {
  Graph g;
  Value value;
  for (int k = 0; k < 20; ++k) {
    auto here = g.device(k % 2 == 0 ? "/task:0" : "/task:1");
    value = k == 0 ? g.variable("v", g.constant(Tensor(DType::float32, {1008}))) * 2.0 : value * 2.0;
  }
  const Plan plan = planned(g, {value}, 2);
  const std::string step = step_of(plan, 1);
  CHECK_MESSAGE(step.starts_with("receive receive_wait Mul send receive receive_wait Mul send send_wait receive"),
                step);
  for (const PlanClass& c : plan.classes) CHECK(c.devices[0].step_bytes <= 2 * 4032 + 64);
}

TEST_CASE("a send is not waited for when what comes was made without it") {
  Graph g;
  Value a, b, sum;
  {
    auto here = g.device("/task:0");
    a = g.variable("v", g.constant(Tensor(DType::float32, {4}))) * 2.0;
  }
  {
    auto there = g.device("/task:1");
    b = g.variable("w", g.constant(Tensor(DType::float32, {4}))) * 2.0;
  }
  Value c;
  {
    auto here = g.device("/task:0");
    c = b + a;
  }
  {
    auto there = g.device("/task:1");
    sum = a + b;
  }
  {
    auto there = g.device("/task:1");
    sum = sum + c;
  }
  const Plan plan = planned(g, {sum}, 2);
  CHECK(step_of(plan, 0) == "Mul send receive receive_wait Add send receive receive_wait fetch send_wait send_wait");
}

TEST_CASE("an op without annotation goes where the fewest bytes move") {
  Graph g;
  auto big = g.variable("big", g.constant(Tensor(DType::float32, {1000}), on("/task:1")));
  CHECK(step_of(planned(g, {sum(big + g.constant(1.0), {0})}, 2), 1).find("Add") == std::string::npos);
  Graph h;
  Value large;
  {
    auto here = h.device("/task:1");
    large = h.variable("large", h.constant(Tensor(DType::float32, {1000})));
  }
  const Plan plan = planned(h, {sum(large, {0})}, 2);
  REQUIRE(plan.channels.size() == 1);
  CHECK(plan.channels[0].bytes == 4);
}

TEST_CASE("a loop on another task gets its state and the values that it reads before its first iteration") {
  Graph g;
  Value w, y;
  {
    auto here = g.device("/task:0");
    w = g.variable("w", g.constant(Tensor(DType::float32, {4})));
  }
  const Value x = g.input("x", DType::float32, {4});
  {
    auto there = g.device("/task:1");
    y = while_loop(
        {g.constant(0), x}, [](const Values& s) { return s[0] < 3; },
        [&](const Values& s) {
          return Values{s[0] + 1, s[1] * w};
        })[1];
  }
  const Plan plan = planned(g, {y}, 2, {}, {{x.id(), {4}}});
  CHECK(plan.channels.size() == 3);
  CHECK(plan.class_for(0).regions.size() == 2);  // the setup and the step: no part in the loop
  CHECK(step_of(plan, 1, 3) == "Add Mul copy copy");
}

TEST_CASE("the name of its host stays with each task, however few bytes moving it would save") {
  Graph g;
  Value names[3];
  for (int task = 0; task < 3; ++task) {
    auto here = g.device("/task:" + std::to_string(task % 2));
    names[task] = host_name(g);
  }
  const Plan plan = planned(g, {concat({names[0], names[1], names[2]}, 0)}, 2);
  CHECK(step_of(plan, 0, 0) == "HostName HostName");  // and none is merged with its equal
  CHECK(step_of(plan, 1, 0) == "HostName");
}

TEST_CASE("the name of a host must be of one task") {
  Graph g;
  const Value nobody = host_name(g);
  CHECK_THROWS_WITH_AS(planned(g, {nobody}, 1), doctest::Contains("is annotated with none"), Error);
  Value everybody;
  {
    auto here = g.on(g.mesh("all"));
    everybody = host_name(g);
  }
  CHECK_THROWS_WITH_AS(planned(g, {everybody}, 1), doctest::Contains("is annotated with several"), Error);
}

TEST_CASE("a batch split over a mesh: gradients would be summed, the loss is reduced to task 0") {
  Graph g;
  const MeshId dp = g.mesh("dp");
  Value x, w, y;
  {
    auto all = g.on(dp);
    x = g.input("x", DType::float32, {"batch", 4}).laid({split(0)});
    w = g.variable("w", g.constant(Tensor(DType::float32, {4, 2})));
    y = matmul(x, w);
  }
  const Value loss = sum(y, {0, 1});
  const Plan plan = planned(g, {loss}, 4, {}, {{x.id(), {7, 4}}});
  CHECK(step_of(plan, 0) ==
        "feed collective.scatter collective_wait.scatter MatMul Sum collective.reduce collective_wait.reduce "
        "fetch");
  CHECK(step_of(plan, 3) ==
        "collective.scatter collective_wait.scatter MatMul Sum collective.reduce collective_wait.reduce");
  CHECK(plan.class_of == std::vector<std::uint32_t>{0, 1, 1, 2});  // 7 rows over 4 tasks: 2, 2, 2, 1
  CHECK(begin_of(plan, plan.windows.at(0), 3) == std::vector<std::int64_t>{6, 0});
}

TEST_CASE("a sum starts where its value is made and is waited for where it is used") {
  Graph g;
  auto all = g.on(g.mesh("dp"));
  const Value x = g.variable("x", g.constant(Tensor(DType::float32, {8, 4}))).laid({split(0)});
  const Value wide = (x + x).laid({split(0)});
  const Value total = sum(wide, {0});
  const Value other = sum(exp(exp(x)), {0, 1});
  const Plan plan = planned(g, {identity(total).laid({replicated()}) * 2.0, other}, 2);
  CHECK(step_of(plan, 0) ==
        "Add Sum collective.all_reduce Exp Exp Sum collective.reduce collective_wait.all_reduce Mul fetch "
        "collective_wait.reduce fetch");
  CHECK(step_of(plan, 1) ==
        "Add Sum collective.all_reduce Exp Exp Sum collective.reduce collective_wait.all_reduce Mul "
        "collective_wait.reduce");
}

TEST_CASE("parts go from a mesh straight to a mesh of other tasks") {
  Graph g;
  Value made, used;
  {
    auto stage = g.on(g.mesh({{"dp", 2}, {"tp", 2}}, "/job:first/task:*"));
    made = identity(g.constant(Tensor(DType::float32, {6, 4}))).laid({split(0), replicated()});
  }
  {
    auto stage = g.on(g.mesh({{"dp", 2}, {"tp", 2}}, "/job:second/task:*"));
    used = sum(identity(made).laid({split(0), replicated()}));
  }
  Topology topology = Topology::local(8);
  for (std::size_t t = 0; t < 8; ++t) {
    topology.tasks[t].job = t < 4 ? "first" : "second";
    topology.tasks[t].index_in_job = static_cast<std::int32_t>(t % 4);
  }
  const Plan plan = test::planned(g, {used}, topology);
  REQUIRE(plan.collectives.size() == 2);
  const Collective& across = plan.collectives[0];
  CHECK(plan.groupings[across.grouping] == Grouping{{4, 5, 0}, {6, 7, 2}});
  CHECK(across.parts == std::vector<std::int64_t>{12});
  CHECK_NOTHROW(require_verified(plan));

  Plan crossed = plan;
  Grouping& groups = crossed.groupings[across.grouping];
  std::swap(groups[0].back(), groups[1].back());
  const Verdict verdict = verify(crossed);
  CHECK(!verdict.pass);
  CHECK_MESSAGE(verdict.reason.find("members get parts of other dims or places than are given") != std::string::npos,
                verdict.reason);
}

TEST_CASE("the same file on one task needs no messages") {
  Graph g;
  const MeshId dp = g.mesh("dp");
  auto all = g.on(dp);
  const Value x = g.input("x", DType::float32, {"batch", 4}).laid({split(0)});
  const Value loss = sum(x, {0, 1});
  const Plan plan = planned(g, {loss}, 1, {}, {{x.id(), {7, 4}}});
  CHECK(step_of(plan, 0) == "feed Sum fetch");
}

TEST_CASE("memory: a chain of adds runs in one buffer") {
  Graph g;
  const Value x = g.input("x", DType::float32, {1000});
  Value last = x;
  for (int i = 0; i < 50; ++i) last = last + last;
  const Plan plan = planned(g, {last}, 1, {}, {{x.id(), {1000}}});
  CHECK(plan.classes[0].devices[0].step_bytes == 4032);
}

/// For each collective of a task with inputs and outputs, whether its output is in the place of its input.
std::vector<bool> in_place(const Plan& plan, int task) {
  const PlanClass& c = plan.class_for(task);
  std::vector<bool> all;
  for (const Instruction& i : c.instructions)
    if (i.what == Opcode::collective && i.inputs.count > 0 && i.outputs.count > 0)
      all.push_back(c.buffers[c.inputs(i)[0]].offset == c.buffers[c.outputs(i)[0]].offset);
  return all;
}

TEST_CASE("memory: a direct sum takes the bytes of what it sums if nothing needs that any more") {
  Graph g;
  auto all = g.on(g.mesh("dp"));
  const Value x = g.variable("x", g.constant(Tensor(DType::float32, {8, 1000}))).laid({split(0)});
  const Value part = sum(x * x, {0}).laid({partial(Reduce::sum)});
  const Value scaled = (part * identity(part).laid({replicated()})).laid({partial(Reduce::sum)});
  const Value sums = identity(scaled).laid({replicated()});
  CHECK(in_place(planned(g, {sums}, 2), 1) == std::vector<bool>{false, true});  // the first is read again

  Topology hosts = Topology::local(4);
  for (int task = 0; task < 4; ++task) hosts.tasks[task].host = task / 2;
  const Plan apart = test::planned(g, {sums}, hosts);
  CHECK_NOTHROW(require_verified(apart));
  for (const Schedule& schedule : apart.schedules) CHECK_FALSE(schedule.in_place);
  CHECK(in_place(apart, 1) == std::vector<bool>{false, false});
}

TEST_CASE("a branch's result stays as its annotation lays it") {
  Graph g;
  auto all = g.on(g.mesh("dp"));
  const Value x = g.variable("x", g.constant(Tensor(DType::float32, {8, 4}))).laid({split(0)});
  const Value w = g.variable("w", g.constant(Tensor(DType::float32, {8, 4})));
  const Value go = greater(sum(w), 0.0);
  const Value y = cond(
      go, [&] { return Values{(w + 1.0).laid({split(0)})}; }, [&] { return Values{(w * 2.0).laid({split(0)})}; })[0];
  const Plan plan = planned(g, {sum(x * y)}, 2);
  CHECK(verify(plan).pass);
  CHECK(std::ranges::none_of(plan.schedules, [](const Schedule& s) { return s.kind == CollectiveKind::all_gather; }));
}

TEST_CASE("memory: of the partial gradients of many layers few live at once") {
  constexpr int kLayers = 32;
  constexpr std::int64_t kUnits = 64;
  Graph g;
  auto all = g.on(g.mesh("dp"));
  Value y = g.constant(Tensor(DType::float32, {4, kUnits})).laid({split(0)});
  Values weights, updates;
  for (int layer = 0; layer < kLayers; ++layer) {
    weights.push_back(g.variable("w" + std::to_string(layer), g.constant(Tensor(DType::float32, {kUnits, kUnits}))));
    y = tanh(matmul(y, weights.back()));
  }
  const Values gradient = gradients(sum(y), weights);
  for (int layer = 0; layer < kLayers; ++layer) {
    const auto i = static_cast<std::size_t>(layer);
    const Value state =
        g.variable("m" + std::to_string(layer), g.constant(Tensor(DType::float32, {kUnits, kUnits}))).laid({split(0)});
    updates.push_back(assign(state, state * 0.9 + gradient[i]));
  }
  const Plan plan = planned(g, {}, 4, {updates.begin(), updates.end()});
  const std::uint64_t of_gradients = kLayers * kUnits * kUnits * sizeof(float);
  CHECK(plan.classes[0].devices[0].step_bytes < of_gradients / 2);
}

TEST_CASE("tasks of different collectives are of different classes") {
  Graph g;
  const MeshId grid = g.mesh({{"dp", 2}, {"tp", 2}});
  Value x;
  {
    auto all = g.on(grid);
    const Value v = g.variable("v", g.constant(Tensor(DType::float32, {1, 3}))).laid({split(0), replicated()});
    x = -v;
  }
  Value there;
  {
    auto here = g.device("/task:1");
    there = x * 2.0;  // gathered over tasks 1 and 3, the fetch over 0 and 2
  }
  const Plan plan = planned(g, {x, there}, 4);
  CHECK(plan.classes.size() == 4);
}

TEST_CASE("errors name op, device and line") {
  Graph g;
  auto a = g.constant({1, 2, 3}, on("/task:5"));
  CHECK_THROWS_WITH_AS(planned(g, {a}, 2), doctest::Contains("constant (Constant) at"), Error);
  Graph h;
  const Value x = h.input("x", DType::float32, {"n", "n"});
  CHECK_THROWS_WITH_AS(planned(h, {x}, 1), doctest::Contains("the input 'x' is needed and not fed"), Error);
  CHECK_THROWS_WITH_AS(planned(h, {x}, 1, {}, {{x.id(), {2, 3}}}),
                       doctest::Contains("the feed 'x' has shape [2,3]; the graph needs float32[n,n], with n = 2"),
                       Error);
}

TEST_CASE("random graphs on random placements give plans that the verifier accepts") {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CAPTURE(seed);
    const test::RandomGraph made =
        test::random_graph(seed, 10 + static_cast<int>(seed % 60), 1 + static_cast<int>(seed % 4));
    planned(*made.graph, made.fetches, 4, made.targets, test::feeds_of(made));
  }
}

TEST_CASE("an exchange of more parts than a plan may have is refused, with the figure, before they are made") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  const Value x = identity(g.constant(Tensor(DType::float32, {20000, 2}))).laid({split(0)});
  const Value y = (x * 2.0).laid({split(1)});
  const auto refused = [&](int tasks) {
    try {
      return static_cast<void>(test::planned(g, {y}, tasks)), std::string();
    } catch (const Error& error) {
      return error.text();
    }
  };
  CHECK(refused(4) == "");
  const std::string why = refused(8193);
  CHECK_MESSAGE(why.find("over 8193 tasks has 67125249 parts") != std::string::npos, why);
  CHECK_MESSAGE(why.find("would take 537001992 bytes for them, of 536870912") != std::string::npos, why);
}

}  // namespace
}  // namespace ferry
