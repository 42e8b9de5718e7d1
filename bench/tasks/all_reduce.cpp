#include <mpi.h>

#include <algorithm>

#include "bench/tasks/two_tasks.hpp"
#include "ops/control/state.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"

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

/// In each round each task takes its share of the sums of the round before (of two tasks the half), and the shares are
/// summed over the tasks. The faster of MPI's two ways counts.
Sides all_reduce(const Cluster& cluster, std::int64_t bytes) {
  const Work work = work_for(bytes);
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(float));
  auto job = std::make_shared<Job>();
  Graph& g = job->graph;
  auto everywhere = g.on(g.mesh("dp"));
  const Layout by_member{split(0)}, same{replicated()}, parts{partial(Reduce::sum)};
  const Value first = g.variable("v", broadcast_to(g.constant(1.0), {count})).laid(same);
  const auto members = static_cast<std::int64_t>(cluster.size());
  const Value number = g.constant(1.0 / static_cast<double>(members));
  const Value shares = g.variable("shares", broadcast_to(number, {members, 1}).laid(by_member)).laid(by_member);
  const Value share = sum(shares, {0}).laid(parts);
  Value value = first;
  for (std::int64_t k = 0; k < work.per_step; ++k) value = (share * value).laid(parts);
  job->targets = {assign(first, value)};
  job->session = std::make_unique<Session>(g, cluster, SessionOptions{.plan = {.default_device = DeviceKind::cpu}});
  auto sums = std::make_shared<Sums>(count, cluster.size());
  const auto with = [&](bool in_place) {
    return sides_of(job, work, [=](std::int64_t times) { sums->run(times, in_place); });
  };
  const Sides apart = with(false), in_place = with(true);
  return {apart.ferry, [=] { return std::min(apart.peer(), in_place.peer()); }};
}

}  // namespace ferry::bench
