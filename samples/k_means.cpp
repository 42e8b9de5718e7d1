// k-means (Lloyd, 1982) on points that are split over the tasks: three clouds in the plane, twenty iterations. Each
// task assigns its points to clusters; the sums over the points of a cluster become sums over the tasks.
//
//     build/samples/k_means --tasks 4
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

int main(int argc, char** argv) {
  using ferry::split;
  using ferry::Value;
  using ferry::Values;
  constexpr std::int64_t kPoints = 300, kClusters = 3;
  ferry::Graph g;
  auto everywhere = g.on(g.mesh("points"));
  // Point i is near (0, 0), (4, 0) or (8, 0), by i mod 3.
  ferry::Tensor middles(ferry::DType::float64, {kPoints, 2});
  for (std::int64_t i = 0; i < kPoints; ++i) middles.mutable_data<double>()[2 * i] = static_cast<double>(i % 3 * 4);
  const Value points =
      (g.constant(middles) + ferry::normal(g, {kPoints, 2}, 0, 0.5, ferry::DType::float64)).laid({split(0)});
  const Value start = g.constant(ferry::Tensor::of<double>({kClusters, 2}, {1, 1, 2, 2, 3, 3}));
  const Values end = ferry::while_loop(
      {g.constant(0.0), start}, [](const Values& s) { return s[0] < 20; },
      [&](const Values& s) {
        const Value apart = ferry::expand_dims(points, {1}) - ferry::expand_dims(s[1], {0});  // [points, clusters, 2]
        const Value nearest = ferry::argmax(-ferry::sum(ferry::square(apart), {2}));
        const Value mine = ferry::one_hot(nearest, kClusters, ferry::DType::float64);  // [points, clusters]
        const Value counts = ferry::maximum(ferry::sum(mine, {0}), 1);
        return Values{s[0] + 1, ferry::matmul(mine, points, true) / ferry::expand_dims(counts, {1})};
      });
  g.fetch("cluster", "centres", end[1]);
  return ferry::run_main(argc, argv, g);
}
