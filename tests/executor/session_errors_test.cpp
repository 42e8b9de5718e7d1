// Errors of a session: wrong feeds and fetches, sizes that do not fit in a step, jobs that do not fit, being closed or
// destroyed during a run. The numbers come from tests/faults/README.md. Also: plans that lay a variable differently.
#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "executor/session/session.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/sort.hpp"
#include "ops/control/control.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "placement/planner.hpp"
#include "tests/support/throws.hpp"

using namespace ferry;

namespace {

Cluster tasks(int n, std::chrono::milliseconds deadline = std::chrono::seconds(60)) {
  ClusterOptions options;
  options.tasks = n;
  options.threads = 1;
  options.deadline = deadline;
  return Cluster::connect(options);
}

struct Model {
  Graph g;
  Value x = g.input("weights", DType::float32, {2});
  Value y = (x + x).named("y");
};

Error error_of_run(Session& session, const RunRequest& request) {
  try {
    session.run(request);
  } catch (const Error& error) {
    return error;
  }
  return {Code::ok, ""};
}

RunRequest request(const Value& fetch, TensorMap feeds) {
  RunRequest made;
  made.fetches = {fetch};
  made.feeds = std::move(feeds);
  return made;
}

Tensor pair() {
  return Tensor::of<float>({2}, {1, 2});
}

}  // namespace

TEST_CASE("a plan that goes over the budget is refused before initial values are computed") {
  Graph g;
  const Value beyond = cast(uniform(g, {1}, 5, 6), DType::int32);
  const Value w = g.variable("w", gather(g.constant(pair()), beyond));  // an error, if it is computed
  g.budget({.memory = 1});
  Session session(g, tasks(1));
  const Error error = error_of_run(session, request(w + w, {}));
  CHECK(error.code() == Code::plan);
  CHECK(error.text().find("its budget is 1 byte") != std::string::npos);
}

TEST_CASE("the type of a feed is enough for a plan, but not for a run") {
  Graph g;
  const Value x = g.input("x", DType::float32, {"n", 2});
  RunRequest known = request((x + x).named("y"), {{"x", Tensor(DType::float32, {3, 2})}}), typed = known;
  typed.feeds.clear();
  typed.feed_types["x"] = {DType::float32, {3, 2}};
  Session session(g, tasks(2));
  CHECK(&session.plan(typed) == &session.plan(known));
  constexpr std::string_view kSaid = "the feed 'x' is only a type\n  try: give its values in RunRequest::feeds";
  CHECK(test::says(error_of_run(session, typed), kSaid));
  CHECK(test::says(test::error_of([&] { session.tune(typed); }), kSaid));
  typed.feed_types["x"] = {DType::float32, {std::int64_t{1} << 40, 2}};
  CHECK(test::says(test::error_of([&] { static_cast<void>(session.plan(typed)); }), "would need"));
  CHECK(session.run(known).size() == 1);
}

TEST_CASE("initial values may read variables, many deep, but not in a circle") {
  Graph g;
  Value last = g.variable("v0", g.constant({1.0}));
  for (int i = 1; i < 40; ++i) last = g.variable("v" + std::to_string(i), last + 1.0);
  Session session(g, tasks(1));
  CHECK(session.run({last})[0].number(0) == 40);

  Graph drawn;
  const Value w = drawn.variable("w", uniform(drawn, {3}));
  const Value copy = drawn.variable("copy", w), other = drawn.variable("other", uniform(drawn, {3}));
  const std::vector<Tensor> alone = Session(drawn, tasks(1)).run({w, other});
  const std::vector<Tensor> together = Session(drawn, tasks(1)).run({copy, w, other});
  CHECK(together[0].same_bits(together[1]));
  CHECK(together[1].same_bits(alone[0]));
  CHECK(together[2].same_bits(alone[1]));

  Graph circle;
  const Value a = circle.add(kVariable, {}, {{"dtype", DType::float32}, {"shape", Shape({1})}}, {"model.cpp", 3})[0];
  circle.target("init", assign(a.named("a"), a + 1.0));
  Session endless(circle, tasks(1));
  const Error error = test::error_of([&] { static_cast<void>(endless.run({a})); });
  CHECK(error.code() == Code::usage);
  CHECK(test::says(error, "the initial value of the variable 'a' reads a chain"));
  CHECK(test::says(error, "model.cpp:3"));
}

