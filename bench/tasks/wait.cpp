#include <mpi.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/system/clock.hpp"
#include "bench/tasks/two_tasks.hpp"
#include "ops/control/state.hpp"
#include "ops/math/math.hpp"

namespace ferry::bench {
namespace {

constexpr int kMessages = 60;
constexpr std::chrono::milliseconds kPause{1};  // between messages, while the other task waits
constexpr std::chrono::milliseconds kAlone{40};

/// Computes on its own thread until it is destroyed.
class Computing {
 public:
  Computing() : thread_([this] { work(); }) {}
  ~Computing() {
    stop_ = true;
    thread_.join();
  }
  Computing(const Computing&) = delete;
  Computing& operator=(const Computing&) = delete;
  [[nodiscard]] std::int64_t done() const { return done_.load(std::memory_order_relaxed); }

 private:
  void work() {
    std::vector<float> values(1024, 1.0F);
    while (!stop_.load(std::memory_order_relaxed)) {
      scale_and_add(values.data(), values.data(), static_cast<std::int64_t>(values.size()), 0.5F, 0.5F);
      done_.fetch_add(1, std::memory_order_relaxed);
    }
  }
  std::atomic<bool> stop_{false};
  std::atomic<std::int64_t> done_{0};
  std::thread thread_;
};

double seconds_since(TimePoint begin) {
  return std::chrono::duration<double>(system_clock().now() - begin).count();
}

/// The figures of one side, measured while both ranks compute.
struct Waited {
  double micros = 0;   ///< the median time of a message for which the other rank waits
  double percent = 0;  ///< the speed of computing, in percent of the speed without messages
};

/// `messages` sends kMessages messages back and forth, with a pause before each. On rank 0 it returns half of the
/// microseconds of each round trip; on rank 1 it returns nothing.
Waited measure_side(const std::function<std::vector<double>()>& messages) {
  const Computing computing;
  MPI_Barrier(MPI_COMM_WORLD);
  TimePoint begin = system_clock().now();
  std::int64_t before = computing.done();
  std::this_thread::sleep_for(kAlone);
  const double alone = static_cast<double>(computing.done() - before) / seconds_since(begin);
  MPI_Barrier(MPI_COMM_WORLD);
  begin = system_clock().now();
  before = computing.done();
  std::vector<double> times = messages();
  double rates[] = {alone, static_cast<double>(computing.done() - before) / seconds_since(begin)}, all[2];
  MPI_Allreduce(rates, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  Waited waited;
  waited.percent = 100 * all[1] / all[0];
  if (times.empty()) return waited;
  std::nth_element(times.begin(), times.begin() + kMessages / 2, times.end());
  waited.micros = times[kMessages / 2];
  return waited;
}

std::vector<double> by_ferry(Job& job) {
  std::vector<double> times;
  TimePoint begin;
  RunRequest request;
  request.targets = job.targets;
  request.steps = kMessages + 1;
  request.on_step = [&](std::int64_t step, std::span<const Tensor>) {
    if (step > 0) times.push_back(seconds_since(begin) * 1e6 / 2);
    std::this_thread::sleep_for(kPause);
    begin = system_clock().now();
  };
  static_cast<void>(job.session->run(request));
  return times;
}

std::vector<double> by_mpi(int rank) {
  std::vector<double> times;
  float value = 0;
  for (int k = 0; k < kMessages; ++k) {
    if (rank == 1) {
      MPI_Recv(&value, 1, MPI_FLOAT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&value, 1, MPI_FLOAT, 0, 0, MPI_COMM_WORLD);
      continue;
    }
    std::this_thread::sleep_for(kPause);
    const TimePoint begin = system_clock().now();
    MPI_Send(&value, 1, MPI_FLOAT, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_FLOAT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    times.push_back(seconds_since(begin) * 1e6 / 2);
  }
  return times;
}

Sides waiting(const Cluster& cluster, double Waited::*figure) {
  auto job = std::make_shared<Job>();
  Graph& g = job->graph;
  Value there, first;
  {
    auto here = g.device("/task:0");
    first = g.variable("v", g.constant(0.0));
    there = first + 1.0;
  }
  {
    auto here = g.device("/task:1");
    there = there + 1.0;
  }
  auto here = g.device("/task:0");
  job->targets = {assign(first, there + 1.0)};
  job->session = std::make_unique<Session>(g, cluster, SessionOptions{.plan = {.default_device = DeviceKind::cpu}});
  return {[=] { return measure_side([&] { return by_ferry(*job); }).*figure; },
          [=, rank = cluster.rank()] { return measure_side([&] { return by_mpi(rank); }).*figure; }};
}

}  // namespace

Sides wait_latency(const Cluster& cluster, std::int64_t) {
  return waiting(cluster, &Waited::micros);
}

Sides wait_kept(const Cluster& cluster, std::int64_t) {
  return waiting(cluster, &Waited::percent);
}

}  // namespace ferry::bench
