// Benchmarks: the measurements that `ferry bench` runs. Each family of benchmarks is one file, with a function,
// declared below, that lists them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ferry::bench {

/// One measurement of each side, taken one right after the other.
struct Pair {
  double ferry = 0;
  double peer = 0;
};

/// One line of a benchmark's result.
struct Figure {
  std::string part = {};                  ///< added to the benchmark's name after a dot; "" for its main figure
  double ferry = 0;                       ///< in `unit`
  std::optional<double> peer_value = {};  ///< in `unit`
  std::optional<double> ratio = {};       ///< the median of ferry ÷ peer over the pairs
  std::string unit = {};                  ///< "" means the unit of the benchmark
  /// The best of several peers, if there are several; "" means the benchmark's peer.
  std::string peer = {};
  std::vector<Pair> pairs = {};  ///< all measurements, in their order; none without a peer
};

/// Thrown by a benchmark that this machine cannot run.
struct Skipped {
  std::string reason;
};

struct Benchmark {
  enum class Better { lower, higher };

  std::string name;  ///< as in docs/performance.md, such as "hop.4KB"
  std::string unit;  ///< "us", "s", "steps/s"
  Better better = Better::lower;
  std::string peer;  ///< the program that ferry is compared with; "" for none
  /// Measures. Throws Skipped if this machine cannot run the benchmark, Error(resource) if a program cannot be started
  /// or fails, and all exceptions of the measured code.
  std::function<std::vector<Figure>()> run;
};

/// The number of pairs that are measured for a figure, unless the benchmark has its own number.
inline constexpr int kPairs = 5;

/// The median of `values` (at least one). If their number is even, it is the upper of the two in the middle.
[[nodiscard]] double median(std::vector<double> values);

/// The medians of both sides and of the ratios of the pairs. `pairs` has at least one.
[[nodiscard]] Figure figure_of(const std::vector<Pair>& pairs);

/// Runs both sides once to warm up, then `pairs` times in turn. Each call returns its measurement.
[[nodiscard]] Figure compare(int pairs, const std::function<double()>& ferry, const std::function<double()>& peer);

/// Runs `ferry` once to warm up, then `times` times, and returns the median.
[[nodiscard]] Figure measure_alone(int times, const std::function<double()>& ferry);

// One function for each family, each in its own file.
[[nodiscard]] std::vector<Benchmark> boost_benchmarks();
[[nodiscard]] std::vector<Benchmark> checkpoint_benchmarks();
[[nodiscard]] std::vector<Benchmark> data_benchmarks();
[[nodiscard]] std::vector<Benchmark> decode_benchmarks();
[[nodiscard]] std::vector<Benchmark> gpu_benchmarks();
[[nodiscard]] std::vector<Benchmark> host_benchmarks();
[[nodiscard]] std::vector<Benchmark> hosts_benchmarks();
[[nodiscard]] std::vector<Benchmark> kernel_benchmarks();
[[nodiscard]] std::vector<Benchmark> onnx_benchmarks();
[[nodiscard]] std::vector<Benchmark> op_benchmarks();
[[nodiscard]] std::vector<Benchmark> plan_benchmarks();
[[nodiscard]] std::vector<Benchmark> plan_class_benchmarks();
[[nodiscard]] std::vector<Benchmark> plan_proof_benchmarks();
[[nodiscard]] std::vector<Benchmark> start_benchmarks();
[[nodiscard]] std::vector<Benchmark> train_benchmarks();

/// All benchmarks, in the order of the families.
[[nodiscard]] std::vector<Benchmark> benchmarks();

}  // namespace ferry::bench