TEST_CASE("sizes that a step decides must fit each other in that step") {
  Graph g;
  const Value x = g.input("x", DType::int32, {4});
  const Value y = g.input("y", DType::int32, {4});
  const Value sum = nonzero(x) + nonzero(y);
  const Value beside[] = {nonzero(x), nonzero(y)};
  const Value joined = concat(beside, 1);
  const auto of = [](std::vector<std::int32_t> numbers) {
    Tensor tensor(DType::int32, {4});
    std::copy(numbers.begin(), numbers.end(), tensor.mutable_data<std::int32_t>().begin());
    return tensor;
  };
  for (const Value& value : {sum, joined}) {
    Session session(g, tasks(1));
    RunRequest request;
    request.fetches = {value};
    request.feeds = {{"x", of({1, 0, 1, 1})}, {"y", of({0, 1, 1, 1})}};
    CHECK(session.run(request)[0].sizes()[0] == 3);
    request.feeds["y"] = of({0, 0, 1, 1});
    const Error error = error_of_run(session, request);
    CHECK(error.code() == Code::program);
    CHECK(error.text().find("the first dims of its inputs, which the step decides, are 3 and 2") != std::string::npos);
  }
  Session session(g, tasks(1));
  RunRequest request;
  request.fetches = {sum};
  request.feeds = {{"x", of({1, 0, 1, 1})}, {"y", of({0, 0, 0, 1})}};
  const Error one = error_of_run(session, request);  // an extent of 1 is not broadcast: in parts it could not be
  CHECK(one.text().find("are 3 and 1") != std::string::npos);
}

TEST_CASE("of nothing there is no best element") {
  Graph g;
  const Value x = g.input("x", DType::int32, {4});
  for (const Value best : {argmax(nonzero(x), 0), argmin(nonzero(x), 0)}) {
    Session session(g, tasks(1));
    RunRequest request;
    request.fetches = {best};
    request.feeds = {{"x", Tensor::of<std::int32_t>({4}, {0, 0, 0, 0})}};
    const Error error = error_of_run(session, request);
    CHECK(error.code() == Code::program);
    CHECK(error.text().find("dim 0, which the step decides, is empty") != std::string::npos);
  }
}

TEST_CASE("only the first dim is one that the step decides") {
  Graph g;
  const Value x = g.input("x", DType::int32, {4});
  const Value table = g.input("table", DType::int32, {2, 4});
  CHECK(gather(table, nonzero(x), 0).shape().bounded());
  CHECK_THROWS_WITH_AS(gather(table, nonzero(x), 1), doctest::Contains("only the first dim"), Error);
  CHECK_THROWS_WITH_AS(unique(g.constant(1.0)), doctest::Contains("a scalar has no rows"), Error);
}

TEST_CASE("options of a program without a value are refused") {
  for (const std::vector<const char*>& given : {std::vector{"program", "--jobs", ""}, std::vector{"program", "--jobs="},
                                                std::vector{"program", "--transport="}}) {
    std::vector<std::string> words(given.begin(), given.end());
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    int argc = static_cast<int>(words.size());
    const Error error = test::error_of([&] { static_cast<void>(Cluster::connect(argc, argv.data())); });
    CHECK(error.code() == Code::usage);
    CHECK(test::says(error, ": its value is empty\n  try: leave --"));
  }
}

