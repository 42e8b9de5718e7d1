// One task on gpu:0, compared with PyTorch on the same GPU: matrix products, a chain of elementwise ops, kernels that
// are limited by memory bandwidth, convolutions, tiny ops, copies, and training steps.
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/system/clock.hpp"
#include "bench/benchmark.hpp"
#include "bench/graphs/train_graphs.hpp"
#include "bench/processes/process.hpp"
#include "bench/processes/scratch_folder.hpp"
#include "executor/session/session.hpp"
#include "ops/array/array.hpp"
#include "ops/control/state.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/nn.hpp"
#include "ops/nn/norm.hpp"

namespace ferry::bench {
namespace {

constexpr int kGpuRuns = 5;

void require_gpu(const Cluster& cluster) {
  const TaskInfo& task = cluster.topology().tasks[0];
  if (task.gpus == 0) throw Skipped{"there is no GPU: " + task.no_gpus};
}

Cluster one_task() {
  ClusterOptions options;
  options.tasks = 1;
  options.transport = "inproc";
  return Cluster::connect(options);
}

/// A session with a step that applies `make` to variables on a GPU, and stores the result in a variable.
class OnGpu {
 public:
  OnGpu(DType dtype, const std::vector<Ints>& sizes, const std::function<Value(const Values&)>& make, int steps)
      : cluster_(one_task()) {
    require_gpu(cluster_);
    Values inputs;
    for (const Ints& size : sizes)
      inputs.push_back(graph_.variable("x" + std::to_string(inputs.size()),
                                       cast(normal(graph_, Shape(std::span<const std::int64_t>(size))), dtype)));
    const Value y = make(inputs);
    const Value kept = graph_.variable("y", zeros_like(y));
    request_.targets = {assign(kept, y)};
    request_.steps = steps;
    session_ = std::make_unique<Session>(graph_, cluster_);
    static_cast<void>(session_->run(request_));
  }

  /// Seconds of a step.
  double run() {
    const TimePoint begin = system_clock().now();
    static_cast<void>(session_->run(request_));
    return std::chrono::duration<double>(system_clock().now() - begin).count() / static_cast<double>(request_.steps);
  }

