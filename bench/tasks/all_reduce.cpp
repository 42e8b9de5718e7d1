#include <mpi.h>

#include <algorithm>

#include "bench/tasks/two_tasks.hpp"

namespace ferry::bench {
namespace {

/// The hand-written side: MPI_Allreduce, in place or from one buffer to another.
struct Sums {
  Sums(std::int64_t count, int tasks)
      : share(1.0F / static_cast<float>(tasks)), mine(static_cast<std::size_t>(count), 1.0F), all(mine.size(), 1.0F) {}

  void run(std::int64_t rounds, bool in_place) {
    const auto count = static_cast<std::int64_t>(mine.size());
    for (std::int64_t k = 0; k < rounds; ++k) {
      float* made = in_place ? all.data() : mine.data();
      scale_and_add(made, all.data(), count, share, 0);
      MPI_Allreduce(in_place ? MPI_IN_PLACE : made, all.data(), static_cast<int>(count), MPI_FLOAT, MPI_SUM,
                    MPI_COMM_WORLD);
    }
  }

  float share;
  std::vector<float> mine, all;
};

}  // namespace

/// Compares with the faster of two calls of MPI: in place, or from one buffer to another.
Sides all_reduce(const Cluster& cluster, std::int64_t bytes) {
  const Work work = work_for(bytes);
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(float));
  auto job = std::make_shared<Job>();
  Graph& g = job->graph;
  job->targets = {sum_rounds(g, g.mesh("dp"), 1, 0, cluster.size(), bytes, work.per_step)};
  job->session = std::make_unique<Session>(g, cluster, SessionOptions{.plan = {.default_device = DeviceKind::cpu}});
  auto sums = std::make_shared<Sums>(count, cluster.size());
  const auto with = [&](bool in_place) {
    return sides_of(job, work, [=](std::int64_t times) { sums->run(times, in_place); });
  };
  const Sides apart = with(false), in_place = with(true);
  return {apart.ferry, [=] { return std::min(apart.peer(), in_place.peer()); }};
}

}  // namespace ferry::bench
