// Heat spreads from the middle of a plate of 600 × 400 points: one array in blocks, on a grid of two rows of tasks and
// as many columns as the job allows. A step takes the mean of each point's four neighbours, which are slices of the
// padded array. Each task gets a row or a column of points from each of its neighbours, and nothing else.
//
//     build/samples/heat --tasks 4
//     mpirun -np 6 build/samples/heat
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

int main(int argc, char** argv) {
  using ferry::kEnd;
  using ferry::Values;
  constexpr std::int64_t kRows = 600, kColumns = 400;
  constexpr double kSteps = 1000;
  ferry::Tensor spot(ferry::DType::float32, {kRows, kColumns});
  spot.mutable_data<float>()[kRows / 2 * kColumns + kColumns / 2] = 1;

  ferry::Graph g;
  auto blocks = g.on(g.mesh({{"rows", 2}, {"columns", ferry::Mesh::kOpen}}, "/task:*"));
  const ferry::Value source = g.constant(spot).laid({ferry::split(0), ferry::split(1)});
  const ferry::Value plate = ferry::while_loop(
      {g.constant(0.0), source}, [](const Values& s) { return s[0] < kSteps; },
      [&](const Values& s) {
        const ferry::Value wide = ferry::pad(s[1], {1, 1}, {1, 1});
        const ferry::Value up = ferry::slice(wide, {0, 1}, {0, 1}, {-2, -1});
        const ferry::Value down = ferry::slice(wide, {0, 1}, {2, 1}, {kEnd, -1});
        const ferry::Value left = ferry::slice(wide, {0, 1}, {1, 0}, {-1, -2});
        const ferry::Value right = ferry::slice(wide, {0, 1}, {1, 2}, {-1, kEnd});
        return Values{s[0] + 1.0, (up + down + left + right) * 0.25 + source};
      })[1];
  g.fetch("solve", "warmest", ferry::max(plate));
  g.fetch("solve", "from the middle",
          ferry::slice(plate, {0, 1}, {kRows / 2, kColumns / 2}, {kRows / 2 + 1, kEnd}, {1, 25}));
  return ferry::run_main(argc, argv, g);
}
