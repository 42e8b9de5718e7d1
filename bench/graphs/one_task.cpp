#include "bench/graphs/one_task.hpp"

#include "kernels/kernel.hpp"

namespace ferry::bench {
namespace {

constexpr Kernel kKernels[] = {{.op = "Nothing", .run = [](KernelRun&) {}}, {.op = "Sink", .run = [](KernelRun&) {}}};

const KernelTable& kernels_with_these() {
  static const KernelTable table = [] {
    KernelTable made = cpu_kernels();
    made.add(kKernels);
    return made;
  }();
  return table;
}

}  // namespace

constexpr OpDef kNothing{.name = "Nothing",
                         .types = "T...->T",
                         .infer = [](const OpFacts& facts) { return std::vector<Shape>{facts.shape(0)}; },
                         .flops = 0,
                         .flags = kRandom,  // so that equal ones are not merged
                         .no_grad = "it does nothing"};

constexpr OpDef kSink{.name = "Sink",
                      .types = "T->T",
                      .infer = [](const OpFacts&) { return std::vector<Shape>{Shape()}; },
                      .flops = 0,
                      .no_grad = "it does nothing"};

std::unique_ptr<Session> one_task_session(const Graph& graph, int threads) {
  ClusterOptions cluster;
  cluster.tasks = 1;
  cluster.threads = threads;
  cluster.transport = "inproc";
  SessionOptions options;
  options.run.kernels = &kernels_with_these();
  options.plan.default_device = DeviceKind::cpu;
  return std::make_unique<Session>(graph, Cluster::connect(cluster), options);
}

}  // namespace ferry::bench
