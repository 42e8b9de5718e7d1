// Variables that a plan does not set are packed once, and again after another plan, a restore or a tuning has written
// them.
#include "plan/variable_packing.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "executor/session/checkpoints.hpp"
#include "executor/session/session.hpp"
#include "kernels/device.hpp"
#include "kernels/kernel.hpp"
#include "ops/array/array.hpp"
#include "ops/control/state.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "placement/planner.hpp"
#include "plan/traffic/costs.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/has.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/verified_plans.hpp"

namespace ferry {
namespace {

using test::Dice;

constexpr std::int64_t kRows = 3, kDepth = 70, kColumns = 50;

Tensor bytes(Dice& dice, const std::vector<std::int64_t>& sizes) {
  Tensor tensor(DType::int8, sizes);
  for (std::int8_t& element : tensor.mutable_data<std::int8_t>()) element = static_cast<std::int8_t>(dice.below(256));
  return tensor;
}

Tensor floats(Dice& dice, const std::vector<std::int64_t>& sizes) {
  Tensor tensor(DType::float32, sizes);
  for (float& element : tensor.mutable_data<float>()) element = static_cast<float>(dice.below(2000)) / 1000 - 1;
  return tensor;
}

/// A product and a convolution by weights, and requests that use and set these weights.
struct Model {
  /// `given`: the weights are inputs instead of variables.
  explicit Model(bool given = false) {
    const auto all = g.on(g.mesh("m"));
    const Value x = g.input("x", DType::int8, {kRows, kDepth}), image = g.input("image", {2, 16, 9, 11});
    const Value w = weights("w", DType::int8, {kDepth, kColumns}, given);
    const Value filter = weights("filter", DType::float32, {40, 8, 3, 3}, given);
    use.fetches = {matmul_integer(x, w), conv2d(image, filter, {}, 2)};
    if (given) return;
    const Value uses = g.variable("uses", g.constant(0, DType::int64));
    use.targets = {assign_add(uses, 1)};
    set.targets = {assign(w, g.input("next w", DType::int8, {kDepth, kColumns})),
                   assign(filter, g.input("next filter", {40, 8, 3, 3}))};
  }

  Graph g;
  RunRequest use, set;

 private:
  Value weights(const std::string& name, DType dtype, const std::vector<std::int64_t>& sizes, bool given) {
    if (given) return g.input(name, dtype, Shape(std::span<const std::int64_t>(sizes)));
    return g.variable(name, broadcast_to(g.constant(0, dtype), sizes));
  }
};

/// The present values of the weights, and the results that they give.
struct Weights {
  explicit Weights(Dice& dice) { draw(dice); }
  void draw(Dice& dice) {
    w = bytes(dice, {kDepth, kColumns});
    filter = floats(dice, {40, 8, 3, 3});
  }
  Tensor w, filter;
};

Cluster cluster_of(int tasks, int threads) {
  return Cluster::connect(ClusterOptions{.tasks = tasks, .threads = threads, .transport = "inproc", .jobs = ""});
}

void feed(RunRequest& request, Dice& dice) {
  request.feeds["x"] = bytes(dice, {kRows, kDepth});
  request.feeds["image"] = floats(dice, {2, 16, 9, 11});
}

/// A session to which weights are given.
class Reference {
 public:
  /// Checks that steps that use the model's weights have the bits of a step to which these weights are given.
  void check_use(Session& session, Model& model, const Weights& weights, Dice& dice, std::int64_t steps = 1) {
    feed(model.use, dice);
    model.use.steps = steps;
    RunRequest given = model_.use;
    given.feeds = model.use.feeds;
    given.feeds["w"] = weights.w;
    given.feeds["filter"] = weights.filter;
    const std::vector<Tensor> wanted = session_.run(given), got = session.run(model.use);
    for (std::size_t k = 0; k < wanted.size(); ++k) CHECK(got[k].same_bits(wanted[k]));
  }

