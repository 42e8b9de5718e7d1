// Benchmarks: what `ferry bench` runs. A family of them is one file with a function below that lists them.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace ferry::bench {

/// One line of a benchmark's result.
struct Figure {
  std::string part = {};                  ///< after a dot behind the benchmark's name; "" for the benchmark itself
  double ferry = 0;                       ///< in `unit`
  std::optional<double> peer_value = {};  ///< in `unit`
  std::optional<double> ratio = {};       ///< ferry ÷ peer_value: of interleaved pairs, the median of their ratios
  std::string unit = {};                  ///< "": the benchmark's
  std::string peer = {};                  ///< which one, where the best of several counts; "": the benchmark's
};

/// Thrown by a benchmark that this machine cannot run.
struct Skipped {
  std::string reason;
};

struct Benchmark {
  enum class Better { lower, higher };

  std::string name;  ///< as docs/performance.md lists them: "hop.4KB"
  std::string unit;  ///< "us", "s", "steps/s"
  Better better = Better::lower;
  std::string peer;  ///< whom it is measured against; "": nobody
  /// Measures. Throws Skipped. Errors: those of what is measured; Error(resource) when a peer cannot be started.
  std::function<std::vector<Figure>()> run;
};

/// One measurement of each side, taken one right after the other.
struct Pair {
  double ferry = 0;
  double peer = 0;
};

/// How often a figure is measured beside its peer.
inline constexpr int kPairs = 7;

/// The middle one of `values` (of an even number the upper one), which are not empty.
[[nodiscard]] double median(std::vector<double> values);

/// The medians of the pairs and of their ratios. At least one pair.
[[nodiscard]] Figure figure_of(const std::vector<Pair>& pairs);

/// Runs both sides once to warm up, then `pairs` times in turn. Each gives its figure.
[[nodiscard]] Figure compare(int pairs, const std::function<double()>& ferry, const std::function<double()>& peer);

/// Runs one side once to warm up, then `times` times: the median.
[[nodiscard]] Figure alone(int times, const std::function<double()>& ferry);

// The families.
[[nodiscard]] std::vector<Benchmark> boost_benchmarks();
[[nodiscard]] std::vector<Benchmark> checkpoint_benchmarks();
[[nodiscard]] std::vector<Benchmark> host_benchmarks();
[[nodiscard]] std::vector<Benchmark> hosts_benchmarks();
[[nodiscard]] std::vector<Benchmark> kernel_benchmarks();
[[nodiscard]] std::vector<Benchmark> onnx_benchmarks();
[[nodiscard]] std::vector<Benchmark> op_benchmarks();
[[nodiscard]] std::vector<Benchmark> plan_benchmarks();
[[nodiscard]] std::vector<Benchmark> plan_class_benchmarks();
[[nodiscard]] std::vector<Benchmark> start_benchmarks();
[[nodiscard]] std::vector<Benchmark> train_benchmarks();

/// All of them, in the order of the families.
[[nodiscard]] std::vector<Benchmark> benchmarks();

}  // namespace ferry::bench
