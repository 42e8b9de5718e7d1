// Faults of programs that use a session, by their numbers in README.md.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <tuple>

#include "base/files/files.hpp"
#include "base/files/npy.hpp"
#include "executor/run/messages.hpp"
#include "executor/session/session.hpp"
#include "kernels/kernel.hpp"
#include "ops/array/indexing.hpp"
#include "ops/control/state.hpp"
#include "ops/data/data.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

Cluster tasks(int count) {
  ClusterOptions options;
  options.tasks = count;
  options.transport = "inproc";
  return Cluster::connect(options);
}

struct Fixture {
  Graph g;
  Value x = g.input("x", DType::float32, {2});
  Value y = (x + x).named("y");
};

TEST_CASE("030 a data file that is cut while a session reads it: the steps go on, or say so") {
  const test::TempFolder folder;
  const Tensor rows = Tensor::of<float>({4, 1}, {1, 2, 3, 4});
  write_npy(local_files(), folder / "x.npy", "<f4", rows.sizes(), rows.bytes());
  Graph g;
  const Value x = read_npy(g, "x.npy", DType::float32, {4, 1});
  const Value total = sum(x).named("total");
  SessionOptions options;
  options.run.data_folder = folder.path();
  Session session(g, tasks(2), options);
  CHECK(session.run({total})[0].data<float>()[0] == 10);
  std::filesystem::resize_file(folder / "x.npy", 3);
  CHECK(session.run({total})[0].data<float>()[0] == 10);
  Session fresh(g, tasks(1), options);
  const Error error = test::error_of([&] { static_cast<void>(fresh.run({total})); });
  CHECK(error.code() == Code::file);
  CHECK(error.text().find("x.npy") != std::string::npos);
}

TEST_CASE("057 a value inside a body cannot be fetched") {
  Fixture f;
  Graph& body = f.g.add_subgraph("body");
  const Value inside = body.parameter(f.x.type(), {"m.cpp", 1});
  Session session(f.g, tasks(1));
  const Error error = test::error_of([&] { static_cast<void>(session.run({inside}, {})); });
  CHECK(error.code() == Code::usage);
  CHECK(session.run({f.y}, {{"x", Tensor::of<float>({2}, {1, 2})}})[0].data<float>()[1] == 4);
}

TEST_CASE("058 a second run at once is refused, and the first goes on") {
  Fixture f;
  Session session(f.g, tasks(2));
  Error second(Code::ok, "");
  RunRequest request;
  request.fetches = {f.y};
  request.feeds = {{"x", Tensor::of<float>({2}, {1, 2})}};
  request.on_step = [&](std::int64_t, std::span<const Tensor>) {
    second = test::error_of([&] { static_cast<void>(session.run({f.y}, request.feeds)); });
  };
  CHECK(session.run(request)[0].data<float>()[0] == 2);
  CHECK(second.code() == Code::usage);
  CHECK(second.text().find("running already") != std::string::npos);
}

TEST_CASE("059 a run after close is refused") {
  Fixture f;
  Session session(f.g, tasks(1));
  session.close();
  const Error error = test::error_of([&] {
    static_cast<void>(session.run({f.y}, {{"x", Tensor::of<float>({2}, {1, 2})}}));
  });
  CHECK(error.code() == Code::usage);
  CHECK(error.text().find("closed") != std::string::npos);
}

TEST_CASE("078 after a kernel threw the session refuses to run and to save") {
  Graph g;
  const Value index = g.input("index", DType::int32, {1});
  const Value table = g.constant({1, 2, 3}, on("/task:1"));
  static_cast<void>(g.variable("state", g.constant(0.0)));
  Value picked;
  {
    const auto there = g.device("/task:1");
    picked = gather(table, index, 0).named("picked");
  }
  Session session(g, tasks(2));
  const auto pick = [&](std::int32_t i) {
    return session.run({picked}, {{"index", Tensor::of<std::int32_t>({1}, {i})}});
  };
  CHECK(pick(1)[0].data<std::int32_t>()[0] == 2);
  const Error error = test::error_of([&] { static_cast<void>(pick(7)); });
  CHECK(error.code() == Code::usage);
  CHECK(error.text().find("picked") != std::string::npos);
  CHECK(test::error_of([&] { static_cast<void>(pick(1)); }).code() == Code::usage);
  CHECK(test::error_of([&] { static_cast<void>(session.variables()); }).code() == Code::usage);
}

constexpr OpDef kOwn{.name = "Own", .types = "T->T", .T = kFloats, .index = "n->n"};

/// What the op does besides passing its input on.
std::function<void()> own_code;

void own(KernelRun& run) {
  for (std::int64_t i = 0; i < run.outputs[0].count(); ++i)
    run.outputs[0].as<float>()[i] = run.inputs[0].as<float>()[i];
  own_code();
}

