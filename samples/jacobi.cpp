// Heat on a plate of 48 × 32 points, held at 1 along its upper edge and at 0 along the others: Jacobi's method. The
// plate is one array, cut by rows over all tasks. A step reads the four neighbours of each point; the program slices
// padded arrays, and ferry finds that a task needs one row of each neighbour. `difference` compares with the same steps
// on one task; it is 0, to the bit.
//
//     build/samples/jacobi --tasks 3
//     mpirun -np 3 build/ferry run build/samples/jacobi.pb
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

#include "stencil.hpp"

namespace {

using ferry::Value;

constexpr std::int64_t kRows = 48, kColumns = 32;
constexpr double kSteps = 200;

}  // namespace

int main(int argc, char** argv) {
  ferry::Graph g;
  const ferry::Tensor cold(ferry::DType::float32, {kRows, kColumns});
  Value plate, alone;
  {
    auto rows = g.on(g.mesh("rows"));
    plate = heated(g.constant(cold).laid({ferry::split(0)}), kSteps);
  }
  {
    auto here = g.device("/task:0");
    alone = heated(g.constant(cold), kSteps);
  }
  g.fetch("solve", "centre", ferry::slice(plate, {0, 1}, {kRows / 2, kColumns / 2}, {kRows / 2 + 1, kColumns / 2 + 1}));
  g.fetch("solve", "difference", ferry::max(ferry::abs(plate - alone)));
  return ferry::run_main(argc, argv, g);
}
