// Loops that never end by themselves, and what ends them.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "base/system/interrupt.hpp"
#include "comm/transport.hpp"
#include "executor/session/session.hpp"
#include "kernels/kernel.hpp"
#include "ops/control/control.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

using test::error_of;
using test::says;

constexpr OpDef kTick{.name = "Tick", .types = "T->T", .T = kFloats, .index = "n->n"};

/// What Tick does besides passing its input on.
std::function<void()> on_tick;

void tick(KernelRun& run) {
  run.outputs[0].as<float>()[0] = run.inputs[0].as<float>()[0];
  on_tick();
}

constexpr Kernel kTicks[] = {{.op = "Tick", .run = tick}};

/// A loop whose condition stays true, on the last task or (`together`) over all, and an op on task 0 that waits for its
/// result.
struct Endless {
  explicit Endless(int tasks, bool together = false) {
    kernels.add(kTicks);
    options.run.kernels = &kernels;
    const std::string last = "/task:" + std::to_string(tasks - 1);
    const Value x = graph.input("x", DType::float32, {4});
    Value found;
    {
      const Scope there = together ? graph.on(graph.mesh("dp")) : graph.device(last);
      const Values ends = while_loop(
          {x}, [](const Values& c) { return less(sum(c[0]), 1.0F); },
          [&](const Values& c) {
            const Value next = together ? c[0] - abs(sum(c[0].laid({split(0)}))) : c[0] - 1.0F;
            const Value inputs[] = {next};
            return Values{next.graph().add(kTick, inputs, {}, source_location::current())[0]};
          });
      found = ends[0];
    }
    const auto here = graph.device("/task:0");
    request.fetches = {found + 1.0F};
    request.feeds = {{"x", Tensor::of<float>({4}, {0, 0, 0, 0})}};
  }

  Graph graph;
  KernelTable kernels = cpu_kernels();
  SessionOptions options;
  RunRequest request;
};

Cluster tasks_with(int tasks, std::chrono::milliseconds deadline) {
  ClusterOptions options;
  options.tasks = tasks;
  options.threads = 1;
  options.transport = "inproc";
  options.deadline = deadline;
  return Cluster::connect(options);
}

void names_the_loop(const Error& error) {
  INFO(error.text());
  CHECK(says(error, "of the loop \"while\" on task "));
  CHECK(says(error, "endless_test.cpp:"));
}

/// Runs `body` for a loop on the only task, for one that another task waits for, and for one that all tasks are in,
/// with messages.
template <class F>
void on_all_kinds(const F& body) {
  struct Kind {
    int tasks;
    bool together;
  };
  for (const Kind& kind : {Kind{1, false}, Kind{2, false}, Kind{3, true}}) {
    CAPTURE(kind.tasks);
    CAPTURE(kind.together);
    body(kind.tasks, kind.together);
  }
}

TEST_CASE("an endless loop ends at the deadline, and is named") {
  on_all_kinds([](int tasks, bool together) {
    Endless endless(tasks, together);
    on_tick = [] {};
    Session session(endless.graph, tasks_with(tasks, std::chrono::milliseconds(1000)), endless.options);
    const Error error = error_of([&] { session.run(endless.request); });
    CHECK(error.code() == Code::stalled);
    CHECK(says(error, "a loop does not end: after 1"));
    names_the_loop(error);
  });
}

TEST_CASE("an endless loop ends with the first signal, and is named") {
  on_all_kinds([](int tasks, bool together) {
    Endless endless(tasks, together);
    std::atomic<int> ticks{0};
    on_tick = [&] {
      if (++ticks == 1000) request_interrupt(SIGTERM);
    };
    Session session(endless.graph, tasks_with(tasks, std::chrono::seconds(60)), endless.options);
    const Error error = error_of([&] { session.run(endless.request); });
    clear_interrupt();
    CHECK(error.code() == Code::interrupted);
    CHECK(says(error, "interrupted by signal 15"));
    if (tasks == 1) names_the_loop(error);
    CHECK(ticks < 1000 + 2 * tasks);
  });
}

TEST_CASE("an endless loop ends with its session") {
  on_all_kinds([](int tasks, bool together) {
    Endless endless(tasks, together);
    std::promise<void> in_loop;
    std::atomic<int> ticks{0};
    on_tick = [&] {
      if (++ticks == 1000) in_loop.set_value();
    };
    auto session =
        std::make_unique<Session>(endless.graph, tasks_with(tasks, std::chrono::seconds(60)), endless.options);
    Error error(Code::ok, "");
    std::thread running([&] { error = error_of([&] { session->run(endless.request); }); });
    in_loop.get_future().wait();
    session.reset();
    running.join();
    CHECK(says(error, "the session was destroyed during a run"));
    if (tasks == 1) names_the_loop(error);
  });
}

TEST_CASE("an endless loop ends when another task fails") {
  Endless endless(2);
  const Cluster cluster = tasks_with(2, std::chrono::seconds(60));
  std::atomic<int> ticks{0};
  on_tick = [&] {
    if (++ticks == 1000) cluster.transport(0).abort({0, Code::numeric, "as asked"});
  };
  Session session(endless.graph, cluster, endless.options);
  CHECK(says(error_of([&] { session.run(endless.request); }), "as asked"));
}

}  // namespace
}  // namespace ferry
