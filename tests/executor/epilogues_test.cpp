// Epilogues of products and convolutions give the bits of the same ops run one after another, on any number of threads.
// The inputs of a concat are made in their places in its output; constant filters are packed once.
#include "executor/fused/epilogue.hpp"

#include <doctest/doctest.h>

#include "executor/session/session.hpp"
#include "ops/array/array.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "tests/support/throws.hpp"
#include "tests/support/verified_plans.hpp"

namespace ferry {
namespace {

std::unique_ptr<Session> session_on(const Graph& g, int threads, std::int64_t fuse_from) {
  SessionOptions options;
  options.plan.fuse_from = fuse_from;
  return std::make_unique<Session>(
      g, Cluster::connect(ClusterOptions{.tasks = 1, .threads = threads, .transport = "inproc", .jobs = ""}), options);
}

RunRequest fetching(std::vector<Value> fetches) {
  RunRequest request;
  request.fetches = std::move(fetches);
  return request;
}

/// Checks that a step with epilogues has the same bits as with every op alone, on one and two threads, and the planned
/// traffic. Returns the kernels of its plan.
std::string same_bits(const Graph& g, const RunRequest& request) {
  const std::vector<Tensor> expected = session_on(g, 1, 0)->run(request);
  std::string kernels;
  for (int threads : {1, 2}) {
    CAPTURE(threads);
    const auto session = session_on(g, threads, 1000);
    kernels = test::kernels_of(session->plan(request).plan);
    const std::vector<Tensor> got = session->run(request);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i].same_bits(expected[i]));
    for (const TaskStats& task : session->stats().tasks) CHECK(task.measured == task.planned);
  }
  return kernels;
}

Value drawn(Graph& g, const std::string& name, const std::vector<std::int64_t>& sizes, DType dtype = DType::float32) {
  return g.variable(name, normal(g, Shape(std::span<const std::int64_t>(sizes)), 0, 1, dtype));
}

TEST_CASE("bias, activation and what is added run on the pieces of a convolution") {
  Graph g;
  const Value x = drawn(g, "x", {2, 8, 19, 23}), w = drawn(g, "w", {40, 8, 3, 3}), bias = drawn(g, "bias", {40, 1, 1});
  const Value more = drawn(g, "more", {2, 40, 19, 23});
  const Value y = relu(conv2d(x, w, {.padding = same_padding(3)}) + bias + more);
  CHECK(same_bits(g, fetching({y})) == "Conv2D+Add+Add+Relu");
  const Value apart = relu(conv2d(x, w, {.strides = {2, 2}}) + bias);
  CHECK(same_bits(g, fetching({apart})) == "Conv2D+Add+Relu");
  const Value few = drawn(g, "few", {3, 8, 1, 1});  // too few channels for a direct convolution
  CHECK(same_bits(g, fetching({relu(conv2d(x, few))})) == "Conv2D+Relu");
  const Value grouped = drawn(g, "grouped", {32, 2, 1, 1});
  CHECK(same_bits(g, fetching({sigmoid(conv2d(x, grouped, {}, 4))})) == "Conv2D+Sigmoid");
  CHECK(same_bits(g, fetching({relu(conv2d_transpose(more, w, {.strides = {2, 1}}))})) == "Conv2DTranspose+Relu");
}

TEST_CASE("products of all ways have epilogues") {
  Graph g;
  const auto dense = [&](std::int64_t m, std::int64_t k, std::int64_t n, bool a, bool b) {
    const std::string name =
        std::to_string(m) + "x" + std::to_string(k) + "x" + std::to_string(n) + (a ? "a" : "") + (b ? "b" : "");
    const Value x = drawn(g, "x" + name, a ? std::vector<std::int64_t>{k, m} : std::vector<std::int64_t>{m, k});
    const Value w = drawn(g, "w" + name, b ? std::vector<std::int64_t>{n, k} : std::vector<std::int64_t>{k, n});
    return relu(matmul(x, w, a, b) + drawn(g, "bias" + name, {n}));
  };
  CHECK(same_bits(g, fetching({dense(200, 30, 70, false, false)})) == "MatMul+Add+Relu");
  CHECK(same_bits(g, fetching({dense(70, 30, 200, false, false)})) == "MatMul+Add+Relu");
  CHECK(same_bits(g, fetching({dense(64, 300, 530, false, true)})) == "MatMul+Add+Relu");
  CHECK(same_bits(g, fetching({dense(100, 1100, 1000, false, false)})) == "MatMul+Add+Relu");
  CHECK(same_bits(g, fetching({dense(300, 100, 210, true, false)})) == "MatMul+Add+Relu");
  CHECK(same_bits(g, fetching({dense(150, 800, 1100, false, false)})) == "MatMul+Add+Relu");
  CHECK(same_bits(g, fetching({dense(130, 300, 330, false, false)})) == "MatMul+Add+Relu");
  const Value batch = drawn(g, "batch", {3, 40, 30}), other = drawn(g, "other", {3, 30, 50});
  CHECK(same_bits(g, fetching({exp(matmul(batch, other))})) == "MatMul+Exp");
}

TEST_CASE("small products with epilogues, side by side, have the same bits on threads of their own") {
  Graph g;
  std::vector<Value> ends;
  const Value x = drawn(g, "x", {32, 32});
  for (int chain = 0; chain < 6; ++chain) {
    const Value w = drawn(g, "w" + std::to_string(chain), {32, 32});
    ends.push_back(tanh(relu(matmul(relu(matmul(x, w) + x), w) - x)));
  }
  ends.push_back(relu(matmul(ends[0], ends[5]) + ends[3]));
  const std::vector<Tensor> expected = session_on(g, 1, 0)->run(fetching(ends));
  const auto session = session_on(g, 2, 1000);
  const Plan plan = session->plan(fetching(ends)).plan;
  const auto elsewhere = [](const Instruction& i) { return i.what == Opcode::tiles && i.strand > 0; };
  CHECK((plan.classes[0].threads == 1 || std::ranges::any_of(plan.classes[0].instructions, elsewhere)));
  for (int round = 0; round < 5; ++round) {
    const std::vector<Tensor> got = session->run(fetching(ends));
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i].same_bits(expected[i]));
  }
}

