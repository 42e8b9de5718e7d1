// A server and its workers: what a session refuses. servers.cpp tests their results.
#include <doctest/doctest.h>

#include <string>

#include "base/files/files.hpp"
#include "executor/session/checkpoints.hpp"
#include "executor/session/session.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/asynchronous.hpp"
#include "ops/train/optim.hpp"
#include "tests/support/has.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry {
namespace {

struct Served {
  Graph graph;
  RunRequest request;

  Served() {
    Graph& g = graph;
    Value w;
    {
      const Scope server = g.device("/job:ps/task:0");
      w = g.variable("w", g.constant(Tensor(DType::float32, {3})));
    }
    const Scope workers = g.on(g.mesh("workers", "/job:worker/task:*"));
    const Value loss = mean(square(uniform(g, {8, 3}).laid({split(0)}) * w - 1.0));
    request.targets = asynchronous(sgd(loss, {w}, 0.1), {.staleness = 2});
  }

  /// What a run says that replays this record.
  std::string replayed(const std::string& turns, std::int64_t steps = 2) {
    const test::TempFolder folder;
    local_files().write(folder / "turns.0", "ferry turns 1\ntask 0 serves 1 2\n" + turns);
    ClusterOptions job{.tasks = 3, .transport = "inproc"};
    job.jobs = "ps=0,worker=1-2";
    Session session(graph, Cluster::connect(job), {.run = {.replay_turns = folder / "turns"}});
    request.steps = steps;
    try {
      session.run(request);
    } catch (const Error& error) {
      return error.text();
    }
    return "";
  }
};

TEST_CASE("a record that the run cannot follow ends it, with the step") {
  Served served;
  CHECK(served.replayed("step 0: +1 +2 -1 -2\nstep 1: +1 -1 +2 -2\n") == "");
  CHECK(served.replayed("step 0: +1 +1\n").find("in step 0 nothing may be given to task 1") != std::string::npos);
  const std::string taken = served.replayed("step 0: -1\n");
  CHECK(test::has(taken, "is of another run: in step 0 nothing can be taken from task 1"));
  CHECK(taken.starts_with("\""));  // of the record, not of an op
  CHECK(test::has(served.replayed("step 0:\n"), "in step 0 workers are behind"));
  CHECK(test::has(served.replayed("step 0: +1 +2 -1 +1 -1 +1 -1 +1\n"), "nothing may be given to task 1"));
  CHECK(test::has(served.replayed("step 0: +1 +2 -1 -2\n"), "has no turns of step 1"));
}

TEST_CASE("a record in which a worker is lost is followed, and that one makes no more steps") {
  Served served;
  CHECK(served.replayed("step 0: +1 +2 -1 -2\nstep 1: +1 +2 -1 !2\n") == "");
  CHECK(served.replayed("step 0: +1 +2 -1 -2 +2 -2 !2\nstep 1: +1 -1\n") == "");
  CHECK(served.replayed("step 0: !1 +2 -2 +2 -2\nstep 1:\n") == "");
  CHECK(test::has(served.replayed("step 0: +1 +2 !2 -1 -2\n"), "in step 0 nothing can be taken from task 2"));
  CHECK(test::has(served.replayed("step 0: +1 !2 +2 -1\n"), "in step 0 nothing may be given to task 2"));
  CHECK(test::has(served.replayed("step 0: !1 !2\n"), "all workers are lost: the last was task 2"));
  CHECK(test::has(served.replayed("step 0: +1 !2\n"), "in step 0 workers are behind"));
}

TEST_CASE("turns are not replayed where checkpoints are saved, nor recorded at once") {
  Served served;
  const test::TempFolder folder;
  ClusterOptions job{.tasks = 3, .transport = "inproc"};
  job.jobs = "ps=0,worker=1-2";
  Session session(served.graph, Cluster::connect(job), {.run = {.replay_turns = folder / "turns"}});
  Checkpoints checkpoints(session, served.request, {.folder = folder / "saved"});
  served.request.checkpoints = &checkpoints;
  CHECK_THROWS_WITH(session.run(served.request),
                    doctest::Contains("turns are replayed, and checkpoints are to be saved"));
  const SessionOptions both{.run = {.record_turns = folder / "a", .replay_turns = folder / "b"}};
  CHECK_THROWS_WITH(Session(served.graph, Cluster::connect(job), both),
                    doctest::Contains("recorded and replayed at once"));
}

}  // namespace
}  // namespace ferry
