// A matrix product. Its operands and its result are in blocks on a grid of tasks (2 × n). `difference` compares the
// result with the product on one task.
//
//     build/samples/matrix_product --tasks 4
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

int main(int argc, char** argv) {
  using ferry::split;
  using ferry::Value;
  ferry::Graph g;
  const auto matrix = [&](std::int64_t seed) {  // whole numbers, so that sums are exact in any order
    const Value wide = ferry::uniform(g, {50, 50}, -9, 9, ferry::DType::float32, seed);
    return ferry::cast(ferry::cast(wide, ferry::DType::int32), ferry::DType::float32).laid({split(0), split(1)});
  };
  Value a, b, product;
  {
    auto grid = g.on(g.mesh({{"rows", 2}, {"columns", ferry::Mesh::kOpen}}));
    a = matrix(1);
    b = matrix(2);
    product = ferry::matmul(a, b).laid({split(0), split(1)});
  }
  auto alone = g.device("/task:0");
  g.fetch("multiply", "sum", ferry::sum(product));
  g.fetch("multiply", "difference", ferry::max(ferry::abs(product - ferry::matmul(a, b))));
  return ferry::run_main(argc, argv, g);
}