TEST_CASE("narrow dtypes have epilogues too") {
  Graph g;
  const Value x = drawn(g, "x", {60, 40}, DType::float16), w = drawn(g, "w", {40, 50}, DType::float16);
  CHECK(same_bits(g, fetching({relu(matmul(x, w) + drawn(g, "bias", {50}, DType::float16))})) == "MatMul+Add+Relu");
}

TEST_CASE("the gradient of an activation runs on the pieces of the product behind it") {
  Graph g;
  const Value x = drawn(g, "x", {64, 90}), w1 = drawn(g, "w1", {90, 70}), w2 = drawn(g, "w2", {70, 40});
  const Value loss = sum(matmul(relu(matmul(x, w1)), w2));
  RunRequest request;
  request.fetches = {loss, w1};
  request.targets = momentum({{w1, gradients(loss, {w1})[0]}}, 0.01);
  request.steps = 3;
  CHECK(same_bits(g, request).find("MatMul+ReluGrad") != std::string::npos);
}

TEST_CASE("what is needed as it is stays as it is") {
  Graph g;
  const Value x = drawn(g, "x", {60, 40}), w = drawn(g, "w", {40, 50});
  const Value product = matmul(x, w);
  CHECK(same_bits(g, fetching({product, relu(product)})) == "MatMul, Relu");
  CHECK(same_bits(g, fetching({product * sigmoid(product)})) == "MatMul, Sigmoid+Mul");
  CHECK(same_bits(g, fetching({cast(product, DType::int32)})) == "MatMul, Cast");
}

TEST_CASE("what an epilogue throws names its op and the user's line") {
  Graph g;
  const Value x = g.constant(Tensor(DType::int32, {60, 40})), w = g.constant(Tensor(DType::int32, {40, 50}));
  const Value d = g.input("d", DType::int32, {50});
  const Value quotient = (matmul(x, w) / d).named("quotient");
  RunRequest request = fetching({quotient});
  request.feeds["d"] = Tensor(DType::int32, {50});
  const auto session = session_on(g, 2, 1000);
  if (test::kernels_of(session->plan(request).plan) != "MatMul+Div") return;
  const Error error = test::error_of([&] { session->run(request); });
  CHECK(test::says(error, "Div \"quotient\" on task 0: an integer is divided by zero"));
}

TEST_CASE("joined values are made where they are to lie, where each is one run of bytes") {
  Graph g;
  const Value x = drawn(g, "x", {1, 8, 19, 23}), w = drawn(g, "w", {16, 8, 3, 3}), v = drawn(g, "v", {24, 8, 1, 1});
  const Value a = relu(conv2d(x, w, {.padding = same_padding(3)})), b = conv2d(x, v);
  const Value joined = concat(Values{a, b}, 1);
  CHECK(same_bits(g, fetching({joined})) == "Conv2D+Relu, Conv2D");
  CHECK(same_bits(g, fetching({concat(Values{joined, x * 2.0}, 1), sum(a)})) ==
        "Conv2D+Relu, Conv2D, Mul, Concat, Sum");
  CHECK(same_bits(g, fetching({concat(Values{a, a}, 1)})) == "Conv2D+Relu, Concat");
  CHECK(same_bits(g, fetching({concat(Values{joined, b}, 1)})).find("Concat") != std::string::npos);
  CHECK(same_bits(g, fetching({concat(Values{a, x}, 1)})) == "Conv2D+Relu, Concat");
  CHECK(same_bits(g, fetching({concat(Values{a, a * 2.0}, 3)})) == "Conv2D+Relu, Mul, Concat");
}

TEST_CASE("a constant filter is packed once, to the same bits") {
  Graph g;
  Tensor filter(DType::float32, {40, 8, 3, 3});
  float next = 0;
  for (float& element : filter.mutable_data<float>()) element = (next += 0.37F) > 3 ? next -= 6 : next;
  const Value x = drawn(g, "x", {2, 16, 19, 23});
  const Value given = g.input("filter", DType::float32, {40, 8, 3, 3});
  RunRequest request = fetching({conv2d(x, given, {}, 2)});
  request.feeds["filter"] = filter;
  const std::vector<Tensor> expected = session_on(g, 1, 0)->run(request);
  RunRequest constant = fetching({conv2d(x, g.constant(filter), {}, 2)});
  constant.steps = 2;
  const auto session = session_on(g, 2, 0);
  CHECK(session->run(constant)[0].same_bits(expected[0]));
  CHECK(test::kernels_of(session->plan(constant).plan) == "Conv2D");
  CHECK(test::kernels_of(session->plan(constant).plan, 0).find("Constant, PackedFilter") != std::string::npos);
}

TEST_CASE("a filter of 16 bits is not packed") {
  Graph g;
  const Value x = drawn(g, "x", {2, 8, 19, 23}), w = drawn(g, "w", {16, 8, 3, 3});
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const Value half = conv2d(cast(x, dtype), cast(w, dtype));
    const Value rounded = conv2d(cast(cast(x, dtype), DType::float32), cast(cast(w, dtype), DType::float32));
    const std::vector<Tensor> got = session_on(g, 2, 1000)->run({half, cast(rounded, dtype)});
    CHECK(got[0].same_bits(got[1]));
  }
}

}  // namespace
}  // namespace ferry
