// Computes the heat on a plate of 48 × 32 points by Jacobi's method. The upper edge of the plate is held at 1, the
// other edges at 0. The plate is one array, split by rows over all tasks. A step reads the four neighbours of each
// point. The program slices padded arrays, and ferry finds that a task needs one row of each neighbour. `difference`
// compares the result with the same steps on one task; it is 0, to the bit.
//
//     build/samples/jacobi --tasks 3
//     mpirun -np 3 build/ferry run build/samples/jacobi.pb
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

namespace {

using ferry::Value;
using ferry::Values;

constexpr std::int64_t kRows = 48, kColumns = 32;
constexpr double kSteps = 200;

/// For each point, the value above or below it; it is `edge` above the first row, and 0 below the last row.
Value above(const Value& plate, double edge) {
  return ferry::slice(ferry::pad(plate, {1, 0}, {0, 0}, edge), 0, 0, -1);
}
Value below(const Value& plate) {
  return ferry::slice(ferry::pad(plate, {0, 0}, {1, 0}), 0, 1);
}

Value solved(const Value& plate) {
  return ferry::while_loop(
      {plate.graph().constant(0.0), plate}, [](const Values& s) { return s[0] < kSteps; },
      [](const Values& s) {
        const Value wide = ferry::pad(s[1], {0, 1}, {0, 1});
        const Value sides = ferry::slice(wide, 1, 0, -2) + ferry::slice(wide, 1, 2);
        return Values{s[0] + 1.0, (above(s[1], 1) + below(s[1]) + sides) * 0.25};
      })[1];
}

}  // namespace

int main(int argc, char** argv) {
  ferry::Graph g;
  const ferry::Tensor cold(ferry::DType::float32, {kRows, kColumns});
  Value plate, alone;
  {
    auto rows = g.on(g.mesh("rows"));
    plate = solved(g.constant(cold).laid({ferry::split(0)}));
  }
  {
    auto here = g.device("/task:0");
    alone = solved(g.constant(cold));
  }
  g.fetch("solve", "centre", ferry::slice(plate, {0, 1}, {kRows / 2, kColumns / 2}, {kRows / 2 + 1, kColumns / 2 + 1}));
  g.fetch("solve", "difference", ferry::max(ferry::abs(plate - alone)));
  return ferry::run_main(argc, argv, g);
}
