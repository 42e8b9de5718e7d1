// Large kernels, each the only work of a session's step: matrix products, convolutions, a chain of elementwise ops,
// softmax, norms, reductions and a transpose.
#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "base/system/clock.hpp"
#include "bench/benchmark.hpp"
#include "bench/graphs/one_task.hpp"
#include "bench/peers/openblas.hpp"
#include "bench/processes/process.hpp"
#include "ops/array/array.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/nn/norm.hpp"

namespace ferry::bench {
namespace {

// ---- Matrix products, compared with OpenBLAS with the same number of threads ----

std::vector<Figure> matmuls(std::int64_t n, int threads) {
  const auto steps = static_cast<int>(std::max<std::int64_t>(3, (std::int64_t{1} << 31) / (n * n * n)));
  OneOp product(
      {{n, n}, {n, n}}, [](const Values& x) { return matmul(x[0], x[1]); }, threads, steps);
  const double gigaflops = 2e-9 * static_cast<double>(n * n * n);
  const auto ferry = [&] {
    static_cast<void>(product.run());  // wakes the threads before the timing, as for OpenBLAS
    return gigaflops / product.run();
  };
  const auto openblas = product_by_openblas(static_cast<int>(n), threads, steps);
  return {openblas ? compare(kPairs, ferry, [&] { return gigaflops / openblas(); }) : measure_alone(kPairs, ferry)};
}

// ---- Convolutions, compared with PyTorch ----

struct ConvShape {
  std::string name;
  Ints x, w;
  std::int64_t stride, padding;

  [[nodiscard]] std::int64_t groups() const { return x[1] / w[1]; }
};

/// Three figures: the convolution itself, the gradient of its image and the gradient of its filter.
std::vector<Figure> convolutions(const ConvShape& shape) {
  constexpr int kSteps = 10;
  const Sliding sliding{.strides = {shape.stride, shape.stride}, .padding = {shape.padding, shape.padding}};
  const auto forward = [&](const Values& v) { return conv2d(v[0], v[1], sliding, shape.groups()); };
  const auto gradient = [&](std::size_t of) {
    return [&, of](const Values& v) {
      const Value y = forward(v);
      const Value dy = y.graph().variable("dy", normal(y.graph(), y.shape()));
      return pullback({y}, {dy}, Values{v[of]})[0];
    };
  };
  std::vector<Figure> figures;
  const auto measure = [&](const std::string& part, const std::function<Value(const Values&)>& make) {
    OneOp op({shape.x, shape.w}, make, 1, kSteps);
    const auto ferry = [&] { return op.run() * 1e3; };
    const auto pytorch = [&]() -> std::string {
      std::vector<std::string> command{"python3",
                                       "-W",
                                       "ignore",
                                       beside_this_program("conv.py"),
                                       part,
                                       std::to_string(shape.stride),
                                       std::to_string(shape.padding)};
      for (const Ints* sizes : {&shape.x, &shape.w})
        for (std::int64_t size : *sizes) command.push_back(std::to_string(size));
      return run_program(command, {}).output;
    };
    Figure figure =
        pytorch().empty() ? measure_alone(kPairs, ferry) : compare(kPairs, ferry, [&] { return std::stod(pytorch()); });
    figure.part = part;
    figures.push_back(std::move(figure));
  };
  measure("forward", forward);
  measure("input", gradient(0));
  measure("filter", gradient(1));
  return figures;
}

// ---- Elementwise ops, compared with memcpy ----

/// Ten cheap elementwise ops.
Value ten_ops(const Value& x) {
  const Value a = maximum(x * 0.5 + 1.0, -1.0);
  const Value b = relu(-(square(a - 0.25) * 2.0) + 3.0);
  return minimum(b, 2.0);
}

/// memcpy of `elements` floats, on one thread.
class Copying {
 public:
  explicit Copying(std::int64_t elements) : from_(static_cast<std::size_t>(elements), 1), to_(from_.size(), 2) {}
  /// Milliseconds of one copy.
  double operator()() {
    constexpr int kSteps = 5;
    const TimePoint begin = system_clock().now();
    for (int i = 0; i < kSteps; ++i) std::memcpy(to_.data(), from_.data(), from_.size() * sizeof(float));
    return std::chrono::duration<double, std::milli>(system_clock().now() - begin).count() / kSteps;
  }

 private:
  std::vector<float> from_, to_;
};

/// Two figures: with one thread and with two threads.
std::vector<Figure> chains() {
  constexpr std::int64_t kElements = 64 << 18;  // 64 MiB of float32
  Copying copy(kElements);
  std::vector<Figure> figures;
  for (int threads : {1, 2}) {
    OneOp chain(
        {{kElements}}, [](const Values& x) { return ten_ops(x[0]); }, threads, 5);
    Figure figure = compare(
        kPairs, [&] { return chain.run() * 1e3; }, copy);
    figure.part = std::to_string(threads);
    figures.push_back(std::move(figure));
  }
  return figures;
}

// ---- Products of one row and matrices too large for caches, compared with reading the same bytes ----

constexpr std::int64_t kMatrixBytes = 128 << 20;  // total of all matrices of a figure

/// Reads floats on one thread, in several streams at once, because the processor fetches several streams faster than
/// one.
class Reading {
 public:
  Reading() : from_(kMatrixBytes / sizeof(float), 1) {}
  /// GB/s with the best number of streams.
  double operator()() {
    double best = 0;
    for (const std::size_t streams : {1, 2, 4, 8, 16}) {
      const std::size_t each = from_.size() / streams;
      const TimePoint begin = system_clock().now();
      std::array<float, kLanes> sums{};
      for (std::size_t i = 0; i < each; i += kLanes)
        for (std::size_t stream = 0; stream < streams; ++stream)
          for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += from_[stream * each + i + lane];
      const double seconds = std::chrono::duration<double>(system_clock().now() - begin).count();
      FERRY_ASSERT(sums[0] > 0, "the numbers are read");
      best = std::max(best, static_cast<double>(kMatrixBytes) * 1e-9 / seconds);
    }
    return best;
  }