 private:
  const Model model_{true};
  const Cluster cluster_ = cluster_of(1, 1);
  Session session_{model_.g, cluster_};
};

void set(Session& session, Model& model, const Weights& weights) {
  model.set.feeds["next w"] = weights.w;
  model.set.feeds["next filter"] = weights.filter;
  session.run(model.set);
}

void restore(Session& session, const Weights& weights, std::int64_t uses = 0) {
  session.restore({{"w", weights.w}, {"filter", weights.filter}, {"uses", Tensor::of<std::int64_t>({}, {uses})}});
}

TEST_CASE("variables that a request does not set are packed in its setup, others in each step") {
  Model model;
  Dice dice(1);
  feed(model.use, dice);
  const Cluster cluster = cluster_of(1, 1);
  Session session(model.g, cluster);
  const Plan plan = session.plan(model.use).plan;
  CHECK(test::kernels_of(plan, 0).ends_with("PackedMatrix, PackedFilter"));
  CHECK(packed_variables(plan, 0) == std::vector<std::string>{"w", "filter"});
  CHECK(written_variables(plan, 0) == std::vector<std::string>{"uses"});
  RunRequest both = model.use;
  both.targets = model.set.targets;
  both.feeds["next w"] = bytes(dice, {kDepth, kColumns});
  both.feeds["next filter"] = floats(dice, {40, 8, 3, 3});
  CHECK(test::kernels_of(session.plan(both).plan, 0).find("Packed") == std::string::npos);
}

TEST_CASE("a variable is packed once, and again after each change of its value") {
  Model model;
  Dice dice(2);
  std::string trace;
  SessionOptions options;
  options.run.on_trace = [&](std::string_view made) { trace = made; };
  const Cluster cluster = cluster_of(1, 1);
  {
    Session session(model.g, cluster, options);
    Reference reference;
    Weights weights(dice);
    restore(session, weights);
    reference.check_use(session, model, weights, dice, 5);  // packs
    for (int i = 0; i < 3; ++i) reference.check_use(session, model, weights, dice);
    weights.draw(dice);
    set(session, model, weights);
    set(session, model, weights);
    reference.check_use(session, model, weights, dice, 2);  // packs
    static_cast<void>(session.variables());
    reference.check_use(session, model, weights, dice);
    weights.draw(dice);
    restore(session, weights);
    for (int i = 0; i < 3; ++i) reference.check_use(session, model, weights, dice);  // packs
  }
  int packed = 0;
  for (std::size_t at = 0; (at = trace.find("PackedMatrix", at)) != std::string::npos; ++at) ++packed;
  CHECK(packed == 3);
}

TEST_CASE("packed variables have the bits of the present values, whatever writes them") {
  for (const auto& [tasks, threads] : {std::pair(1, 1), {1, 2}, {2, 1}}) {
    CAPTURE(tasks);
    CAPTURE(threads);
    const test::TempFolder folder;
    Reference reference;
    Model model;
    Dice dice(static_cast<std::uint64_t>(10 * tasks + threads));
    const Cluster cluster = cluster_of(tasks, threads);
    struct Run {
      std::unique_ptr<Session> session;
      Weights weights;
    };
    std::vector<Run> runs;  // sessions of one cluster, each with values of its own
    for (int i = 0; i < 2; ++i) {
      runs.push_back({std::make_unique<Session>(model.g, cluster), Weights(dice)});
      restore(*runs[i].session, runs[i].weights);
    }
    int saved = 0;
    for (int i = 0; i < 60; ++i) {
      Run& run = runs[dice.below(2)];
      CAPTURE(i);
      switch (dice.below(6)) {
        case 0:
          run.weights.draw(dice);
          set(*run.session, model, run.weights);
          break;
        case 1:
          run.weights.draw(dice);
          restore(*run.session, run.weights);
          break;
        case 2:
          static_cast<void>(run.session->variables());
          break;
        case 3: {  // another session continues from a checkpoint
          const std::string name = folder / std::to_string(saved++);
          feed(model.use, dice);
          Checkpoints(*run.session, model.use, {.folder = name}).save();
          run.session = std::make_unique<Session>(model.g, cluster);
          const Checkpoints resumed(*run.session, model.use, {.folder = name, .resume = true});
          break;
        }
        case 4:
          feed(model.use, dice);
          static_cast<void>(run.session->tune(model.use, {.steps = 1, .rounds = 1}));
          break;
        default:
          break;
      }
      reference.check_use(*run.session, model, run.weights, dice, 1 + dice.below(2));
    }
  }
}

TEST_CASE("variables are not packed where the plan would need more memory than there is") {
  Model model;
  const KernelsOfDevices kernels(cpu_kernels(), std::nullopt);
  Signature signature;
  for (const Value& fetch : model.use.fetches) signature.fetches.push_back(fetch.id());
  for (const char* name : {"x", "image"}) {
    const Value input = model.g.value(model.g.op(*model.g.find(name)).output(0));
    signature.feeds.push_back({input.id(), 0, input.type().shape.sizes()});
  }
  const auto planned = [&](const Topology& topology) {
    const Plan plan = make_plan(model.g, signature, topology, kernels).plan;
    const Verdict verdict = verify(plan, {nullptr, &kernels});
    CHECK_MESSAGE(verdict.pass, verdict.reason);
    return plan;
  };
  Topology topology = Topology::local(1);
  const Plan packed = planned(topology);
  REQUIRE(packed_variables(packed, 0).size() == 2);
  const std::uint64_t needed = memory_of(packed.classes[0]);
  SUBCASE("of the task") {
    topology.tasks[0].memory_bytes = needed;
    CHECK(packed_variables(planned(topology), 0).size() == 2);
    topology.tasks[0].memory_bytes = needed - 1;
  }
  SUBCASE("of the host") {
    topology.tasks[0].host_memory_bytes = needed;
    CHECK(packed_variables(planned(topology), 0).size() == 2);
    topology.tasks[0].host_memory_bytes = needed - 1;
  }
  const Plan plan = planned(topology);
  CHECK(packed_variables(plan, 0).empty());
  const std::uint64_t panels = needed - memory_of(plan.classes[0]);
  CHECK(panels > kDepth * kColumns + 4 * 40 * 8 * 9);
}

TEST_CASE("the verifier refuses a setup that reads variables and cannot run again") {
  Graph g;
  const Value x = g.input("x", DType::int8, {kRows, kDepth});
  const Value zeros = broadcast_to(g.constant(0, DType::int8), {kDepth, kColumns});
  const Value w = g.variable("w", zeros), v = g.variable("v", zeros);
  const Value next = g.input("next", DType::int8, {kDepth, kColumns});
  const KernelsOfDevices kernels(cpu_kernels(), std::nullopt);
  const Value y = matmul_integer(x, w) + g.constant(Tensor(DType::int32, {kColumns}));
  Signature signature{.feeds = {}, .fetches = {y.id()}, .targets = {assign(v, next).op().id()}};
  for (const Value& input : {x, next}) signature.feeds.push_back({input.id(), 0, input.type().shape.sizes()});
  Plan plan = make_plan(g, signature, Topology::local(1), kernels).plan;
  PlanClass& role = plan.classes[0];
  const auto reason = [&] { return verify(plan, {nullptr, &kernels}).reason; };
  REQUIRE(reason() == "");
  const Range packing = variable_packing(role);
  REQUIRE(packing.count == 1);
  Instruction& pack = role.instructions[packing[0]];
  const auto buffer_of = [&](std::uint32_t variable) { return role.variables[variable].buffer; };
  SUBCASE("because the step writes the variable") {
    const std::uint32_t set = plan.string(role.variables[0].name) == "v" ? 0 : 1;
    for (BufferId& b : role.operands) b = b == buffer_of(set) ? buffer_of(1 - set) : b;
    CHECK_MESSAGE(test::has(reason(), "reads it in the setup"), reason());
  }
  SUBCASE("because it reads something else after it") {
    REQUIRE(packing.first > 0);
    std::swap(pack, role.instructions[packing.first - 1]);
    CHECK_MESSAGE(test::has(reason(), "reads something else than variables"), reason());
  }
  SUBCASE("because the packed form is not kept") {
    Buffer& packed = role.buffers[role.outputs(pack)[0]];
    packed.space = Buffer::Space::step;
    CHECK_MESSAGE(test::has(reason(), "its output is not kept from step to step"), reason());
  }
  SUBCASE("because it uses scratch memory of the step") {
    for (const Instruction& i : role.instructions)
      if (i.scratch != kNone) pack.scratch = i.scratch;
    CHECK_MESSAGE(test::has(reason(), "cannot run again before any step"), reason());
  }
}

}  // namespace
}  // namespace ferry
