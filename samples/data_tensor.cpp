// Data × tensor parallel: a mesh of two axes. The batch is split along `dp`, the weights along `tp`, which has size 2.
// So in a job of 2, 4 or 8 tasks, `dp` has size 1, 2 or 4.
//
//     build/samples/data_tensor --tasks 4 --steps 20
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

int main(int argc, char** argv) {
  using ferry::replicated;
  using ferry::split;
  using ferry::Value;
  ferry::Graph g;
  auto everywhere = g.on(g.mesh({{"dp", ferry::Mesh::kOpen}, {"tp", 2}}));
  const Value x = ferry::uniform(g, {64, 12}, -1, 1).laid({split(0), replicated()});
  const Value up = g.variable("up", ferry::normal(g, {12, 40}, 0, 0.3)).laid({replicated(), split(1)});
  const Value down = g.variable("down", ferry::normal(g, {40, 12}, 0, 0.15)).laid({replicated(), split(0)});
  const Value y = ferry::matmul(ferry::relu(ferry::matmul(x, up)), down);
  const Value loss = ferry::mean(ferry::square(y - x));
  for (const Value& update : ferry::sgd(loss, {up, down}, 0.5)) g.target("train", update);
  g.fetch("train", "loss", loss);
  return ferry::run_main(argc, argv, g);
}
