#include "bench/graphs/metg.hpp"

#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>

#include "bench/graphs/task_graph.hpp"
#include "bench/tasks/points_by_mpi.hpp"
#include "bench/tasks/two_tasks.hpp"

namespace ferry::bench {
namespace {

/// The number of timesteps in one step of ferry's graph; and the number of timed steps, after one untimed step.
constexpr std::int64_t kUnrolled = 102, kSteps = 5;
/// The number of measurements of a grain. The fastest counts, because a time slice lost to another process would
/// falsify the METG.
constexpr int kTimes = 3;
constexpr std::array<std::int64_t, 20> kIterations = {1,  2,  3,  4,   6,   8,   12,  16,  24,   32,
                                                      48, 64, 96, 128, 192, 256, 384, 512, 1024, 4096};

/// A barrier that sleeps while it waits, so that the core is free for other ranks; MPI_Barrier would spin.
void quiet_barrier() {
  MPI_Request request;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  for (int done = 0; done == 0;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

/// The peak rate of a core: the higher rate of the two sides.
struct Peak {
  double cores = 1;
  double micros = 1e9;  ///< time of one iteration of a task at the peak rate
};

/// Measures one side with tasks of all sizes.
class Sweep {
 public:
  /// `timestep` returns the microseconds of a timestep with `iterations` iterations in each task.
  Sweep(std::shared_ptr<Peak> peak, std::function<double(std::int64_t iterations)> timestep)
      : peak_(std::move(peak)), timestep_(std::move(timestep)) {}

  /// The METG, valid on rank 0 only. The first call only warms up, with the coarsest grain.
  double run() {
    std::vector<Grain> grains;
    const std::size_t first = std::exchange(warm_, true) ? 0 : kIterations.size() - 1;
    for (const std::int64_t iterations : std::span(kIterations).subspan(first)) {
      double least = timestep_(iterations);
      for (int k = 1; k < kTimes; ++k) least = std::min(least, timestep_(iterations));
      const double taken = least * peak_->cores / static_cast<double>(kPoints);
      grains.push_back({static_cast<double>(iterations), taken});
      peak_->micros = std::min(peak_->micros, taken / grains.back().ideal);
    }
    for (Grain& grain : grains) grain.ideal *= peak_->micros;
    return metg(grains);
  }

 private:
  std::shared_ptr<Peak> peak_;
  std::function<double(std::int64_t)> timestep_;
  bool warm_ = false;
};

std::shared_ptr<Job> job_of(const std::string& pattern, const Cluster& cluster) {
  auto job = std::make_shared<Job>();
  job->targets = add_task_graph(job->graph, pattern, kUnrolled, cluster.size());
  SessionOptions options;
  options.plan.default_device = DeviceKind::cpu;
  options.run.kernels = &kernels_with_points();
  job->session = std::make_unique<Session>(job->graph, cluster, options);
  return job;
}

/// A job with one task of `threads` threads, in this process; the other ranks have nothing to do.
std::shared_ptr<Job> job_of_threads(const std::string& pattern, std::int64_t threads) {
  ClusterOptions options;
  options.tasks = 1;
  options.threads = static_cast<int>(threads);
  options.transport = "inproc";
  return job_of(pattern, Cluster::connect(options));
}

}  // namespace

Sides metg_of(const std::string& pattern, const Cluster& cluster, std::int64_t threads) {
  auto peak = std::make_shared<Peak>();
  peak->cores = cluster.size();
  std::shared_ptr<Job> job;
  if (threads == 1)
    job = job_of(pattern, cluster);
  else if (cluster.rank() == 0)
    job = job_of_threads(pattern, threads);
  auto ferry = std::make_shared<Sweep>(peak, [=](std::int64_t iterations) {
    set_iterations(iterations);
    return micros_of_step(*job, kSteps) / static_cast<double>(kUnrolled);
  });
  auto points = std::make_shared<PointsByMpi>(pattern);
  auto mpi = std::make_shared<Sweep>(peak, [=](std::int64_t iterations) {
    points->run(kUnrolled, iterations);
    const std::int64_t timesteps = kSteps * kUnrolled;
    return micros([&] { points->run(timesteps, iterations); }) / static_cast<double>(timesteps);
  });
  return {[=] {
            const double found = job ? ferry->run() : 0;
            quiet_barrier();
            return found;
          },
          [=] { return mpi->run(); }};
}

}  // namespace ferry::bench
