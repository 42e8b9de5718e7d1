// The largest eigenvalue of a 300 × 300 matrix by power iteration. The matrix is split by rows over all tasks. It is
// the second difference; its largest eigenvalue is 2 + 2 cos(π / 301) = 3.99989108.
//
//     build/samples/power_iteration --tasks 4
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

#include <algorithm>
#include <cmath>

int main(int argc, char** argv) {
  constexpr std::int64_t kSize = 300;
  ferry::Tensor matrix(ferry::DType::float64, {kSize, kSize});
  for (std::int64_t i = 0; i < kSize; ++i)
    for (std::int64_t k = std::max<std::int64_t>(i - 1, 0); k <= std::min(i + 1, kSize - 1); ++k)
      matrix.mutable_data<double>()[i * kSize + k] = i == k ? 2 : -1;
  ferry::Tensor start(ferry::DType::float64, {kSize, 1});
  for (std::int64_t i = 0; i < kSize; ++i) start.mutable_data<double>()[i] = i % 2 == 0 ? 1 : -1;

  ferry::Graph g;
  auto everywhere = g.on(g.mesh("rows"));
  const ferry::Value a = g.constant(matrix).laid({ferry::split(0)});
  const ferry::Value zero = g.constant(0.0, ferry::DType::float64);
  const ferry::Values end = ferry::while_loop(
      {zero, g.constant(start), zero}, [](const ferry::Values& s) { return s[0] < 2000; },
      [&](const ferry::Values& s) {
        const ferry::Value product = ferry::matmul(a, s[1]);
        const ferry::Value length = ferry::sqrt(ferry::sum(ferry::square(product)));
        return ferry::Values{s[0] + 1, product / length, length};
      });
  g.fetch("run", "eigenvalue", end[2]);
  return ferry::run_main(argc, argv, g);
}