TEST_CASE("jobs that do not fit the tasks are refused with jobs that do") {
  const auto said = [](int count, const std::string& jobs) -> std::string {
    try {
      static_cast<void>(Cluster::connect(ClusterOptions{.tasks = count, .threads = 1, .jobs = jobs}));
    } catch (const Error& error) {
      CHECK(error.code() == Code::usage);
      return error.text();
    }
    return "";
  };
  const auto start = [](const std::string& tasks) {
    return "start " + tasks + " tasks (--tasks " + tasks + " in one process, mpirun -np " + tasks +
           " or ferry launch -n " + tasks + "), or ";
  };
  CHECK(said(3, "ps=0,worker=1-3") ==
        "--jobs ps=0,worker=1-3: there is no task 3 of 3\n  try: " + start("4") + "for example --jobs ps=0,worker=1-2");
  CHECK(said(2, "ps=0,worker=1-9") ==
        "--jobs ps=0,worker=1-9: there is no task 2 of 2\n  try: " + start("10") + "for example --jobs ps=0,worker=1");
  CHECK(said(2, "worker=1-3,ps=0") ==
        "--jobs worker=1-3,ps=0: there is no task 2 of 2\n  try: " + start("4") + "for example --jobs ps=0,worker=1");
  CHECK(said(1, "ps=1") == "--jobs ps=1: there is no task 1 of 1\n  try: --jobs worker=0");
  CHECK(said(2, "ps=5") == "--jobs ps=5: there is no task 5 of 2\n  try: for example --jobs ps=0,worker=1");
  CHECK(said(2, "a=0-5,b=3-9").starts_with("--jobs a=0-5,b=3-9: task 3 is given twice\n"));
  CHECK(said(2, "ps=0").starts_with("--jobs ps=0: task 1 has no job\n"));
  CHECK(said(3, "ps=2-1").starts_with("--jobs ps=2-1: \"1\" is not the number of a task, 2 or more\n  try: "));
  CHECK(said(3, "ps=0-").starts_with("--jobs ps=0-: \"\" is not the number of a task, 0 or more\n  try: "));
  for (const auto& [count, jobs] : {std::pair(3, "ps=0,worker=1-2"), {2, "ps=0,worker=1"}, {1, "worker=0"}})
    CHECK(said(count, jobs) == "");
}

TEST_CASE("an op of one's own without a kernel: says how the session gets one") {
  static constexpr OpDef kMine{.name = "Mine", .types = "T->T", .index = "...->...", .no_grad = "a test"};
  Graph g;
  const Value x = g.constant(1.0F);
  const Value y = g.add(kMine, std::span(&x, 1), {}, source_location::current())[0];
  Session session(g, tasks(1));
  RunRequest request;
  request.fetches = {y};
  const Error error = error_of_run(session, request);
  CHECK(error.code() == Code::plan);
  CHECK(error.text().find("there is no cpu kernel for") != std::string::npos);
  CHECK(error.text().find("--ops LIB.so, or ExecutionOptions::kernels") != std::string::npos);
}

TEST_CASE("wrong feeds are refused by name, and the session stays usable") {
  Model m;
  const Cluster cluster = tasks(2);
  Session session(m.g, cluster);
  const struct {
    TensorMap feeds;
    const char* says;
  } cases[] = {
      {{}, "weights"},                                                         // 52: missing
      {{{"weights", Tensor::of<std::int32_t>({2}, {1, 2})}}, "int32"},         // 53: dtype
      {{{"weights", Tensor::of<float>({3}, {1, 2, 3})}}, "3"},                 // 54: shape
      {{{"weights", pair()}, {"wieghts", pair()}}, "did you mean 'weights'"},  // 55: unknown
  };
  for (const auto& c : cases) {
    const Error error = error_of_run(session, request(m.y, c.feeds));
    CAPTURE(error.text());
    CHECK(error.code() == Code::usage);
    CHECK(error.text().find(c.says) != std::string::npos);
  }
  CHECK(session.run({m.y}, {{"weights", pair()}})[0].str() == "[2 4]");
}

TEST_CASE("a fetch of another graph or of a loop's body is refused") {
  Model m;
  Value inside;
  const Values looped = while_loop(
      {m.x, m.g.constant(0.0)}, [](const Values& v) { return less(v[1], 3.0); },
      [&](const Values& v) {
        inside = v[0] + v[0];
        return Values{inside, v[1] + 1.0};
      });
  const Cluster cluster = tasks(1);
  Session session(m.g, cluster);
  const Error error = error_of_run(session, request(inside, {{"weights", pair()}}));
  CHECK(error.code() == Code::usage);
  CHECK(error.text().find("body") != std::string::npos);
}