 private:
  Cluster cluster_;
  Graph graph_;
  RunRequest request_;
  std::unique_ptr<Session> session_;
};

/// PyTorch's figures for all benchmarks of this file, by name, measured once, in one process; empty if PyTorch is not
/// installed or finds no GPU.
const std::map<std::string, double>& by_pytorch() {
  static const std::map<std::string, double> all = [] {
    std::map<std::string, double> read;
    std::istringstream lines(run_program({"python3", "-W", "ignore", beside_this_program("gpu.py")}).output);
    std::string name;
    for (double value = 0; lines >> name >> value;) read[name] = value;
    return read;
  }();
  return all;
}

std::vector<Figure> beside_pytorch(const std::string& name, const std::function<double()>& ferry) {
  Figure figure = measure_alone(kGpuRuns, ferry);
  if (const auto peer = by_pytorch().find(name); peer != by_pytorch().end()) {
    figure.peer_value = peer->second;
    figure.ratio = figure.ferry / peer->second;
  }
  return {figure};
}

std::vector<Figure> products(const std::string& name, std::int64_t n, DType dtype) {
  OnGpu product(
      dtype, {{n, n}, {n, n}}, [](const Values& x) { return matmul(x[0], x[1]); }, 20);
  const double teraflops = 2e-12 * static_cast<double>(n) * static_cast<double>(n) * static_cast<double>(n);
  return beside_pytorch(name, [&] { return teraflops / product.run(); });
}

/// A step of kOps ops on one element, in microseconds for each op.
std::vector<Figure> tiny_ops(const std::string& name) {
  constexpr int kOps = 1000;
  const auto chain = [](const Values& x) {
    Value y = x[0];
    for (int i = 0; i < kOps; ++i) y = y + x[1];
    return y;
  };
  OnGpu ops(DType::float32, {{1}, {1}}, chain, 10);
  return beside_pytorch(name, [&] { return ops.run() * 1e6 / kOps; });
}

/// The copies of one feed and one fetch: GB/s of both together.
std::vector<Figure> copies(const std::string& name) {
  constexpr std::int64_t kElements = 16 << 20;
  const Cluster cluster = one_task();
  require_gpu(cluster);
  Graph g;
  const Value x = g.input("x", DType::float32, {kElements}), y = -x;
  Session session(g, cluster);
  const TensorMap feeds{{"x", Tensor(DType::float32, {kElements})}};
  static_cast<void>(session.run({y}, feeds));
  return beside_pytorch(name, [&] {
    const TimePoint begin = system_clock().now();
    static_cast<void>(session.run({y}, feeds));
    return 8e-9 * kElements / std::chrono::duration<double>(system_clock().now() - begin).count();
  });
}

struct OfArrays {
  std::string name;
  DType dtype;
  std::vector<Ints> sizes;
  Value (*make)(const Values& x);
};

/// Ten cheap elementwise ops.
Value ten_ops(const Values& v) {
  const Value a = maximum(v[0] * 0.5 + 1.0, -1.0);
  const Value b = relu(-(square(a - 0.25) * 2.0) + 3.0);
  return minimum(b, 2.0);
}

Value normed(const Values& v) {
  const std::vector<float> ones(4096, 1);
  const Value one = v[0].graph().constant(Tensor::of<float>({4096}, ones));
  return layer_norm(v[0], one, one);
}

Value convolved(const Values& v) {
  return conv2d(v[0], v[1], Sliding{.strides = {1, 1}, .padding = {1, 1}});
}

struct Network {
  std::string name;
  void (*save)(const std::string& file, int processes);
  int steps;
  std::string data = {};
};

/// Steps per second of `ferry run --device gpu`.
std::vector<Figure> train(const std::string& name, const Network& network) {
  require_gpu(one_task());
  const ScratchFolder folder;
  const std::string graph = folder.file("graph.pb"), stats = folder.file("stats.json");
  network.save(graph, 1);
  std::vector<std::string> command{
      this_program(), "run", graph, "--device", "gpu", "--steps", std::to_string(network.steps), "--stats", stats};
  if (!network.data.empty()) command.insert(command.end(), {"--data", network.data});
  return beside_pytorch(name, [&] {
    static_cast<void>(run_program(command));
    return 1 / nlohmann::json::parse(std::ifstream(stats))["step_seconds"]["median"].get<double>();
  });
}

}  // namespace

std::vector<Benchmark> gpu_benchmarks() {
  std::vector<Benchmark> all;
  const auto add = [&](const std::string& name, const std::string& unit, Benchmark::Better better, auto run) {
    all.push_back({"gpu." + name, unit, better, "PyTorch", [name, run] { return run(name); }});
  };
  using enum Benchmark::Better;
  for (const std::int64_t n : {1024, 8192})
    for (const DType dtype : {DType::float32, DType::bfloat16})
      add("matmul." + std::to_string(n) + "." + std::string(name_of(dtype)), "TFLOP/s", higher,
          [=](const std::string& name) { return products(name, n, dtype); });
  static const OfArrays kOps[] = {
      {"chain10", DType::float32, {{64 << 18}}, ten_ops},
      {"softmax", DType::float32, {{16384, 4096}}, [](const Values& v) { return softmax(v[0]); }},
      {"layer_norm", DType::float32, {{16384, 4096}}, normed},
      {"sum_all", DType::float32, {{16384, 4096}}, [](const Values& v) { return sum(v[0]); }},
      {"sum_rows", DType::float32, {{16384, 4096}}, [](const Values& v) { return sum(v[0], {1}); }},
      {"sum_columns", DType::float32, {{16384, 4096}}, [](const Values& v) { return sum(v[0], {0}); }},
      {"transpose",
       DType::float32,
       {{16384, 4096}},
       [](const Values& v) {
         return transpose(v[0], {1, 0});
       }},
      {"conv", DType::float32, {{64, 128, 28, 28}, {128, 128, 3, 3}}, convolved},
      {"conv.bfloat16", DType::bfloat16, {{64, 128, 28, 28}, {128, 128, 3, 3}}, convolved}};
  for (const OfArrays& op : kOps)
    add(op.name, "ms", lower, [&op](const std::string& name) {
      OnGpu one(op.dtype, op.sizes, op.make, 10);
      return beside_pytorch(name, [&] { return one.run() * 1e3; });
    });
  add("tiny", "us", lower, tiny_ops);
  add("copies", "GB/s", higher, copies);
  static const Network kNetworks[] = {{"mlp", save_mlp, 400},
                                      {"cnn", save_cnn, 40},
                                      {"charlm", save_charlm, 100, "/usr/share/common-licenses"},
                                      {"resnet50", save_resnet50, 20}};
  for (const Network& network : kNetworks)
    add("train." + network.name, "steps/s", higher,
        [&network](const std::string& name) { return train(name, network); });
  return all;
}

}  // namespace ferry::bench
