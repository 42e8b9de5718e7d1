// Microbatches: their results equal the batch's results, and values that cannot be cut are reported.
#include "ops/train/pipeline.hpp"

#include <doctest/doctest.h>

#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/control/label_ops.hpp"
#include "ops/control/state.hpp"
#include "ops/data/data.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/layers.hpp"
#include "ops/nn/nn.hpp"
#include "ops/train/loss.hpp"
#include "ops/train/stages/cut_stages.hpp"
#include "tests/ops/support.hpp"
#include "tests/support/evaluate.hpp"

namespace ferry {
namespace {

using test::error_of;
using test::Evaluator;
using test::some;

std::string said(const Value& value, const PipelineOptions& options) {
  return error_of([&] { static_cast<void>(pipeline(value, options)); });
}

TEST_CASE("the mean of microbatches and its gradients are those of the batch") {
  Graph g;
  const Value x = g.input("x", DType::float64, {"batch", 5}), wanted = g.input("wanted", DType::float64, {"batch", 3});
  const Value w = g.constant(some({5, 3})), b = g.constant(some({3}, 0.7));
  const Value y = tanh(matmul(x, w) + b);
  const Value whole = mean(square(y - wanted)), other = mean(abs(y));
  for (const auto& sizes : {std::pair<std::int64_t, int>{12, 1}, {12, 2}, {12, 3}, {12, 12}, {7, 2}, {7, 3}, {2, 5}}) {
    const auto rows = sizes.first;
    const int microbatches = sizes.second;
    CAPTURE(rows);
    CAPTURE(microbatches);
    const Evaluator::Feeds feeds{{"x", some({rows, 5}, 0.1)}, {"wanted", some({rows, 3}, 0.2)}};
    const Values means = pipeline(Values{whole, other}, {.microbatches = microbatches});
    const Values wanted_gradients = gradients(whole + other, {w, b}),
                 got_gradients = gradients(means[0] + means[1], {w, b});
    const std::vector<Tensor> results = Evaluator(g).run({whole, other, wanted_gradients[0], wanted_gradients[1],
                                                          means[0], means[1], got_gradients[0], got_gradients[1]},
                                                         feeds);
    for (std::size_t k = 0; k < 4; ++k)
      for (std::int64_t i = 0; i < results[k].count(); ++i)
        CHECK(results[k + 4].number(i) == doctest::Approx(results[k].number(i)));
  }
}

TEST_CASE("a microbatch has every m-th row, and the numbers that are drawn for its rows") {
  Graph g;
  const Value x = g.constant(some({8, 4}));
  const Values rows = batch({x}, 8, {.shuffle = false});
  const Value kept = nn::dropout(rows[0], 0.5, nn::Phase::train);
  const Value loss = mean(kept);
  const Value halves = pipeline(loss, {.microbatches = 2});
  Evaluator evaluator(g);
  for (int step = 0; step < 3; ++step) {
    const std::vector<Tensor> results = evaluator.run({loss, halves});
    CHECK(results[1].number(0) == doctest::Approx(results[0].number(0)));
  }
}

TEST_CASE("what is named as the batch is cut, and nothing else") {
  Graph g;
  const Value x = g.input("x", DType::float64, {4, 2}), table = g.input("table", DType::float64, {2, 2});
  const Value y = sum(matmul(x, table), {1});
  const Value loss = mean(y);
  const Value halves = pipeline(loss, {.microbatches = 2, .batch = {x}});
  const std::vector<Tensor> results =
      Evaluator(g).run({loss, halves}, {{"x", some({4, 2})}, {"table", some({2, 2}, 0.9)}});
  CHECK(results[1].number(0) == doctest::Approx(results[0].number(0)));
  CHECK(said(loss, {.microbatches = 2}).find("MatMul") != std::string::npos);  // the table is an input, too
}

TEST_CASE("microbatches of different numbers of rows count by their rows") {
  Graph g;
  const Value x = g.input("x", DType::float64, {7, 2});
  const Value loss = mean(square(x));
  const Value thirds = pipeline(loss, {.microbatches = 3});
  const std::vector<Tensor> results = Evaluator(g).run({loss, thirds}, {{"x", some({7, 2})}});
  CHECK(results[1].number(0) == doctest::Approx(results[0].number(0)));
}

/// Losses of rows x [n,5] with labels [n], by a layer that is trained; some labels do not count.
struct Losses {
  Graph g;
  Value x = g.input("x", DType::float64, {"n", 5}), labels = g.input("labels", DType::int32, {"n"});
  Value w = g.variable("w", g.constant(some({5, 3})));
  Value logits = matmul(x, w);
  Value masked = nll_loss(log_softmax(logits, 1), labels, {.ignored = -1});