 private:
  static constexpr std::size_t kLanes = 64;
  std::vector<float> from_;
};

/// One figure for each shape of weights in a small language model.
std::vector<Figure> row_products() {
  Reading read;
  std::vector<Figure> figures;
  for (const auto& [k, n] : {std::pair<std::int64_t, std::int64_t>{576, 1536}, {1536, 576}, {576, 576}}) {
    const std::int64_t count = kMatrixBytes / (k * n * 4);
    std::vector<Ints> sizes{{1, k}};
    sizes.resize(static_cast<std::size_t>(1 + count), {k, n});
    OneOp products(
        sizes,
        [](const Values& x) {
          Values rows;
          for (std::size_t i = 1; i < x.size(); ++i) rows.push_back(matmul(x[0], x[i]));
          return concat(rows, 0);
        },
        1, 3);
    const double gigabytes = static_cast<double>(count * k * n * 4) * 1e-9;
    Figure figure = compare(
        kPairs, [&] { return gigabytes / products.run(); }, [&] { return read(); });
    figure.part = std::to_string(k) + "x" + std::to_string(n);
    figures.push_back(std::move(figure));
  }
  return figures;
}

// ---- Kernels limited by memory bandwidth, compared with memcpy of the input ----

struct OfMatrix {
  std::string name;
  Value (*make)(const Value& x);
};

std::vector<Figure> of_matrix(const OfMatrix& op) {
  const Ints sizes{16384, 1024};
  OneOp one(
      {sizes}, [&](const Values& x) { return op.make(x[0]); }, 1, 3);
  return {compare(
      kPairs, [&] { return one.run() * 1e3; }, Copying(sizes[0] * sizes[1]))};
}

}  // namespace

std::vector<Benchmark> kernel_benchmarks() {
  std::vector<Benchmark> all;
  for (std::int64_t n : {256, 1024, 2048})
    for (int threads : {1, 2})
      all.push_back({"matmul." + std::to_string(n) + "." + std::to_string(threads), "GFLOP/s",
                     Benchmark::Better::higher, "OpenBLAS", [=] { return matmuls(n, threads); }});
  static const ConvShape kShapes[] = {{"64x56.3x3", {8, 64, 56, 56}, {64, 64, 3, 3}, 1, 1},
                                      {"64x56.1x1", {8, 64, 56, 56}, {64, 64, 1, 1}, 1, 0},
                                      {"128x28.3x3", {8, 128, 28, 28}, {128, 128, 3, 3}, 1, 1},
                                      {"512x7.3x3", {8, 512, 7, 7}, {512, 512, 3, 3}, 1, 1},
                                      {"3x224.7x7", {8, 3, 224, 224}, {64, 3, 7, 7}, 2, 3},
                                      {"depthwise.64x56.3x3", {8, 64, 56, 56}, {64, 1, 3, 3}, 1, 1},
                                      {"depthwise.64x56.3x3.stride2", {8, 64, 56, 56}, {64, 1, 3, 3}, 2, 1},
                                      {"depthwise.256x14.5x5", {8, 256, 14, 14}, {256, 1, 5, 5}, 1, 2},
                                      {"depthwise.512x7.3x3", {8, 512, 7, 7}, {512, 1, 3, 3}, 1, 1}};
  for (const ConvShape& shape : kShapes)
    all.push_back(
        {"conv." + shape.name, "ms", Benchmark::Better::lower, "PyTorch", [&shape] { return convolutions(shape); }});
  all.push_back({"chain10.64MB", "ms", Benchmark::Better::lower, "memcpy", chains});
  static const OfMatrix kOps[] = {{"softmax", [](const Value& x) { return softmax(x); }},
                                  {"layer_norm",
                                   [](const Value& x) {
                                     const Tensor ones = Tensor::of<float>({1024}, std::vector<float>(1024, 1));
                                     return layer_norm(x, x.graph().constant(ones), x.graph().constant(ones));
                                   }},
                                  {"sum_all", [](const Value& x) { return sum(x); }},
                                  {"sum_rows", [](const Value& x) { return sum(x, {1}); }},
                                  {"sum_columns", [](const Value& x) { return sum(x, {0}); }},
                                  {"max_rows", [](const Value& x) { return max(x, {1}); }},
                                  {"argmax_rows", [](const Value& x) { return argmax(x, 1); }},
                                  {"transpose", [](const Value& x) {
                                     return transpose(x, {1, 0});
                                   }}};
  all.push_back({"gemv.float32", "GB/s", Benchmark::Better::higher, "reading", row_products});
  for (const OfMatrix& op : kOps)
    all.push_back({"kernel." + op.name, "ms", Benchmark::Better::lower, "memcpy", [&op] { return of_matrix(op); }});
  return all;
}

}  // namespace ferry::bench
