#include "runner/files/saved_model.hpp"

#include <doctest/doctest.h>

#include "base/files/files.hpp"
#include "graph/file/tensor_file.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/array/array.hpp"
#include "ops/control/state.hpp"
#include "ops/math/math.hpp"
#include "tests/executor/in_processes.hpp"
#include "tests/support/log_text.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

/// A variable that is split over the tasks, and the op that doubles it.
struct Model {
  Model() {
    auto all = graph.on(graph.mesh("t"));
    w = graph.variable("w", graph.constant({1.0, 2.0, 3.0})).laid({split(0)});
    twice = assign(w, w + w);
  }
  Graph graph;
  Value w, twice;
};

TEST_CASE("a session's variables are saved and loaded, by all tasks of a job") {
  const test::TempFolder folder;
  const std::string model = folder / "model";
  test::in_processes(3, [&](int rank, const Cluster& cluster) {
    const Model m;
    Session session(m.graph, cluster);
    session.run(RunRequest{.targets = {m.twice}});
    save(session, model);
    session.run(RunRequest{.targets = {m.twice}});
    load(session, model);
    const Tensor w = session.run({m.w})[0];
    if (rank == 0) CHECK(w.number(2) == 6);
    save(session, model);  // in place of the other
  });
  test::in_processes(2, [&](int rank, const Cluster& cluster) {
    const Model m;
    Session session(m.graph, cluster);
    load(session, model);
    const Tensor w = session.run({m.w})[0];
    if (rank == 0) CHECK(w.number(1) == 4);
  });
}

TEST_CASE("what keeps a model from being saved or loaded is the same error on all tasks") {
  const test::TempFolder folder;
  local_files().write(folder / "notes.txt", "years");
  test::in_processes(2, [&](int, const Cluster& cluster) {
    const Model m;
    Session session(m.graph, cluster);
    session.run(RunRequest{.targets = {m.twice}});
    const Error saved = test::error_of([&] { save(session, folder / "."); });
    CHECK(saved.code() == Code::usage);
    CHECK(test::says(saved, "it exists and is not a saved model"));
    CHECK(test::says(test::error_of([&] { save(session, ""); }), "the name of the folder is empty"));
    const Error loaded = test::error_of([&] { load(session, folder / "none"); });
    CHECK(loaded.code() == Code::file);
    CHECK(session.run(RunRequest{.fetches = {m.w}, .targets = {m.twice}}).size() == 1);
  });
  CHECK(local_files().read(folder / "notes.txt").text() == "years");
}

TEST_CASE("a model of another graph is not loaded") {
  const test::TempFolder folder;
  const std::string model = folder / "model";
  test::in_processes(2, [&](int, const Cluster& cluster) {
    const Model m;
    Session session(m.graph, cluster);
    session.run(RunRequest{.targets = {m.twice}});
    save(session, model);
    Graph g;
    const Value v = g.variable("v", g.constant({1.0}));
    Session other(g, cluster);
    const Error error = test::error_of([&] { load(other, model); });
    CHECK(error.code() == Code::file);
    CHECK(test::says(error, "missing: v"));
    CHECK(other.run({v}).size() == 1);
  });
}

TEST_CASE("the state of another program is loaded by the names of its tensors") {
  const test::TempFolder folder;
  const std::string file = folder / "state.safetensors";
  const test::LogText log;
  write_tensors(local_files(), file, {{"w", Tensor::of<float>({3}, {7, 8, 9})}});
  test::in_processes(2, [&](int rank, const Cluster& cluster) {
    Model m;
    const Value count = m.graph.variable("count", m.graph.constant(5));
    Session session(m.graph, cluster);
    load_state(session, file);
    const std::vector<Tensor> now = session.run({m.w, count});
    if (rank == 0) CHECK(now[0].str() + now[1].str() == "[7 8 9]5");
    Graph g;
    const Value v = g.variable("w", g.constant({1.0}));
    Session other(g, cluster);
    const Error error = test::error_of([&] { load_state(other, file); });
    CHECK(error.code() == Code::file);
    CHECK(test::says(error, "differs: w is float32[1] in the graph, float32[3] in the file"));
    CHECK(test::says(test::error_of([&] { load_state(other, folder / "none"); }), "none"));
    CHECK(other.run({v}).size() == 1);
  });
  CHECK(log.text.find("lacks variables, which keep their values: count") != std::string::npos);
}

TEST_CASE("a graph that only predicts takes its variables from the model of a whole training") {
  const test::TempFolder folder;
  const std::string model = folder / "model", file = model + "/variables.safetensors";
  test::in_processes(2, [&](int rank, const Cluster& cluster) {
    Model trained;
    const Value state = trained.graph.variable("w/adam_m", trained.graph.constant(5));
    Session training(trained.graph, cluster);
    training.run({.targets = {assign(state, state + 1)}});
    save(training, model);
    Graph g;
    const Value w = g.variable("w", g.constant({0.0, 0.0, 0.0})), wrong = g.variable("w/adam_n", g.constant(5));
    Graph predicting;
    const Value read = predicting.variable("w", predicting.constant({0.0, 0.0, 0.0}));
    Session session(predicting, cluster);
    load(session, model);
    const std::vector<Tensor> now = session.run({read});
    if (rank == 0) CHECK(now[0].str() == "[1 2 3]");
    CHECK(test::says(test::error_of([&] { load_state(session, file); }), "has the name of the tensor \"w/adam_m\""));
    Session other(g, cluster);
    CHECK(test::says(test::error_of([&] { load(other, model); }), "missing: w/adam_n"));
    CHECK(test::says(test::error_of([&] { load_state(other, file); }), "did you mean \"w/adam_n\"?"));
    CHECK(other.run({w, wrong}).size() == 2);
  });
}

}  // namespace
}  // namespace ferry
