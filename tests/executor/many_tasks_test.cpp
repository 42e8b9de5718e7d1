// Many tasks: their common data are stored once, so planning and running cost time and memory in proportion to the
// number of tasks, not to its square.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>

#include "executor/session/session.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/train/optim.hpp"
#include "placement/planner.hpp"
#include "plan/file/plan_file.hpp"
#include "plan/verify/verify.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/skip.hpp"

namespace ferry {
namespace {

/// A graph and a request for it.
struct Asked {
  std::unique_ptr<Graph> graph = std::make_unique<Graph>();
  RunRequest request;
};

/// Three ops on three tasks.
Asked add() {
  Asked made;
  Graph& g = *made.graph;
  const Value a = g.constant({1, 2, 3}, on("/task:0"));
  const Value b = g.constant({10, 20, 30}, on("/task:1"));
  const Scope here = g.device("/task:2");
  made.request.fetches = {a + b};
  return made;
}

/// A training step on a mesh of two axes: rows of the batch along one, hidden units along the other.
Asked training() {
  Asked made;
  Graph& g = *made.graph;
  const Scope everywhere = g.on(g.mesh({{"dp", Mesh::kOpen}, {"tp", 2}}));
  const Value x = uniform(g, {64, 12}, -1, 1).laid({split(0), replicated()});
  const Value up = g.variable("up", normal(g, {12, 40}, 0, 0.3)).laid({replicated(), split(1)});
  const Value down = g.variable("down", normal(g, {40, 12}, 0, 0.15)).laid({replicated(), split(0)});
  const Value loss = mean(square(matmul(relu(matmul(x, up)), down) - x));
  made.request.fetches = {loss};
  made.request.targets = sgd(loss, {up, down}, 0.5);
  return made;
}

Cluster cluster_of(int tasks) {
  return Cluster::connect(ClusterOptions{.tasks = tasks, .threads = 1, .jobs = ""});
}

/// The plan for the request, made and verified by a new session.
Plan planned(const Asked& asked, int tasks) {
  Session session(*asked.graph, cluster_of(tasks));
  return session.plan(asked.request).plan;
}

/// How many bytes `f` allocates.
template <class F>
std::int64_t bytes_for(const F& f) {
  const std::int64_t before = test::allocated_bytes();
  f();
  return test::allocated_bytes() - before;
}

std::ptrdiff_t threads_now() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

/// While it lives, limits this process's address space to its present size plus `bytes`.
class MoreAddresses {
 public:
  explicit MoreAddresses(std::uint64_t bytes) {
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    REQUIRE(::getrlimit(RLIMIT_AS, &before_) == 0);
    const rlimit limit{pages * 4096 + bytes, before_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_AS, &limit) == 0);
  }
  ~MoreAddresses() { ::setrlimit(RLIMIT_AS, &before_); }
  MoreAddresses(const MoreAddresses&) = delete;
  MoreAddresses& operator=(const MoreAddresses&) = delete;

 private:
  rlimit before_{};
};

constexpr int kMany = 65536;

}  // namespace

TEST_CASE("65,536 tasks are planned and verified in less than 500 MB") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  FERRY_SKIP("a sanitizer needs more addresses");
#endif
  const MoreAddresses limited(500'000'000);
  for (const Asked& asked : {add(), training()}) {
    const Plan plan = planned(asked, kMany);
    CHECK(plan.class_of.size() == kMany);
    CHECK(plan.classes.size() <= 5);
    CHECK(verify(plan).pass);
    const Plan read = decode_plan(encode_plan(plan), "memory");
    CHECK(fingerprint(read) == fingerprint(plan));
  }
}

TEST_CASE("what planning allocates grows as the tasks do") {
  for (const Asked& asked : {add(), training()}) {
    static_cast<void>(planned(asked, 64));  // makes what a process makes only once
    const std::int64_t few = bytes_for([&] { static_cast<void>(planned(asked, 2048)); });
    const std::int64_t many = bytes_for([&] { static_cast<void>(planned(asked, 8192)); });
    CHECK(many < 5 * few);
  }
}

TEST_CASE("a session that plans begins no task") {
  const Asked asked = training();
  Session session(*asked.graph, cluster_of(64));
  const std::ptrdiff_t before = threads_now();
  const Plan& plan = session.plan(asked.request).plan;
  CHECK(threads_now() == before);
  CHECK(session.run(asked.request)[0].defined());  // with that plan
  CHECK(&session.plan(asked.request).plan == &plan);
}

TEST_CASE("wherever memory ends, the run ends at once and says so") {
  const Asked asked = add();
  bool ran = false;
  for (std::int64_t nth = 1; !ran; nth += 7) {
    const test::NoMemoryAt none(nth);  // on this thread, which is task 0's
    try {
      Session session(*asked.graph, cluster_of(4));
      static_cast<void>(session.run(asked.request));
      ran = !none.thrown();
    } catch (const Error& error) {
      CHECK_MESSAGE(error.code() == Code::resource, error.text());
    } catch (const std::bad_alloc&) {
    }
  }
}

TEST_CASE("1,024 tasks run in one process") {
  {
    const Asked asked = add();
    Session session(*asked.graph, cluster_of(1024));
    CHECK(session.run(asked.request)[0].str() == "[11 22 33]");
  }
  const Asked asked = training();
  const auto loss_of = [&](int tasks) {
    Session session(*asked.graph, cluster_of(tasks));
    const double loss = session.run(asked.request)[0].number(0);
    const RunStats stats = session.stats();
    std::int64_t messages = 0;
    for (const TaskStats& task : stats.tasks) {
      CHECK(task.measured == task.planned);
      messages += task.measured.sent_messages;
    }
    // Sums over the 512 tasks along dp take nine rounds, those over the two along tp one or two.
    CHECK(messages < 64 * tasks);
    return loss;
  };
  CHECK(std::abs(loss_of(1024) - loss_of(2)) < 1e-5);
}

TEST_CASE("what a run allocates grows as the tasks do, but for words between all") {
  const Asked asked = training();
  const auto run = [&](int tasks) {
    Session session(*asked.graph, cluster_of(tasks));
    static_cast<void>(session.run(asked.request));
  };
  run(64);
  // When a session begins, every task gets a text of every task: n^2 texts, of 32 bytes each and their contents.
  const std::int64_t few = bytes_for([&] { run(128); });
  const std::int64_t many = bytes_for([&] { run(512); });
  CHECK(many < 6 * few);
}

}  // namespace ferry
