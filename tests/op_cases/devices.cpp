// op_devices SEEDS: every case on simulated devices, on one to three tasks: whole, and with the first dim of a value
// that has one split. The results must have the bits that the same graph gives on hosts. Prints what differs.
// op_devices SEEDS cuda: the devices run the kernels for CUDA. Floats may differ by what their rounding allows.
// op_devices 1 gpu: the same for all dtypes on the GPUs that ferry finds. Says how many results have the bits of hosts.
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "executor/job/job_state.hpp"
#include "executor/session/session.hpp"
#include "kernels/cuda_on_host.hpp"
#include "tests/op_cases/case.hpp"

namespace {

using namespace ferry;

constexpr std::int64_t kMostElements = 500;

enum class Where { hosts, simulated, simulated_cuda, gpus };

std::uint64_t equal_bits = 0;

std::string difference(Where devices, const Tensor& got, const Tensor& wanted) {
  const bool equal = got.same_bits(wanted);
  if (equal) ++equal_bits;
  if (devices != Where::simulated && is_float(got.dtype())) return test::difference(got, test::Nd(wanted), 2);
  return equal ? "" : got.str() + ", not " + wanted.str();
}

/// The case's op on a mesh of all tasks; `cut`: an input with its first dim split, or none.
std::vector<Tensor> run(const test::Case& which, const std::vector<Tensor>& inputs, std::optional<std::size_t> cut,
                        int tasks, Where where, std::uint64_t seed) {
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
  const bool simulated = where == Where::simulated || where == Where::simulated_cuda;
  const Cluster cluster =
      Cluster::connect(ClusterOptions{.tasks = tasks,
                                      .threads = 1,
                                      .jobs = "",
                                      .simulated = simulated ? std::optional<std::uint64_t>(seed) : std::nullopt});
  if (where == Where::simulated_cuda) cluster.state().devices->kernels = cuda::kernels_on_host;
  SessionOptions options;
  options.plan.default_device = where == Where::hosts ? DeviceKind::cpu : DeviceKind::gpu;
  Session session(g, cluster, options);
  return session.run(y, feeds);
}

std::string difference(const test::Case& which, const std::vector<Tensor>& inputs, std::optional<std::size_t> cut,
                       int tasks, Where devices, std::uint64_t seed) {
  try {
    const std::vector<Tensor> on_hosts = run(which, inputs, cut, tasks, Where::hosts, seed);
    const std::vector<Tensor> on_devices = run(which, inputs, cut, tasks, devices, seed);
    for (std::size_t i = 0; i < on_hosts.size(); ++i)
      if (const std::string text = difference(devices, on_devices[i], on_hosts[i]); !text.empty()) return text;
  } catch (const Error& error) {
    return error.text();
  }
  return {};
}

/// Calls f(case, number of the shape, dtype, inputs).
template <class F>
void for_each_case(std::span<const DType> dtypes, const F& f) {
  for (const test::Case& which : test::op_cases())
    for (std::size_t shape = 0; shape < which.shapes.size(); ++shape)
      for (const DType dtype : dtypes) {
        if (!test::dtypes_of(which).has(dtype)) continue;
        const std::vector<Tensor> inputs = test::inputs_for(which, shape, dtype);
        if (test::elements_of(inputs) <= kMostElements) f(which, shape, dtype, inputs);
      }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view asked = argc > 2 ? argv[2] : "";
  const Where devices = asked == "gpu" ? Where::gpus : asked == "cuda" ? Where::simulated_cuda : Where::simulated;
  const std::uint64_t seeds = std::strtoull(argv[1], nullptr, 10);
  constexpr DType kSome[] = {DType::float32, DType::int64, DType::boolean, DType::float16};
  std::uint64_t runs = 0, failed = 0;
  const auto run_case = [&](const test::Case& which, std::size_t shape, DType dtype,
                            const std::vector<Tensor>& inputs) {
    for (int tasks : {1, 2, 3})
      for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        const std::optional<std::size_t> cut =
            tasks > 1 && !inputs.empty() && inputs[0].rank() > 0 ? std::optional<std::size_t>(0) : std::nullopt;
        ++runs;
        const std::string why = difference(which, inputs, cut, tasks, devices, seed);
        if (why.empty()) continue;
        ++failed;
        std::printf("%s, shape %zu, %s, %d tasks, seed %llu: %s\n", std::string(which.op).c_str(), shape,
                    std::string(name_of(dtype)).c_str(), tasks, static_cast<unsigned long long>(seed), why.c_str());
      }
  };
  for_each_case(devices == Where::gpus ? std::span<const DType>(kDTypes) : kSome, run_case);
  std::printf("%llu of %llu runs on devices equal those on hosts; %llu results have their bits\n",
              static_cast<unsigned long long>(runs - failed), static_cast<unsigned long long>(runs),
              static_cast<unsigned long long>(equal_bits));
  return runs > 0 && failed == 0 ? 0 : 1;
}
