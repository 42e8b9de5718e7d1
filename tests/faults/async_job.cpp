// async_job SERVERS KEEPS --save-graph FILE.pb: a graph of SERVERS servers, each with a variable that workers update
// asynchronously, at most three steps apart; their steps may kill them (dying_op.hpp). The entry "train" does that;
// "eval" is computed by all workers together. With KEEPS, 1, the first worker has a variable, too.
#include "tests/faults/dying_op.hpp"

#include <string>

#include "graph/graph.hpp"
#include "ops/control/state.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/asynchronous.hpp"
#include "ops/train/optim.hpp"
#include "runner/run/run_main.hpp"

int main(int argc, char** argv) {
  using namespace ferry;
  const int servers = std::stoi(argv[1]);
  Graph g;
  Values weights;
  for (int server = 0; server < servers; ++server) {
    const Scope there = g.device("/job:ps/task:" + std::to_string(server) + "/cpu:0");
    weights.push_back(g.variable("w" + std::to_string(server), g.constant(Tensor(DType::float32, {3}))));
  }
  const Scope workers = g.on(g.mesh("workers", "/job:worker/task:*"));
  const Value numbers = uniform(g, {64}).laid({split(0)});
  const Value x = g.add(test::kDying, std::vector<Value>{numbers}, {}, source_location::current())[0];
  Value loss;
  for (int server = 0; server < servers; ++server) {
    const Value& w = weights[server];
    const Value own = mean(square(x * sum(w) - 1.0 - server));
    for (const Value& update : asynchronous(sgd(own, {w}, 0.01), {.staleness = 3})) g.target("train", update);
    if (server == 0) loss = own;
  }
  if (argv[2] == std::string("1")) {
    const Scope there = g.device("/job:worker/task:0/cpu:0");
    g.target("train", assign_add(g.variable("kept", g.constant(0.0F)), 1.0));
  }
  g.fetch("train", "loss", loss);
  g.fetch("eval", "mean", mean(square(uniform(g, {64}).laid({split(0)}))));
  return run_main(argc - 2, argv + 2, g);
}