TEST_CASE("a fetch to a task that is not there is refused") {
  Model m;
  const Cluster cluster = tasks(2);
  Session session(m.g, cluster);
  for (const std::int32_t task : {-1, 2}) {
    RunRequest wrong = request(m.y, {{"weights", pair()}});
    wrong.fetch_to = task;
    const Error error = error_of_run(session, wrong);
    CHECK(error.code() == Code::usage);
    CHECK(error.text().find("at task " + std::to_string(task) + "; the job has tasks 0 to 1") != std::string::npos);
  }
}

TEST_CASE("a run after close is refused") {
  Model m;
  const Cluster cluster = tasks(2);
  Session session(m.g, cluster);
  session.run({m.y}, {{"weights", pair()}});
  session.close();
  session.close();
  const Error error = error_of_run(session, request(m.y, {{"weights", pair()}}));
  CHECK(error.code() == Code::usage);
  CHECK(error.text().find("closed") != std::string::npos);
}

TEST_CASE("a second run at once is refused") {
  Model m;
  const Cluster cluster = tasks(1);
  Session session(m.g, cluster);
  RunRequest outer = request(m.y, {{"weights", pair()}});
  Error inner(Code::ok, "");
  outer.on_step = [&](std::int64_t, std::span<const Tensor>) {
    inner = error_of_run(session, request(m.y, {{"weights", pair()}}));
  };
  session.run(outer);
  CHECK(inner.code() == Code::usage);
}

TEST_CASE("a session destroyed during a run ends it and joins") {
  Model m;
  const Cluster cluster = tasks(2);
  auto session = std::make_unique<Session>(m.g, cluster);
  std::atomic<bool> running{false};
  Error error(Code::ok, "");
  RunRequest endless = request(m.y, {{"weights", pair()}});
  endless.steps = std::int64_t{1} << 40;
  endless.on_step = [&](std::int64_t, std::span<const Tensor>) {
    running = true;
    running.notify_all();
  };
  Session& alive = *session;
  std::thread runner([&] { error = error_of_run(alive, endless); });
  running.wait(false);
  session.reset();
  runner.join();
  CHECK(error.text().find("destroyed during a run") != std::string::npos);
}

TEST_CASE("after a failed step nothing torn is read or saved") {
  Graph g;
  const Value v = g.variable("v", g.constant({1.0F, 2.0F}));
  const Value added[] = {v, v + v};
  const Value assign = g.add(kAssign, added, {}, SourceLine())[0];
  const Cluster cluster = tasks(2);
  Session session(g, cluster);
  RunRequest failing;
  failing.targets = {assign};
  failing.fetches = {v};
  failing.steps = 2;
  failing.on_step = [](std::int64_t, std::span<const Tensor>) {
    throw Error(Code::numeric, "the user's check failed");
  };
  const Error first = error_of_run(session, failing);
  CHECK(first.text().find("the user's check failed") != std::string::npos);
  const Error after = error_of_run(session, request(v, {}));
  CHECK(after.text().find("the user's check failed") != std::string::npos);
  CHECK_THROWS_AS(static_cast<void>(session.variables()), Error);
}

TEST_CASE("what does not fit the graph is not restored, and named") {
  Graph g;
  const Value v = g.variable("v", g.constant({1.0F, 2.0F}));
  const Cluster cluster = tasks(2);
  Session session(g, cluster);
  try {
    session.restore({{"w", pair()}});
    FAIL("restored");
  } catch (const Error& error) {
    CHECK(error.code() == Code::file);
    CHECK(error.text().find("missing: v") != std::string::npos);
    CHECK(error.text().find("extra: w") != std::string::npos);
  }
  session.restore({{"v", pair()}});
  CHECK(session.run({v})[0].str() == "[1 2]");
}

TEST_CASE("plans that lay a variable differently take turns") {
  Graph g;
  const MeshId all = g.mesh("dp");
  const Value v = g.variable("v", g.constant({1.0F, 2.0F, 3.0F, 4.0F}));
  Value twice, split;
  {
    const Scope here = g.on(all);
    split = (v + 0.0).laid({ferry::split(0)});
    twice = split + split;
  }
  Value alone;
  {
    const Scope here = g.device("/task:1");
    alone = v + 1.0;
  }
  const Cluster cluster = tasks(3, std::chrono::seconds(5));
  Session session(g, cluster);
  for (int round = 0; round < 4; ++round) {
    CHECK(session.run({twice})[0].str() == "[2 4 6 8]");
    CHECK(session.run({alone})[0].str() == "[2 3 4 5]");
  }
}

