// op_devices SEEDS [cuda]: every case on simulated devices, on one to three tasks: whole, and with the first dim of a
// value that has one split. The results must have the bits that the same graph gives on hosts; with `cuda` the devices
// run the kernels for CUDA, and floats may differ by what their rounding allows. Prints what differs.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "base/error.hpp"
#include "executor/job/cluster_state.hpp"
#include "executor/session/session.hpp"
#include "kernels/cuda_on_host.hpp"
#include "tests/op_cases/case.hpp"

namespace {

using namespace ferry;

constexpr std::int64_t kMostElements = 500;

/// Whether devices run the kernels for CUDA.
bool cuda_kernels = false;

std::string difference(const Tensor& got, const Tensor& wanted) {
  if (cuda_kernels) return test::difference(got, test::Nd(wanted), 2);
  return got.same_bits(wanted) ? "" : got.str() + ", not " + wanted.str();
}

/// The case's op on a mesh of all tasks; `cut`: an input with its first dim split, or none.
std::vector<Tensor> run(const test::Case& which, const std::vector<Tensor>& inputs, std::optional<std::size_t> cut,
                        int tasks, std::optional<std::uint64_t> simulated) {
  Graph g;
  Values x, y;
  TensorMap feeds;
  {
    const auto scope = g.on(g.mesh("all"));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string name = "x" + std::to_string(i);
      x.push_back(g.input(name, inputs[i].dtype(), inputs[i].type().shape));
      if (cut == i) x.back().laid({split(0)});
      feeds[name] = inputs[i];
    }
    y = which.build(x);
  }
  const Cluster cluster =
      Cluster::connect(ClusterOptions{.tasks = tasks, .threads = 1, .jobs = "", .simulated = simulated});
  if (simulated && cuda_kernels) cluster.state().devices->kernels = cuda::kernels_on_host;
  Session session(g, cluster);
  return session.run(y, feeds);
}

std::string difference(const test::Case& which, const std::vector<Tensor>& inputs, std::optional<std::size_t> cut,
                       int tasks, std::uint64_t seed) {
  try {
    const std::vector<Tensor> on_hosts = run(which, inputs, cut, tasks, {});
    const std::vector<Tensor> on_devices = run(which, inputs, cut, tasks, seed);
    for (std::size_t i = 0; i < on_hosts.size(); ++i)
      if (const std::string text = ::difference(on_devices[i], on_hosts[i]); !text.empty()) return text;
  } catch (const Error& error) {
    return error.text();
  }
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  cuda_kernels = argc > 2;
  const std::uint64_t seeds = std::strtoull(argv[1], nullptr, 10);
  std::uint64_t runs = 0, failed = 0;
  for (const test::Case& which : test::op_cases())
    for (std::size_t shape = 0; shape < which.shapes.size(); ++shape)
      for (const DType dtype : {DType::float32, DType::int64, DType::boolean, DType::float16}) {
        if (!test::dtypes_of(which).has(dtype)) continue;
        const std::vector<Tensor> inputs = test::inputs_for(which, shape, dtype);
        if (test::elements_of(inputs) > kMostElements) continue;
        for (int tasks : {1, 2, 3})
          for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            const std::optional<std::size_t> cut =
                tasks > 1 && !inputs.empty() && inputs[0].rank() > 0 ? std::optional<std::size_t>(0) : std::nullopt;
            ++runs;
            const std::string why = difference(which, inputs, cut, tasks, seed);
            if (why.empty()) continue;
            ++failed;
            std::printf("%s, shape %zu, %s, %d tasks, seed %llu: %s\n", std::string(which.op).c_str(), shape,
                        std::string(name_of(dtype)).c_str(), tasks, static_cast<unsigned long long>(seed), why.c_str());
          }
      }
  std::printf("%llu of %llu runs on simulated devices equal those on hosts\n",
              static_cast<unsigned long long>(runs - failed), static_cast<unsigned long long>(runs));
  return runs > 0 && failed == 0 ? 0 : 1;
}