constexpr Kernel kOwnKernels[] = {{.op = "Own", .run = own}};

TEST_CASE("107 an op of the user's that throws, whatever it throws, ends the run and is named; the cluster goes on") {
  KernelTable kernels = cpu_kernels();
  kernels.add(kOwnKernels);
  SessionOptions options;
  options.run.kernels = &kernels;
  Graph g;
  const Value x = g.input("x", DType::float32, {2});
  Value y;
  {
    const auto there = g.device("/task:1");
    const Value inputs[] = {x};
    y = g.add(kOwn, inputs, {}, source_location::current())[0].named("mine");
  }
  const Value z = y + x;
  const TensorMap feeds{{"x", Tensor::of<float>({2}, {1, 2})}};
  const Cluster cluster = tasks(2);
  const std::tuple<std::function<void()>, std::string_view, Code> thrown[] = {
      {[] { throw std::runtime_error("enough"); }, "its code threw: enough", Code::program},
      {[] { throw 42; }, "its code threw: something that is no std::exception", Code::program},
      {[] { throw Error(Code::numeric, "it is NaN"); }, "it is NaN", Code::numeric},
      {[] { throw std::bad_alloc(); }, "out of memory", Code::resource}};
  for (const auto& [body, text, code] : thrown) {
    own_code = body;
    Session session(g, cluster, options);
    const Error error = test::error_of([&] { static_cast<void>(session.run({z}, feeds)); });
    CHECK(error.code() == code);
    CHECK(test::says(error, "Own \"mine\" on task 1: "));
    CHECK(test::says(error, text));
    CHECK(test::says(error, "session_test.cpp:"));
    own_code = [] {};
    Session next(g, cluster, options);
    CHECK(next.run({z}, feeds)[0].str() == "[2 4]");
  }
}

TEST_CASE("107 a kernel of ferry's that throws what is no Error is a bug in ferry") {
  const auto enough = std::make_exception_ptr(std::runtime_error("enough"));
  CHECK(error_of_kernel(enough, "Add", cpu_kernels()).code() == Code::bug);
  KernelTable kernels = cpu_kernels();
  kernels.add(kOwnKernels);
  CHECK(error_of_kernel(enough, "Add", kernels).code() == Code::bug);
  CHECK(error_of_kernel(enough, "Own", kernels).code() == Code::program);
}

TEST_CASE("107 a callback that throws, whatever it throws, ends the run on all tasks; the cluster goes on") {
  const Fixture f;
  const Cluster cluster = tasks(3);
  RunRequest request;
  request.fetches = {f.y};
  request.steps = 1000;
  request.feeds = {{"x", Tensor::of<float>({2}, {1, 2})}};
  request.on_step = [](std::int64_t step, std::span<const Tensor>) {
    if (step == 2) throw 42;
  };
  Session session(f.g, cluster);
  CHECK_THROWS_AS(static_cast<void>(session.run(request)), int);
  CHECK(test::says(test::error_of([&] { static_cast<void>(session.run(request)); }), "has failed"));
  Session next(f.g, cluster);
  CHECK(next.run({f.y}, request.feeds)[0].str() == "[2 4]");
}

TEST_CASE("108 a child of fork() gets an error, and harms nothing") {
  const Fixture f;
  const TensorMap feeds{{"x", Tensor::of<float>({2}, {1, 2})}};
  auto cluster = std::make_unique<Cluster>(tasks(2));
  auto session = std::make_unique<Session>(f.g, *cluster);
  CHECK(session->run({f.y}, feeds)[0].str() == "[2 4]");
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);  // ends a child that waits for ever
    const Error error = test::error_of([&] { static_cast<void>(session->run({f.y}, feeds)); });
    const Error fresh = test::error_of([&] { static_cast<void>(Session(f.g, *cluster)); });
    session.reset();
    cluster.reset();
    const auto told = [](const Error& e) {
      return e.code() == Code::usage && e.text().find("forked") != std::string::npos;
    };
    _exit(told(error) && told(fresh) ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(session->run({f.y}, feeds)[0].str() == "[2 4]");
}

TEST_CASE("086 a session that goes while a run is left by an exception joins its threads") {
  Fixture f;
  {
    Session session(f.g, tasks(3));
    RunRequest request;
    request.fetches = {f.y};
    request.steps = 1000;
    request.feeds = {{"x", Tensor::of<float>({2}, {1, 2})}};
    request.on_step = [](std::int64_t step, std::span<const Tensor>) {
      if (step == 2) throw std::runtime_error("enough");
    };
    CHECK_THROWS(static_cast<void>(session.run(request)));
  }
  Session fresh(f.g, tasks(1));
  CHECK(fresh.run({f.y}, {{"x", Tensor::of<float>({2}, {3, 4})}})[0].data<float>()[0] == 6);
}

}  // namespace
}  // namespace ferry
