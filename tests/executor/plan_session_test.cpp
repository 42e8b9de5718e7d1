#include "executor/session/plan_session.hpp"

#include "base/error.hpp"
#include "executor/session/checkpoints.hpp"
#include "executor/session/session.hpp"
#include "ops/control/state.hpp"
#include "ops/data/data.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "placement/planner.hpp"
#include "plan/file/plan_file.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

Cluster tasks(int count, int threads = 1) {
  ClusterOptions options;
  options.tasks = count;
  options.threads = threads;
  options.transport = "inproc";
  return Cluster::connect(options);
}

/// y = x w over a mesh, then w += 1; w is split by rows, and so x by columns.
struct Model {
  Graph g;
  Value x, w, y;
  RunRequest request;

  Model() {
    const MeshId dp = g.mesh("dp");
    x = g.input("x", DType::float32, {4, 2});
    const auto all = g.on(dp);
    w = g.variable("w", g.constant(Tensor::of<float>({2, 1}, {1, 10}))).laid({split(0)});
    y = matmul(x * 1.0, w).named("y");
    request.fetches = {y};
    request.targets = {assign(w, w + 1.0)};
    request.feeds = {{"x", Tensor::of<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}};
  }
};

/// The model's plan, encoded and decoded as when it is a file.
Plan saved_plan(const Model& model, int count, int threads = 1) {
  Session session(model.g, tasks(count, threads));
  return decode_plan(encode_plan(session.plan(model.request).plan), "memory");
}

TEST_CASE("a plan gives what its graph gives, step after step, and its variables") {
  for (int count : {1, 2, 3}) {
    const Model model;
    Session graph_session(model.g, tasks(count));
    Session session(saved_plan(model, count), tasks(count));
    session.restore({{"w", Tensor::of<float>({2, 1}, {1, 10})}, {"other", Tensor(DType::int32, {1})}});
    for (int run = 0; run < 3; ++run) {
      const Tensor expected = graph_session.run(model.request)[0];
      CHECK(session.run({}, model.request.feeds)[0].same_bits(expected));
    }
    CHECK(session.variables()["w"].same_bits(graph_session.variables()["w"]));
    CHECK(session.run({}, model.request.feeds)[0].same_bits(graph_session.run(model.request)[0]));  // w was made whole
    const RunStats stats = session.stats();
    CHECK(stats.fingerprint == graph_session.stats().fingerprint);
    for (const TaskStats& task : stats.tasks) CHECK(task.measured == task.planned);
  }
}

TEST_CASE("steps run inside, and tell") {
  const Model model;
  Session session(saved_plan(model, 2), tasks(2));
  session.restore({{"w", Tensor::of<float>({2, 1}, {0, 0})}});
  std::vector<double> first;
  const auto last = session.run(RunRequest{
      .feeds = model.request.feeds, .steps = 3, .on_step = [&](std::int64_t step, std::span<const Tensor> fetched) {
        CHECK(step == static_cast<std::int64_t>(first.size()));
        first.push_back(fetched[0].number(0));
      }});
  CHECK(first == std::vector<double>{0, 3, 6});
  CHECK(last[0].number(0) == 6);
}

TEST_CASE("a plan for whole batches is not run for the smaller one of an epoch, nor the other way round") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  const Value rows = batch({g.constant(Tensor::of<float>({5}, {1, 2, 3, 4, 5}))}, 2, {.shuffle = false})[0];
  const RunRequest request{.fetches = {sum(rows.laid({split(0)}))}};
  const auto plan_of_step = [&](std::int64_t step) {
    Session session(g, tasks(2));
    RunRequest one = request;
    one.planned_step = step;
    return session.plan(one).plan;
  };
  Session session(plan_of_step(0), tasks(2));
  CHECK(session.run(RunRequest())[0].number(0) == 3);
  const Error error = test::error_of([&] { session.run(RunRequest{.steps = 2}); });
  CHECK(error.code() == Code::usage);
  CHECK(test::says(error, "step 2 takes a batch of 1 rows from 'batch', and the plan is for steps that take 2"));
  CHECK(test::says(error, "or at most 1 step"));
  CHECK(session.run(RunRequest())[0].number(0) == 7);
  Session last(plan_of_step(2), tasks(2));
  CHECK(test::says(test::error_of([&] { last.run(RunRequest()); }), "step 0 takes a batch of 2 rows"));
}

TEST_CASE("a job of another size than the plan's is refused") {
  const Model model;
  const Error error = test::error_of([&] { Session(saved_plan(model, 3), tasks(2)); });
  CHECK(error.code() == Code::plan);
  CHECK(test::says(error, "the plan is for 3 tasks, this job has 2"));
  const Error threads = test::error_of([&] {
    Plan plan = saved_plan(model, 1);
    plan.classes[0].threads = 64;
    Session(std::move(plan), tasks(1));
  });
  CHECK(threads.code() == Code::plan);
  CHECK(test::says(threads, "the plan is for 64 threads on task 0, which has"));
}

