#include <mpi.h>

#include "bench/tasks/two_tasks.hpp"

namespace ferry::bench {
namespace {

/// The hand-written side: two ranks send data back and forth. Each rank has one receive buffer and one send buffer.
struct Hops {
  explicit Hops(std::int64_t count) : in(static_cast<std::size_t>(count)), out(static_cast<std::size_t>(count)) {}

  void send_next() {
    const auto count = static_cast<std::int64_t>(in.size());
    scale_and_add(out.data(), in.data(), count, 1, 1);
    MPI_Send(out.data(), static_cast<int>(count), MPI_FLOAT, 1 - rank, 0, MPI_COMM_WORLD);
  }
  void receive() {
    MPI_Recv(in.data(), static_cast<int>(in.size()), MPI_FLOAT, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  void run(std::int64_t hops) {
    for (std::int64_t k = 0; k < hops; k += 2) {
      if (rank == 1) receive();
      send_next();
      if (rank == 0) receive();
    }
  }

  int rank = 0;
  std::vector<float> in, out;
};

}  // namespace

Sides hop(const Cluster& cluster, std::int64_t bytes) {
  const Work work = work_for(bytes);
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(float));
  auto job = std::make_shared<Job>();
  Graph& g = job->graph;
  job->targets = {hop_chain(g, 0, 1, bytes, work.per_step)};
  job->session = std::make_unique<Session>(g, cluster, SessionOptions{.plan = {.default_device = DeviceKind::cpu}});
  auto hops = std::make_shared<Hops>(count);
  hops->rank = cluster.rank();
  return sides_of(std::move(job), work, [hops](std::int64_t times) { hops->run(times); });
}

}  // namespace ferry::bench
