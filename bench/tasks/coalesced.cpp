#include <mpi.h>

#include "bench/tasks/two_tasks.hpp"
#include "ops/control/state.hpp"
#include "ops/math/broadcast.hpp"
#include "ops/math/math.hpp"

namespace ferry::bench {
namespace {

constexpr int kMessages = 100;

/// The hand-written side: every message has its own buffers, and is sent and received separately.
struct OneByOne {
  explicit OneByOne(std::int64_t floats)
      : count(floats), in(kMessages * static_cast<std::size_t>(floats)), out(in.size()), requests(kMessages) {}

  void send() {
    for (int m = 0; m < kMessages; ++m) {
      const std::int64_t at = m * count;
      scale_and_add(out.data() + at, in.data() + at, count, 1, 1);
      MPI_Isend(out.data() + at, static_cast<int>(count), MPI_FLOAT, 1 - rank, m, MPI_COMM_WORLD, &requests[m]);
    }
    MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE);
  }
  void receive() {
    for (int m = 0; m < kMessages; ++m)
      MPI_Irecv(in.data() + m * count, static_cast<int>(count), MPI_FLOAT, 1 - rank, m, MPI_COMM_WORLD, &requests[m]);
    MPI_Waitall(kMessages, requests.data(), MPI_STATUSES_IGNORE);
  }
  void run(std::int64_t rounds) {
    for (std::int64_t k = 0; k < rounds; k += 2) {
      if (rank == 1) receive();
      send();
      if (rank == 0) receive();
    }
  }

  std::int64_t count;
  int rank = 0;
  std::vector<float> in, out;
  std::vector<MPI_Request> requests;
};

}  // namespace

Sides coalesced(const Cluster& cluster, std::int64_t bytes) {
  const Work work{.steps = 12, .per_step = 20};
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(float));
  auto job = std::make_shared<Job>();
  Graph& g = job->graph;
  const auto on_task = [&](std::int64_t k) { return g.device(k % 2 == 0 ? "/task:0" : "/task:1"); };
  std::vector<Value> values, first;
  {
    auto here = on_task(0);
    for (int m = 0; m < kMessages; ++m)
      first.push_back(g.variable(std::string("v").append(std::to_string(m)), broadcast_to(g.constant(0.0), {count})));
    values = first;
  }
  for (std::int64_t k = 0; k < work.per_step; ++k) {
    auto here = on_task(k);
    for (Value& value : values) value = value + 1.0;
  }
  auto here = on_task(0);
  for (std::size_t m = 0; m < first.size(); ++m) job->targets.push_back(assign(first[m], values[m]));
  job->session = std::make_unique<Session>(g, cluster, SessionOptions{.plan = {.default_device = DeviceKind::cpu}});
  auto rounds = std::make_shared<OneByOne>(count);
  rounds->rank = cluster.rank();
  return sides_of(std::move(job), work, [rounds](std::int64_t times) { rounds->run(times); });
}

}  // namespace ferry::bench
