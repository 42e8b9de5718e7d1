// Measures the costs of computing. Each cost is fitted to the times of kernels and to their work, as planning counts
// it.
#include <algorithm>
#include <cmath>
#include <span>

#include "bench/calibration/calibration.hpp"
#include "bench/calibration/time_budget.hpp"
#include "bench/graphs/one_task.hpp"
#include "graph/op/op_time.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"

namespace ferry::bench {
namespace {

using Make = std::function<Value(const Values&)>;

constexpr double kPicoseconds = 1e12;  // in a second
constexpr int kMeasurements = 30;      // the approximate number of measurements in measure_computing()

double geometric_mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += std::log(value);
  return std::exp(sum / static_cast<double>(values.size()));
}

class Computing {
 public:
  Computing(int threads, double seconds) : threads_(threads), budget_(system_clock(), seconds, kMeasurements) {}

  ComputeCosts measure() {
    costs_.call = calls();
    traffic();
    costs_.element_flop = per_flop({elements()});
    costs_.reduction_flop = per_flop({reduction({1024, 256}, 1), reduction({1024, 256}, 0)});
    costs_.product_flop =
        per_flop({product(64, 784, 128), product(784, 64, 128), product(256, 256, 256), large_product()});
    convolutions();
    if (threads_ > 1) {
      costs_.parallel_flops = parallel(large_product());
      costs_.parallel_bytes = parallel(adds(1, kLargeBytes));
    }
    return costs_;
  }

 private:
  /// The sizes of some variables, and a function that makes one op, or a few, from them.
  struct Ops {
    std::vector<Ints> sizes;
    Make make;
  };

  static constexpr double kLargeBytes = 96 << 20, kCachedBytes = 384 << 10;
  static constexpr double kLeastFigure = 1e-3;  // picoseconds: below what any CPU can do

  [[nodiscard]] double picoseconds(const Ops& ops, int threads = 1) {
    return OneOp(ops.sizes, ops.make, threads, 1).least(budget_.next()) * kPicoseconds;
  }

  /// Picoseconds for each flop: the geometric mean over ops. By the planner's cost model, only arithmetic limits their
  /// speed.
  [[nodiscard]] double per_flop(const std::vector<Ops>& all) {
    std::vector<double> each;
    for (const Ops& ops : all) {
      OneOp op(ops.sizes, ops.make, 1, 1);
      const double time = op.least(budget_.next()) * kPicoseconds - costs_.call;
      each.push_back(std::max(time / op.work().flops, kLeastFigure));
    }
    return geometric_mean(each);
  }

  // ---- Kernels of a few elements ----

  /// The overhead of calling a kernel, in picoseconds.
  [[nodiscard]] double calls() {
    const auto chain = [this](int length) {
      return picoseconds({{{16}, {16}}, [length](const Values& x) {
                            Value y = x[0];
                            for (int i = 0; i < length; ++i) y = y + x[1];
                            return y;
                          }});
    };
    constexpr int kShort = 20, kLong = 420;
    return std::max((chain(kLong) - chain(kShort)) / (kLong - kShort), 1.0);
  }

  // ---- Memory traffic ----

  /// Adds pairs of arrays, `count` times; each addition reads and writes `bytes` bytes in total.
  static Ops adds(int count, double bytes) {
    const auto elements = static_cast<std::int64_t>(bytes) / static_cast<std::int64_t>(3 * sizeof(float));
    return {std::vector<Ints>(static_cast<std::size_t>(2 * count), Ints{elements}), [count](const Values& x) {
              Values sums;
              for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) sums.push_back(x[2 * i] + x[2 * i + 1]);
              return x[0].graph().add(kNothing, sums, {}, SourceLine())[0];
            }};
  }
  [[nodiscard]] double per_byte(int count, double bytes) {
    return std::max((picoseconds(adds(count, bytes)) / count - costs_.call) / bytes, kLeastFigure);
  }

  /// Measures the costs of memory traffic. Several kernels run in turn, so that each finds its arrays in the cache, or
  /// in memory if the other kernels have evicted them.
  void traffic() {
    constexpr int kCached = 16, kTurns = 4;
    costs_.memory_byte = per_byte(1, kLargeBytes);
    costs_.cache_byte = std::min(per_byte(kCached, kCachedBytes), costs_.memory_byte);
    costs_.cache_bytes = kCachedBytes;
    const double between = std::sqrt(costs_.memory_byte * costs_.cache_byte);
    for (double bytes = 2 * kCachedBytes; bytes < kLargeBytes && per_byte(kTurns, bytes) < between; bytes *= 2)
      costs_.cache_bytes = bytes;
  }

  // ---- Arithmetic ----

  /// Elementwise ops in one tile region.
  static Ops elements() {
    return {{{1 << 16}}, [](const Values& x) {
              Value y = x[0];
              constexpr int kRounds = 6;
              for (int i = 0; i < kRounds; ++i) y = maximum(square(y * 0.5 + 0.25), -1.0) - 0.5;
              return exp(y);
            }};
  }
  static Ops reduction(const Ints& sizes, std::int64_t axis) {
    return {{sizes}, [axis](const Values& x) { return sum(x[0], {axis}); }};
  }
  static Ops product(std::int64_t m, std::int64_t k, std::int64_t n) {
    return {{{m, k}, {k, n}}, [](const Values& x) { return matmul(x[0], x[1]); }};
  }
  static Ops large_product() {
    constexpr std::int64_t kSize = 512;
    return product(kSize, kSize, kSize);
  }

  /// Measures convolutions as in networks for small images, with both gradients.
  void convolutions() {
    struct Shapes {
      Ints x, w;
      std::int64_t padding;
    };
    std::vector<Ops> all;
    for (const Shapes& shapes :
         {Shapes{{16, 32, 14, 14}, {64, 32, 3, 3}, 1}, Shapes{{16, 64, 16, 16}, {64, 64, 3, 3}, 1},
          Shapes{{16, 256, 8, 8}, {64, 256, 1, 1}, 0}}) {
      const Sliding sliding{.padding = {shapes.padding, shapes.padding}};
      const auto forward = [sliding](const Values& v) { return conv2d(v[0], v[1], sliding); };
      all.push_back({{shapes.x, shapes.w}, forward});
      for (const std::size_t of : {0, 1})
        all.push_back({{shapes.x, shapes.w}, [forward, of](const Values& v) {
                         const Value y = forward(v);
                         const Value dy = y.graph().variable("dy", normal(y.graph(), y.shape()));
                         return pullback({y}, {dy}, Values{v[of]})[0];
                       }});
    }
    costs_.convolution_flop = per_flop(all);
  }

  // ---- Threads ----

  /// The parallel share of a kernel's time (in Amdahl's law), from 0 to 1.
  [[nodiscard]] double parallel(const Ops& ops) {
    const double faster = picoseconds(ops) / picoseconds(ops, threads_);
    return std::clamp((1 - 1 / faster) / (1 - 1.0 / threads_), 0.0, 1.0);
  }

  const int threads_;
  TimeBudget budget_;
  ComputeCosts costs_;
};

}  // namespace

ComputeCosts measure_computing(int threads, double seconds) {
  return Computing(threads, seconds).measure();
}

}  // namespace ferry::bench
