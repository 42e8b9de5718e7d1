#include "runner/run/training_loop.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "ops/control/state.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "runner/files/model_files.hpp"
#include "runner/run/run_main.hpp"
#include "tests/support/log_text.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry {
namespace {

/// A step adds the sum of x to w; the entry eval fetches w and a vector.
struct Sums {
  Sums() {
    auto all = graph.on(graph.mesh("t"));
    const Value x = graph.input("x", DType::float32, {"n"}).laid({split(0)});
    const Value w = graph.variable("w", graph.constant(1.0F));
    const Value total = w + sum(x);
    graph.fetch("train", "sum", total);
    graph.target("train", assign(w, total));
    graph.fetch("eval", "w", w);
    graph.fetch("eval", "more", w + x);
  }

  int run(std::vector<std::string> words, const Loop& loop) {
    words.insert(words.begin(), {"program", "--tasks", "2"});
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    return run_main(static_cast<int>(words.size()), argv.data(), graph, loop);
  }

  Graph graph;
};

FeedMap fed(float a, float b) {
  return {{"x", Tensor::of<float>({2}, {a, b})}};
}

TEST_CASE("a program's loop runs the steps of --steps with its own feeds, and its model is saved") {
  const test::TempFolder folder;
  const std::string model = folder / "model", metrics = folder / "m.jsonl", page = folder / "r.html";
  std::vector<double> sums;
  const int code =
      Sums().run({"--steps", "3", "--save", model, "--metrics", metrics, "--report", page}, [&](TrainingLoop& loop) {
        CHECK(loop.total() == 3);
        while (loop.step(fed(static_cast<float>(loop.done()), 1))) sums.push_back(loop.fetched("sum").number(0));
        CHECK(loop.done() == 3);
      });
  CHECK(code == 0);
  CHECK(sums == std::vector<double>{2, 4, 7});
  CHECK(read_model(model).find("w")->second.number(0) == 7);
  CHECK(local_files().read(metrics).text().find("\"sum\":7") != std::string::npos);
  CHECK(local_files().exists(page));
}

TEST_CASE("a program's loop evaluates and stops early") {
  std::int64_t done = 0;
  const int code = Sums().run({"--steps", "100"}, [&](TrainingLoop& loop) {
    while (loop.step(fed(1, 1)))
      if (loop.done() % 2 == 0 && loop.evaluate("w", fed(0, 0)) > 8) break;
    done = loop.done();
  });
  CHECK(code == 0);
  CHECK(done == 4);
}

TEST_CASE("a program's loop continues from a checkpoint") {
  const test::TempFolder folder;
  const std::string saved = folder / "saved";
  std::vector<std::int64_t> begins;
  double last = 0;
  const auto loop = [&](TrainingLoop& steps) {
    begins.push_back(steps.done());
    while (steps.step(fed(static_cast<float>(steps.done()), 0))) last = steps.fetched("sum").number(0);
  };
  CHECK(Sums().run({"--steps", "2", "--checkpoint", saved}, loop) == 0);
  CHECK(Sums().run({"--steps", "4", "--checkpoint", saved, "--resume"}, loop) == 0);
  CHECK(begins == std::vector<std::int64_t>{0, 2});
  CHECK(last == 1 + 0 + 1 + 2 + 3);
  CHECK(Sums().run({"--steps", "4", "--checkpoint", saved, "--resume", "--report", folder / "r.html"}, loop) == 0);
  CHECK(begins.back() == 4);
}

TEST_CASE("mistakes in a program's loop end the run with what to do") {
  const auto text_of = [](const Loop& loop) {
    const test::LogText log;
    CHECK(Sums().run({"--steps", "2"}, loop) == static_cast<int>(Code::usage));
    return log.text;
  };
  CHECK(text_of([](TrainingLoop& loop) { static_cast<void>(loop.fetched("sum")); }) ==
        "error: fetched: no step has run yet\n  try: call step() first\n");
  CHECK(text_of([](TrainingLoop& loop) { static_cast<void>(loop.fetched("summ")); }) ==
        "error: the entry 'train' fetches no value 'summ'\n  try: sum?\n");
  CHECK(text_of([](TrainingLoop& loop) { loop.evaluate("loss"); }) ==
        "error: the entry 'eval' fetches no value 'loss'\n  try: it fetches w, more\n");
  CHECK(text_of([](TrainingLoop& loop) { loop.evaluate("more"); }).find("float32[n], which is no scalar") !=
        std::string::npos);
  CHECK(text_of([](TrainingLoop& loop) { loop.step(); }).find("'x'") != std::string::npos);
  const test::LogText log;
  CHECK(Sums().run({}, [](TrainingLoop&) { throw std::runtime_error("enough"); }) == static_cast<int>(Code::program));
  CHECK(log.text == "error: the program threw: enough\n");
}

TEST_CASE("a program says how many steps there are without --steps") {
  ProgramOptions own;
  own.steps(5);
  std::string name = "program";
  char* words[] = {name.data(), nullptr};
  std::int64_t total = 0;
  const auto make = [](Graph& g, const std::string&) { g.fetch("run", "c", g.constant(1.0F)); };
  CHECK(run_main(1, words, own, make, [&](TrainingLoop& loop) { total = loop.total(); }) == 0);
  CHECK(total == 5);
}

}  // namespace
}  // namespace ferry