TEST_CASE("a plan that the verifier refuses is not run") {
  const Model model;
  Plan plan = saved_plan(model, 2);
  for (PlanClass& c : plan.classes) c.devices[0].step_bytes = 64;
  CHECK(test::error_of([&] { Session(plan, tasks(2)); }).code() == Code::plan);
}

TEST_CASE("a plan with an op that this ferry lacks: says how it gets it") {
  const Model model;
  Plan plan = saved_plan(model, 1);
  StringList strings;
  for (std::size_t i = 0; i < plan.strings.size(); ++i)
    strings.push_back(plan.strings[i] == "MatMul" ? "Mine" : plan.strings[i]);
  plan.strings = strings;
  Session session(plan, tasks(1));
  session.restore({{"w", Tensor::of<float>({2, 1}, {1, 1})}});
  const Error error = test::error_of([&] { static_cast<void>(session.run({}, model.request.feeds)); });
  CHECK(error.code() == Code::plan);
  CHECK(test::says(error, "there is no kernel for Mine"));
  CHECK(test::says(error, "--ops LIB.so"));
}

TEST_CASE("feeds and variables that are missing or of another type are named, and the session stays usable") {
  const Model model;
  Session session(saved_plan(model, 2), tasks(2));
  const Error no_value = test::error_of([&] { static_cast<void>(session.run({}, model.request.feeds)); });
  CHECK(no_value.code() == Code::usage);
  CHECK(test::says(no_value, "the variable 'w' has no value"));
  const Error missing = test::error_of([&] { session.restore({}); });
  CHECK(missing.code() == Code::file);
  CHECK(test::says(missing, "missing: w float32[2,1]"));
  CHECK(test::says(test::error_of([&] {
                     session.restore({{"w", Tensor(DType::float32, {3})}});
                   }),
                   "differs: w is float32[2,1]"));
  session.restore({{"w", Tensor::of<float>({2, 1}, {1, 1})}});
  const Error not_fed = test::error_of([&] { static_cast<void>(session.run(RunRequest())); });
  CHECK(not_fed.code() == Code::usage);
  CHECK(test::says(not_fed, "the input 'x' is needed and not fed"));
  CHECK(test::says(not_fed, "it is float32[4,2]"));
  const Error other = test::error_of([&] {
    static_cast<void>(session.run({}, {{"x", Tensor(DType::float32, {2, 2})}}));
  });
  CHECK(test::says(other, "the feed 'x' is float32[2,2]; the plan was made for float32[4,2]"));
  CHECK(session.run({}, model.request.feeds)[0].number(0) == 3);
}

TEST_CASE("calls that need the graph are refused by the session of a plan, which stays usable") {
  const Model model;
  Session session(saved_plan(model, 2), tasks(2));
  session.restore({{"w", Tensor::of<float>({2, 1}, {1, 1})}});
  const auto refused = [](const auto& call, const char* text) {
    const Error error = test::error_of(call);
    CHECK(error.code() == Code::usage);
    CHECK(test::says(error, text));
    CHECK(test::says(error, "make the session from the graph"));
  };
  const char* const own = "this session runs a plan, which has its own fetches and targets";
  refused([&] { session.run(model.request); }, own);
  refused([&] { session.run({model.y}); }, own);
  refused([&] { session.run(RunRequest{.feeds = model.request.feeds, .fetch_to = 1}); }, own);
  refused([&] { static_cast<void>(session.plan(model.request)); }, own);
  refused([&] { session.tune({.feeds = model.request.feeds}); }, "tune: this session runs a plan and has no graph");
  refused([&] { Checkpoints(session, model.request, {.folder = "none"}); }, "Checkpoints: this session runs a plan");
  CHECK(session.plan({}).plan.string(session.plan({}).plan.fetches[0].name) == "y");
  CHECK(session.run({}, model.request.feeds)[0].number(0) == 3);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

TEST_CASE("PlanSession, the former name, still runs plans") {
  const Model model;
  PlanSession session(saved_plan(model, 2), tasks(2));
  session.restore({{"w", Tensor::of<float>({2, 1}, {0, 0})}});
  int steps = 0;
  const auto last = session.run(model.request.feeds, 3, [&](std::int64_t, std::span<const Tensor>) { ++steps; });
  CHECK(steps == 3);
  CHECK(last[0].number(0) == 6);
  CHECK(session.plan().fetches.size() == 1);
}

#pragma GCC diagnostic pop

}  // namespace
}  // namespace ferry
