// Sessions on a GPU on the host, or on a simulated one with the kernels of CUDA devices, with generated kernels.
#pragma once

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "executor/job/job_state.hpp"
#include "executor/session/session.hpp"
#include "kernels/cuda_on_host.hpp"
#include "tests/op_cases/case.hpp"
#include "tests/support/verified_plans.hpp"

namespace ferry::test {

/// Whether both have the same bits, except for NaN, where the compiler may choose the bits.
inline bool same_numbers(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type()) return false;
  return dispatch(a.dtype(), [&](auto zero) {
    using T = decltype(zero);
    const auto x = a.template data<T>(), y = b.template data<T>();
    for (std::size_t i = 0; i < x.size(); ++i) {
      const bool same = std::memcmp(&x[i], &y[i], sizeof(T)) == 0;
      if (!same && !(std::isnan(static_cast<double>(x[i])) && std::isnan(static_cast<double>(y[i])))) return false;
    }
    return true;
  });
}

struct Ran {
  std::vector<Tensor> values;
  std::vector<std::string> regions;  ///< the ops of each, as the plan has them: "Mul+Add"
  std::string kernels;               ///< of a step: "MatMul+Add, Exp"
};

/// Simulated devices, which find races, with the kernels of CUDA devices.
inline DeviceLibrary simulated_cuda(std::uint64_t seed) {
  DeviceLibrary library = simulated_devices(seed);
  library.kernels = cuda::kernels_on_host;
  library.fuse = [](void*, int, std::span<const FusedKernels> all, int) {
    const char* const caches = std::getenv("XDG_CACHE_HOME");
    return cuda::fuse_on_host(all, caches == nullptr ? "" : std::string(caches) + "/ferry/kernels", local_files());
  };
  return library;
}

/// Runs it on a GPU on the host, or a simulated one.
inline Ran run_fused(const Graph& g, const RunRequest& request, std::optional<std::uint64_t> simulated = {}) {
  cuda::machine_on_host() = {};
  const Cluster cluster = Cluster::connect(ClusterOptions{.tasks = 1, .threads = 2, .jobs = "", .simulated = 1});
  cluster.state().devices = simulated ? simulated_cuda(*simulated) : cuda::devices_on_host();
  cluster.state().topology.tasks[0].gpu_regions = true;
  Ran ran;
  SessionOptions options;
  options.plan.default_device = DeviceKind::gpu;
  options.plan.check_passes = true;
  options.plan.on_pass = [&](const PassReport& report) {
    if (report.name != "fuse_elements") return;
    const std::string text = report.text();
    for (std::size_t at = 0; (at = text.find(" by ", at + 1)) != std::string::npos;) {
      const std::size_t begin = text.rfind('\n', at) + 1;
      ran.regions.push_back(text.substr(begin, at - begin));
    }
  };
  Session session(g, cluster, options);
  ran.kernels = kernels_of(session.plan(request).plan);
  ran.values = session.run(request);
  return ran;
}

}  // namespace ferry::test
