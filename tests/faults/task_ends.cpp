// A job of three processes of which the second leaves in the middle, in the way that MODE says: FAULTS D. mpirun's exit
// code and what the others print tell what became of it. With the mode `graph` they all end before there is
// a job. task_ends MODE [--invariant=S]
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string_view>

#include "executor/session.hpp"
#include "ops/math.hpp"

namespace {

using namespace ferry;

/// False when the task is to return.
bool go_on(std::string_view mode) {
  if (mode == "exit") std::exit(0);
  if (mode == "error") throw Error(Code::numeric, "loss: NaN");
  if (mode == "exception") throw std::runtime_error("vector::at");
  return mode != "return";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "graph") {
    Graph g;
    static_cast<void>(g.constant({1, 2, 3}) + g.constant({1, 2}));
  }
  const Cluster cluster = Cluster::connect(argc, argv);
  Graph g;
  const Value a = g.constant({1, 2, 3}, on("/task:0"));
  const Value b = g.constant({10, 20, 30}, on("/task:1"));
  const auto there = g.device("/task:2");
  const Value c = a + b;
  Session session(g, cluster);
  for (int step = 0; step < 3; ++step) {
    const auto fetched = session.run({c});
    if (cluster.rank() == 0) std::cout << fetched[0].str() << std::endl;
    if (step == 1 && cluster.process_of(cluster.rank()) == 1 && !go_on(argv[1])) return 0;
  }
  return 0;
}
