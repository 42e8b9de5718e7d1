#include <mpi.h>

#include "bench/tasks/two_tasks.hpp"
#include "ops/array/array.hpp"
#include "ops/control/state.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/math.hpp"

namespace ferry::bench {
namespace {

constexpr float kShrink = 0.5F;

/// The hand-written side.
struct HandWritten {
  explicit HandWritten(std::int64_t count)
      : made(static_cast<std::size_t>(count), 1.0F), given(made.size()), taken(made.size()) {}

  void run(std::int64_t rounds) {
    const auto count = static_cast<std::int64_t>(made.size());
    const auto words = static_cast<int>(count);
    for (std::int64_t k = 0; k < rounds; ++k) {
      if (rank == 0) {
        scale_and_add(given.data(), made.data(), count, answer, 0);
        MPI_Send(given.data(), words, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(&answer, 1, MPI_FLOAT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(given.data(), words, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        scale_and_add(taken.data(), given.data(), count, kShrink, 0);
        MPI_Send(taken.data(), 1, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
      }
    }
  }

  int rank = 0;
  float answer = 1;
  std::vector<float> made, given, taken;
};

}  // namespace

Sides handover(const Cluster& cluster, std::int64_t bytes) {
  const Work work = work_for(bytes);
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(float));
  auto job = std::make_shared<Job>();
  Graph& g = job->graph;
  Value made, answer, first;
  {
    auto here = g.device("/task:0");
    made = g.variable("made", broadcast_to(g.constant(1.0), {count}));
    answer = first = g.variable("answer", g.constant(Tensor::of<float>({1}, {1.0F})));
  }
  for (std::int64_t k = 0; k < work.per_step; ++k) {
    Value given;
    {
      auto here = g.device("/task:0");
      given = made * answer;
    }
    auto here = g.device("/task:1");
    answer = slice(given * kShrink, 0, 0, 1);
  }
  auto here = g.device("/task:0");
  job->targets = {assign(first, answer * 2.0)};
  job->session = std::make_unique<Session>(g, cluster, SessionOptions{.plan = {.default_device = DeviceKind::cpu}});
  auto rounds = std::make_shared<HandWritten>(count);
  rounds->rank = cluster.rank();
  return sides_of(std::move(job), work, [rounds](std::int64_t times) { rounds->run(times); });
}

}  // namespace ferry::bench
