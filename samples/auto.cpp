// A network that learns the squares of 16 of 256 random numbers. The program names no device, mesh or layout: with
// --place auto ferry spreads the work over all tasks; without it, all work is on task 0.
//
//     build/ferry plan build/samples/auto.pb --tasks 2 --place auto
//     mpirun -np 2 build/samples/auto --place auto --steps 300 --print-every 100
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

namespace nn = ferry::nn;

int main(int argc, char** argv) {
  ferry::Graph g;
  nn::Parameters parameters(g);
  const nn::Dense first(parameters, "layer1", 256, 512), last(parameters, "layer2", 512, 16);

  const ferry::Value rows = ferry::uniform(g, {256, 256}, -1, 1);
  const ferry::Value wanted = ferry::square(ferry::slice(rows, 1, 0, 16));
  const ferry::Value loss = ferry::mean(ferry::square(last(ferry::relu(first(rows))) - wanted));
  for (const ferry::Value& update : ferry::adam(loss, parameters.trained(), 0.003)) g.target("train", update);
  g.fetch("train", "loss", loss);
  return ferry::run_main(argc, argv, g);
}
