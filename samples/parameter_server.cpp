// A synchronous parameter server: the tasks of the job `ps` have the variables, split over them; the workers compute.
// In each step the workers get the weights, and the servers get the sum of the workers' gradients.
//
//     build/samples/parameter_server --tasks 3 --jobs ps=0,worker=1-2 --steps 20
#include <ferry/ferry.hpp>
#include <ferry/runner/run_main.hpp>

int main(int argc, char** argv) {
  using ferry::split;
  using ferry::Value;
  ferry::Graph g;
  const ferry::MeshId servers = g.mesh("servers", "/job:ps/task:*"), workers = g.mesh("workers", "/job:worker/task:*");
  Value weights, bias, loss;
  {
    auto here = g.on(servers);
    weights = g.variable("weights", ferry::normal(g, {16, 8}, 0, 0.3)).laid({split(0)});
    bias = g.variable("bias", g.constant(ferry::Tensor(ferry::DType::float32, {8}))).laid({split(0)});
  }
  {
    auto here = g.on(workers);
    const Value x = ferry::uniform(g, {60, 16}, -1, 1).laid({split(0)});
    const Value y = ferry::matmul(x, weights) + bias;
    loss = ferry::mean(ferry::square(y - ferry::slice(x, 1, 8)));
  }
  for (const Value& update : ferry::sgd(loss, {weights, bias}, 0.5)) g.target("train", update);
  g.fetch("train", "loss", loss);
  return ferry::run_main(argc, argv, g);
}