TEST_CASE("a trace has every task, and an arrow for each message") {
  const std::string path = (std::filesystem::temp_directory_path() / "ferry_session_trace.json").string();
  Graph g;
  const Value x = g.input("x", DType::float32, {2});
  Value y;
  {
    const Scope here = g.device("/task:1");
    y = x + x;
  }
  {
    const Cluster cluster = tasks(2);
    SessionOptions options;
    options.run.trace_file = path;
    Session session(g, cluster, options);
    RunRequest twice = request(y, {{"x", pair()}});
    twice.steps = 2;
    session.run(twice);
  }
  std::ifstream file(path);
  const auto events = nlohmann::json::parse(file);
  std::set<std::string> starts, ends;
  std::set<int> tasks_seen;
  for (const auto& event : events) {
    tasks_seen.insert(event["pid"].get<int>());
    if (event["ph"] == "s") starts.insert(event["id"].get<std::string>());
    if (event["ph"] == "f") ends.insert(event["id"].get<std::string>());
  }
  CHECK(tasks_seen == std::set<int>{0, 1});
  CHECK(starts.size() == 4);  // to task 1 and back, twice
  CHECK(starts == ends);
  std::filesystem::remove(path);
}

TEST_CASE("a session is not closed by the callback of its own run") {
  Graph g;
  const Value y = (g.constant(Tensor::of<float>({2}, {1, 2})) * 2.0).named("y");
  Session session(g, tasks(2));
  RunRequest request;
  request.fetches = {y};
  std::string said;
  request.on_step = [&](std::int64_t, std::span<const Tensor>) {
    try {
      session.close();
    } catch (const Error& error) {
      said = error.text();
      CHECK(error.code() == Code::usage);
    }
  };
  CHECK(session.run(request)[0].data<float>()[1] == 4);
  CHECK(said.find("it cannot be closed by its own callback") != std::string::npos);
  CHECK(session.run({y})[0].data<float>()[0] == 2);
}

TEST_CASE("what fails with the code of success has failed, and long texts are cut") {
  const auto thrown = [](const auto& what) {
    try {
      throw what;
    } catch (...) {
      return std::current_exception();
    }
  };
  CHECK(as_error(thrown(Error(Code::ok, "all is well")), Code::program, "its code").code() == Code::program);
  CHECK(as_error(thrown(Error(Code::file, "no file")), Code::program, "its code").code() == Code::file);
  const Error cut = as_error(thrown(std::runtime_error(std::string(100000, 'x'))), Code::program, "its code");
  CHECK(cut.text().size() < 2100);
}

TEST_CASE("a size that is not known may be 1 where another value has more") {
  Graph g;
  const Value p = g.input("p", DType::float64, {"n", 3});
  const Value q = g.constant(Tensor::of<double>({2, 3}, {1, 2, 3, 4, 5, 6}));
  const Value loss = sum(maximum(p, q) * p);
  const Value gradient = gradients(loss, Values{p})[0];
  CHECK(gradient.shape().str() == p.shape().str());
  Session session(g, tasks(1));
  // The gradient of max(p, q) p is max(p, q), and p more where p is the greater; it is summed over the rows of q.
  const std::vector<Tensor> one = session.run({loss, gradient}, {{"p", Tensor::of<double>({1, 3}, {3, 3, 3})}});
  CHECK(one[0].data<double>()[0] == 3 * (3 + 3 + 3 + 4 + 5 + 6));
  CHECK(one[1].sizes() == std::vector<std::int64_t>{1, 3});
  CHECK(one[1].data<double>()[0] == 3 + 4 + 3);
  CHECK(one[1].data<double>()[2] == 3 + 6 + 3);
  const std::vector<Tensor> two =
      session.run({loss, gradient}, {{"p", Tensor::of<double>({2, 3}, {3, 3, 3, 3, 3, 3})}});
  CHECK(two[1].sizes() == std::vector<std::int64_t>{2, 3});
  CHECK(two[1].data<double>()[3] == 4);
}
