// Heat on a plate of 600 × 400 points in blocks: a grid of two rows of tasks, and as many columns as there are tasks
// for. The steps are those of jacobi; only the mesh differs. Each task gets a row or a column of points from each of
// its neighbours, and computes where no neighbour is needed meanwhile.
//
//     build/samples/heat --tasks 4
//     mpirun -np 6 build/samples/heat
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

#include "stencil.hpp"

int main(int argc, char** argv) {
  ferry::Graph g;
  auto blocks = g.on(g.mesh({{"down", 2}, {"across", ferry::Mesh::kOpen}}, "/task:*"));
  const ferry::Value plate =
      g.constant(ferry::Tensor(ferry::DType::float32, {600, 400})).laid({ferry::split(0), ferry::split(1)});
  const ferry::Value hot = heated(plate, 1000);
  g.fetch("solve", "near the edge", ferry::slice(hot, {0, 1}, {1, 199}, {4, 201}));
  return ferry::run_main(argc, argv, g);
}
