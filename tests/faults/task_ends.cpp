// task_ends MODE [--invariant=S]: a job of three processes; the second leaves in the middle, in the way given by MODE.
// The tests check mpirun's exit code and the others' output. With `stuck` the third process then makes no call. With
// the mode `graph` all processes end before there is a job; with `op` and `callback` code of the user's that ferry
// calls throws. With `request` no process leaves: the first one reads a character before each call.
#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string_view>

#include "executor/session/session.hpp"
#include "kernels/kernel.hpp"
#include "ops/math/math.hpp"

namespace {

using namespace ferry;

/// Leaves in the way of `mode`; false where that is to return from main().
bool go_on(std::string_view mode) {
  if (mode == "exit") std::exit(0);
  if (mode == "error" || mode == "stuck") throw Error(Code::numeric, "loss: NaN");
  if (mode == "told") throw Error(Error(Code::usage, "the feeds differ").told_elsewhere());  // another task prints it
  if (mode == "idle")
    for (;;) pause();
  if (mode == "exception") throw std::runtime_error("vector::at");
  return mode != "return";
}

constexpr OpDef kOwn{.name = "Own", .types = "T->T", .T = kNumbers, .index = "n->n"};
constexpr Kernel kOwnKernels[] = {{.op = "Own", .run = [](KernelRun&) { throw 42; }}};

}  // namespace

int main(int argc, char** argv) {
  if (argc > 1 && std::string_view(argv[1]) == "graph") {
    Graph g;
    static_cast<void>(g.constant({1, 2, 3}) + g.constant({1, 2}));
  }
  const Cluster cluster = Cluster::connect(argc, argv);
  Graph g;
  const Value a = g.constant({1, 2, 3}, on("/task:0"));
  Value b = g.constant({10, 20, 30}, on("/task:1"));
  const std::string_view mode = argv[1];
  if (mode == "op") {
    const auto here = g.device("/task:1");
    const Value inputs[] = {b};
    b = g.add(kOwn, inputs, {}, source_location::current())[0].named("mine");
  }
  const auto there = g.device("/task:2");
  const Value c = a + b;
  KernelTable kernels = cpu_kernels();
  kernels.add(kOwnKernels);
  SessionOptions options;
  options.run.kernels = &kernels;
  Session session(g, cluster, options);
  RunRequest request;
  request.fetches = {c};
  if (mode == "callback") {
    request.fetch_to = 1;
    request.on_step = [](std::int64_t, std::span<const Tensor>) { throw std::runtime_error("enough"); };
  }
  for (int step = 0; step < 3; ++step) {
    if (mode == "request" && cluster.rank() == 0) std::cin.get();
    const auto fetched = session.run(request);
    if (cluster.rank() == request.fetch_to) std::cout << fetched[0].str() << std::endl;
    if (step == 1 && cluster.process_of(cluster.rank()) == 1 && !go_on(mode)) return 0;
    while (step == 1 && mode == "stuck" && cluster.rank() == 2) pause();
  }
  return 0;
}
