#include "bench/benchmark.hpp"

#include <algorithm>

#include "base/error.hpp"

namespace ferry::bench {

double median(std::vector<double> values) {
  FERRY_ASSERT(!values.empty(), "the median of nothing");
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Figure figure_of(const std::vector<Pair>& pairs) {
  std::vector<double> ferry, peer, ratios;
  for (const Pair& pair : pairs) {
    ferry.push_back(pair.ferry);
    peer.push_back(pair.peer);
    ratios.push_back(pair.ferry / pair.peer);
  }
  Figure figure;
  figure.ferry = median(std::move(ferry));
  figure.peer_value = median(std::move(peer));
  figure.ratio = median(std::move(ratios));
  figure.pairs = pairs;
  return figure;
}

Figure compare(int pairs, const std::function<double()>& ferry, const std::function<double()>& peer) {
  static_cast<void>(ferry());
  static_cast<void>(peer());
  std::vector<Pair> measured;
  for (int i = 0; i < pairs; ++i) {
    const double ours = ferry();
    measured.push_back({ours, peer()});
  }
  return figure_of(measured);
}

Figure measure_alone(int times, const std::function<double()>& ferry) {
  static_cast<void>(ferry());
  std::vector<double> measured;
  measured.reserve(static_cast<std::size_t>(times));
  for (int i = 0; i < times; ++i) measured.push_back(ferry());
  Figure figure;
  figure.ferry = median(std::move(measured));
  return figure;
}

std::vector<Benchmark> benchmarks() {
  std::vector<Benchmark> all;
  // The start benchmarks run first, while this process is small: the peak memory that the kernel reports of a child
  // includes its parent's size when the child was started.
  for (const auto& family :
       {start_benchmarks(), host_benchmarks(), hosts_benchmarks(), op_benchmarks(), kernel_benchmarks(),
        plan_benchmarks(), plan_class_benchmarks(), plan_proof_benchmarks(), train_benchmarks(), gpu_benchmarks(),
        boost_benchmarks(), onnx_benchmarks(), decode_benchmarks(), checkpoint_benchmarks(), data_benchmarks()})
    all.insert(all.end(), family.begin(), family.end());
  return all;
}

}  // namespace ferry::bench