  /// Checks that microbatches give the value and its gradient that the batch gives.
  void check(const Value& whole) {
    for (const std::int64_t rows : {6, 7, 3}) {
      CAPTURE(rows);
      std::vector<std::int32_t> given(static_cast<std::size_t>(rows), -1);
      for (std::size_t i = 0; i < given.size(); i += 1 + i % 3) given[i] = static_cast<std::int32_t>(i % 3);
      const Evaluator::Feeds feeds{{"x", some({rows, 5}, 0.1)}, {"labels", Tensor::of<std::int32_t>({rows}, given)}};
      const Value parts = pipeline(whole, {.microbatches = 3});
      const std::vector<Tensor> got =
          Evaluator(g).run({whole, parts, gradients(whole, {w})[0], gradients(parts, {w})[0]}, feeds);
      CHECK(got[1].number(0) == doctest::Approx(got[0].number(0)));
      for (std::int64_t i = 0; i < got[2].count(); ++i) CHECK(got[3].number(i) == doctest::Approx(got[2].number(i)));
    }
  }
  std::string refusal(const Value& whole) {
    return error_of([&] { static_cast<void>(pipeline(whole, {.microbatches = 3})); });
  }
};

TEST_CASE_FIXTURE(Losses, "losses that are no plain means are those of the batch, and so are their gradients") {
  check(masked);
  check(nll_loss(log_softmax(logits, 1), labels, {Reduction::sum, {}, -1}));
  check(sum(square(logits)));
  check(sqrt(mean(square(logits))));
  check(mean(mean(square(logits), {0})));
  check(0.5 * masked + mean(square(logits)) + 0.01 * sum(square(w)));
  check(sum(matmul(logits, logits, true, false)));
  const Value mask = cast(not_equal(labels, -1), DType::float64);
  check(sum(mean(square(logits), {1}) * mask) / maximum(sum(mask), 1));
  check(square(mean(logits)) - sum(logits) / sum(exp(logits)));
}

TEST_CASE_FIXTURE(Losses, "what does not follow from parts of the batch is refused at its line") {
  const std::string largest = refusal(max(logits) * 2);
  CHECK_MESSAGE(largest.starts_with("pipeline: max (Max)"), largest);
  CHECK_MESSAGE(largest.find("is made of all rows of the batch, and is no sum or mean over them") != std::string::npos,
                largest);
  CHECK_MESSAGE(largest.find("\n  at pipeline_test.cpp:") != std::string::npos, largest);
  CHECK_MESSAGE(largest.find("end in sums or means over the rows") != std::string::npos, largest);
  const Value rows = matmul(g.input("rows", DType::float64, {6, 5}), w);
  CHECK(refusal(sum(slice(rows, 0, 0, 1))).find("Slice") != std::string::npos);
  CHECK(refusal(mean(log_sum_exp(logits, {0}))).find("Max") != std::string::npos);
}

TEST_CASE_FIXTURE(Losses,
                  "a divisor that depends on no variable is that of the whole batch: no gradient waits for it") {
  const Value loss = pipeline(masked, {.microbatches = 3});
  static_cast<void>(gradients(loss, {w}));
  const LabelledOps labelled = label_ops(g);
  int divided = 0;
  for (OpId id = 0; id < g.size(); ++id) {
    const Op op = g.op(id);
    if (op.def().name != "Div" || !op.name().starts_with("pipeline/div")) continue;
    ++divided;
    CHECK(labelled.work[g.producer(op.inputs()[1])].of == MicrobatchWork::Of::none);
  }
  CHECK(divided == 1);
}

TEST_CASE("a loop that carries rows of the batch is repeated with fewer rows") {
  Graph g;
  const Values rows = batch({g.constant(some({8, 3}))}, 8, {.shuffle = false});
  const Values end = while_loop(
      {g.constant(0.0), rows[0]}, [](const Values& c) { return c[0] < 3; },
      [](const Values& c) {
        return Values{c[0] + 1, c[1] * 0.5};
      });
  const Value loss = mean(square(end[1]));
  const std::vector<Tensor> results = Evaluator(g).run({loss, pipeline(loss, {.microbatches = 4})});
  CHECK(results[1].number(0) == doctest::Approx(results[0].number(0)));
}

TEST_CASE("a weight is read once on each device, so that one sum of its gradients leaves it") {
  Graph g;
  const Value x = g.input("x", DType::float64, {6, 2});
  const Value w = g.variable("w", g.constant(some({2, 2})));
  const Value y = matmul(matmul(x, w), w);
  static_cast<void>(pipeline(mean(y), {.microbatches = 3}));
  int read = 0;
  for (OpId id = 0; id < g.size(); ++id)
    for (const ValueId input : g.op(id).inputs())
      read += input == w.id() && g.op(id).name().find("pipeline") != std::string_view::npos ? 1 : 0;
  CHECK(read == 1);
}

TEST_CASE("a chain of ops is cut into parts of about the same time, where little goes from part to part") {
  using Parts = std::vector<std::size_t>;
  const std::vector<std::int64_t> uneven{1, 1, 1, 1, 8, 1, 1, 1, 1}, kept(9, 1);
  CHECK(cut_evenly(uneven, kept, 1) == Parts{0});
  CHECK(cut_evenly(uneven, kept, 3) == Parts{0, 4, 5});
  std::vector<std::int64_t> layers(9, 4), between(8, 9);
  layers.push_back(0);  // the loss, a scalar
  between.insert(between.end(), {1, 0});
  CHECK(cut_evenly(layers, between, 4).back() < 9);
  CHECK(cut_evenly(uneven, kept, 9) == Parts{0, 1, 2, 3, 4, 5, 6, 7, 8});
  const std::vector<std::int64_t> even(40, 100);
  std::vector<std::int64_t> bytes(40, 10);
  bytes[20] = 1;
  bytes[25] = 0;  // too far from the middle
  CHECK(cut_evenly(even, bytes, 2) == Parts{0, 21});
  CHECK(cut_evenly(std::vector<std::int64_t>(4, 0), std::vector<std::int64_t>(4, 0), 4) == Parts{0, 1, 2, 3});
}

std::vector<OpId> ops_of(const Values& values) {
  std::vector<OpId> ops;
  for (const Value& value : values) ops.push_back(value.op().id());
  return ops;
}

TEST_CASE("stages are cut by the work of convolutions and poolings, not by their number") {
  Graph g;
  const Value x = g.input("x", DType::float32, {8, 1, 32, 32});
  const auto filter = [&](Ints sizes) { return g.constant(Tensor(DType::float32, std::move(sizes))); };
  Values layers{conv2d(x, filter({16, 1, 3, 3}), {.padding = same_padding(3)})};
  layers.push_back(max_pool2d(layers.back(), {2, 2}, {.strides = {2, 2}}));
  for (int k = 0; k < 2; ++k)
    layers.push_back(conv2d(layers.back(), filter({16, 16, 3, 3}), {.padding = same_padding(3)}));
  CHECK(cut_into_stages(g, ops_of(layers), 2, {}) == std::vector<std::size_t>{0, 3});
}

TEST_CASE("the gradients of a layer's inputs and weights count in its stage") {
  Graph g;
  Values layers{g.input("x", DType::float32, {64, 256})};
  for (int k = 0; k < 5; ++k) {
    const Value w = g.constant(Tensor(DType::float32, {256, 256}));
    layers.push_back(matmul(layers.back(), k < 3 ? w : g.variable("w" + std::to_string(k), w)));
  }
  layers.erase(layers.begin());
  CHECK(cut_into_stages(g, ops_of(layers), 2, {}) == std::vector<std::size_t>{0, 4});  // of 1, 1, 1, 2 and 3 products
}

TEST_CASE("stages are cut by memory traffic, which fused values do not cause") {
  Graph g;
  const Value x = g.input("x", DType::float32, {512, 512});
  Values chain{relu(x)};
  for (int k = 1; k < 12; ++k) chain.push_back(relu(chain.back()));
  for (int k = 0; k < 2; ++k) chain.push_back(transpose(chain.back()));
  CHECK(cut_into_stages(g, ops_of(chain), 2, {}) == std::vector<std::size_t>{0, 12});
}

TEST_CASE("chosen stages have the variables that they read, and the first one the batch") {
  Graph g;
  const Value data = g.constant(Tensor(DType::float32, {64, 256}));
  Value x = batch({data}, 32)[0];
  const Value rows = x;
  Values weights;
  for (int layer = 0; layer < 5; ++layer) {
    weights.push_back(g.variable("w" + std::to_string(layer), g.constant(Tensor(DType::float32, {256, 256}))));
    x = tanh(matmul(x, weights.back()));
  }
  const Value tied = mean(square(matmul(x, weights[0])));
  const Value loss = pipeline(tied, {.microbatches = 4, .batch = {}, .stages = 3});
  const auto task_of = [](const Value& value) { return value.op().annotation().device.str(); };
  CHECK(task_of(rows) == "/task:0");
  CHECK(task_of(weights[0]) == "/task:0");
  CHECK(task_of(weights[1]) == "/task:0");
  CHECK(task_of(weights[2]) == "/task:1");
  CHECK(task_of(weights[3]) == "/task:1");
  CHECK(task_of(weights[4]) == "/task:2");
  CHECK(task_of(loss) == "/task:2");
  CHECK(task_of(gradients(loss, {weights[3]})[0]) == "/task:1");
}

TEST_CASE("where stages cannot be chosen it is said") {
  Graph g;
  const Value x = g.input("x", DType::float32, {6, 2});
  const auto asked = [](std::int64_t stages) {
    return PipelineOptions{.microbatches = 2, .batch = {}, .stages = stages};
  };
  CHECK(said(mean(square(x)), asked(-1)).starts_with("pipeline: -1 stages of "));
  CHECK(said(mean(square(x)), asked(100)).starts_with("pipeline: 100 stages of "));
  const Scope here = g.device("/task:1");
  CHECK(said(mean(square(x)), asked(2)).find("is annotated, so its stage cannot be chosen") != std::string::npos);
}

TEST_CASE("what cannot be cut is said") {
  Graph g;
  const Value x = g.input("x", DType::float32, {6, 2});
  const Value loss = mean(square(x));
  CHECK(said(loss, {.microbatches = 0}).starts_with("pipeline: 0 microbatches; there may be 1 to 65536\n  at "));
  CHECK(said(loss, {.microbatches = 7}).find("float32[6,2], cannot be cut into 7 microbatches\n") != std::string::npos);
  CHECK(said(loss, {.microbatches = std::int64_t{1} << 62}).find("there may be 1 to 65536") != std::string::npos);
  CHECK(said(loss, {.batch = {Value()}}).find("a value of the batch is undefined") != std::string::npos);
  const Value twice = pipeline(loss, {.microbatches = 3});
  CHECK(said(twice, {.microbatches = 3}).find("write -1") == std::string::npos);
  CHECK(said(sum(x, {1}), {.microbatches = 2}).find("it is float32[6] of the batch and float32[3] of a part") !=
        std::string::npos);
  CHECK(said(cast(loss, DType::int32), {}).find("is int32[], which has no mean") != std::string::npos);
  CHECK(said(mean(g.constant({1.0})), {}).starts_with("pipeline: the values depend on no batch() and no input"));
  CHECK(said(mean(reshape(x, {6, 2})), {.microbatches = 2}).find("write -1 for the size of the batch") !=
        std::string::npos);
  const Value w = g.variable("w", g.constant({1.0, 1.0}));
  CHECK(said(mean(x * assign(w, mean(x, {0}))), {.microbatches = 2}).find("has state") != std::string::npos);
  CHECK(said(mean(w), {.microbatches = 2, .batch = {x}}).find("does not depend on the batch") != std::string::npos);
  CHECK(error_of([&] { static_cast<void>(pipeline(Values{}, {})); }).starts_with("pipeline: no values"));
}

}  // namespace
}  // namespace ferry
