// A thread calls exit() while another one runs steps that multiply matrices: exiting SLOW_END. Ends with 0, and not by
// a signal, although SLOW_END keeps the process alive after OpenBLAS has freed its memory.
#include <dlfcn.h>

#include <cstdlib>
#include <thread>

#include "executor/session/session.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"

int main(int argc, char** argv) {
  using namespace ferry;
  const Cluster cluster = Cluster::connect(argc, argv, {.tasks = 2, .threads = 2, .jobs = ""});
  Graph g;
  const Value factors = uniform(g, {4, 100, 100});  // OpenBLAS computes products of a batch
  Session session(g, cluster);
  RunRequest request;
  request.fetches = {sum(matmul(factors, factors))};
  session.run(request);
  if (dlopen(argv[1], RTLD_NOW) == nullptr) return 2;  // its destructor runs after OpenBLAS's, which is loaded now
  request.steps = 1'000'000;
  request.on_step = [](std::int64_t step, auto) {
    if (step == 0) std::thread([] { std::exit(0); }).detach();
  };
  session.run(request);
  return 1;
}
