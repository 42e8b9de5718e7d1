// Conjugate gradients (Hestenes and Stiefel, 1952) for A x = b. A is split by rows over the tasks; it is 64 × 64 and
// symmetric, with a dominant diagonal. The loop runs inside the runtime until the residual is small.
//
//     build/samples/conjugate_gradient --tasks 3
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

#include <cmath>

int main(int argc, char** argv) {
  using ferry::split;
  using ferry::Value;
  using ferry::Values;
  constexpr std::int64_t kSize = 64;
  ferry::Tensor matrix(ferry::DType::float64, {kSize, kSize}), right(ferry::DType::float64, {kSize, 1});
  for (std::int64_t i = 0; i < kSize; ++i) {
    right.mutable_data<double>()[i] = std::sin(static_cast<double>(i));
    for (std::int64_t k = 0; k < kSize; ++k)
      matrix.mutable_data<double>()[i * kSize + k] = i == k ? 4 : 1.0 / static_cast<double>((i - k) * (i - k) + 1);
  }

  ferry::Graph g;
  auto everywhere = g.on(g.mesh("rows"));
  const Value a = g.constant(matrix).laid({split(0)});
  const Value b = g.constant(right).laid({split(0)});
  const auto dot = [](const Value& u, const Value& v) { return ferry::sum(u * v); };
  // The loop's state: x, residual, direction, squared length of the residual, steps.
  const Values end = ferry::while_loop(
      {ferry::zeros_like(b).laid({split(0)}), b, b, dot(b, b), g.constant(0.0)},
      [](const Values& s) { return s[3] > 1e-24; },
      [&](const Values& s) {
        const Value image = ferry::matmul(a, s[2]);
        const Value length = s[3] / dot(s[2], image);
        const Value residual = s[1] - image * length;
        const Value square = dot(residual, residual);
        return Values{s[0] + s[2] * length, residual, residual + s[2] * (square / s[3]), square, s[4] + 1};
      });
  g.fetch("solve", "steps", end[4]);
  g.fetch("solve", "error", ferry::max(ferry::abs(ferry::matmul(a, end[0]) - b)));
  g.fetch("solve", "length", ferry::sqrt(dot(end[0], end[0])));
  return ferry::run_main(argc, argv, g);
}
