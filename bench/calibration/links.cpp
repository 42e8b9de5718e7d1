// Measures the costs of messages and all-reduces between the tasks of a job.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "base/number_text.hpp"
#include "base/numbers.hpp"
#include "base/system/clock.hpp"
#include "bench/calibration/calibration.hpp"
#include "bench/calibration/time_budget.hpp"
#include "bench/graphs/message_graphs.hpp"
#include "bench/graphs/one_task.hpp"
#include "executor/session/session.hpp"
#include "graph/op/op_time.hpp"

namespace ferry::bench {
namespace {

constexpr std::int64_t kSizes[] = {4, 4 << 10, 64 << 10, 1 << 20, 4 << 20};
constexpr std::size_t kLargeSizes = 2;  // the number of sizes, at the end, that determine the bandwidth
constexpr std::int64_t kMostRounds = 100;
constexpr double kLeastLatency = 1e-9, kMostBytesPerSecond = 1e14;

/// A part of the job's tasks: the same number of tasks on each of some hosts, ordered by host.
struct EvenHosts {
  std::int64_t hosts = 1, tasks = 1;
};

class Links {
 public:
  Links(const Cluster& cluster, double seconds, Calibration& result)
      : cluster_(cluster),
        tasks_(cluster.topology().tasks),
        result_(result),
        mate_(other_task(true)),
        stranger_(other_task(false)),
        even_(even_hosts()),
        budget_(system_clock(), seconds, measurements()) {}

  void measure() {
    if (mate_) result_.costs.on_host = link(first_, *mate_);
    if (stranger_) result_.costs.between_hosts = link(0, *stranger_);
    result_.costs.compute.wait = waiting(mate_ ? first_ : 0, mate_ ? *mate_ : *stranger_) * 1e12;
    if (!even_) return;
    if (even_->tasks > 1) result_.costs.sums_on_host = sums(*even_, true);
    if (even_->hosts > 1) result_.costs.sums_between_hosts = sums(*even_, false);
  }

 private:
  // ---- The tasks ----

  /// With `on_host`, returns a task that shares its host with another task, and sets first_ to that other task. Else
  /// returns a task that is not on the host of task 0.
  std::optional<int> other_task(bool on_host) {
    for (int other = 1; other < cluster_.size(); ++other)
      for (int task = 0; task < (on_host ? other : 1); ++task)
        if ((host(task) == host(other)) == on_host) {
          if (on_host) first_ = task;
          return other;
        }
    return std::nullopt;
  }

  [[nodiscard]] std::int32_t host(int task) const { return tasks_[task].host; }

  [[nodiscard]] std::optional<EvenHosts> even_hosts() const {
    std::set<std::int32_t> hosts;
    for (const TaskInfo& task : tasks_) hosts.insert(task.host);
    const auto count = static_cast<int>(hosts.size()), each = cluster_.size() / count;
    for (int task = 0; task < cluster_.size(); ++task)
      if (each * count != cluster_.size() || host(task) != host(task / each * each)) return std::nullopt;
    return EvenHosts{count, each};
  }

  /// The number of measurements in measure().
  [[nodiscard]] int measurements() const {
    const int kinds = (mate_ ? 1 : 0) + (stranger_ ? 1 : 0) + (even_ && even_->tasks > 1 ? 1 : 0) +
                      (even_ && even_->hosts > 1 ? 1 : 0);
    constexpr int kOfWaiting = 2;
    return kinds * static_cast<int>(std::size(kSizes)) + kOfWaiting;
  }

  // ---- Times ----

  /// Sends the seconds that one process has measured to all processes. The other processes pass 0. All processes call
  /// it.
  [[nodiscard]] double exchange_maximum(double mine) const {
    double most = 0;
    constexpr int kExact = 17;
    for (const std::string& text : cluster_.exchange(digits_text(mine, kExact))) {
      double theirs = 0;
      static_cast<void>(parse_real(text, theirs));
      most = std::max(most, theirs);
    }
    return most;
  }

  [[nodiscard]] Session session_of(const Graph& graph) const {
    return {graph, cluster_, SessionOptions{.plan = {.default_device = DeviceKind::cpu}}};
  }

  /// The shortest time of a step of `target`, in seconds, measured by the task `measures`.
  [[nodiscard]] double shortest_step(const Graph& graph, const Value& target, int measures) {
    const double seconds = exchange_maximum(budget_.next());
    Session session = session_of(graph);
    RunRequest request;
    request.targets = {target};
    request.fetch_to = measures;
    const auto run = [&](std::int64_t steps) { return exchange_maximum(least_step(session, request, steps)); };
    return shortest_within(system_clock(), seconds, {run, [this](double own) { return exchange_maximum(own); }});
  }

  /// The seconds of a kernel that reads and writes `bytes` bytes.
  [[nodiscard]] double computing(std::int64_t bytes) const {
    const auto traffic = 2 * static_cast<double>(bytes);
    const int threads = tasks_[0].threads;
    const OpWork work{static_cast<double>(bytes) / sizeof(float), traffic};
    return static_cast<double>(kernel_picoseconds(DeviceKind::cpu, result_.costs.compute, work, threads)) * 1e-12;
  }

  /// Fits latency and bandwidth of a link to pairs of a message's bytes and seconds. Each time includes a kernel that
  /// makes these bytes. A task sends `share` bytes for each byte of a message.
  [[nodiscard]] LinkCost fit(const std::vector<std::pair<std::int64_t, double>>& seconds, double share) const {
    constexpr double kLeastShare = 0.1;  // the share of the time that moves bytes is at least this
    const double latency = std::max(seconds[0].second - computing(seconds[0].first), kLeastLatency);
    double logarithms = 0;
    for (std::size_t i = seconds.size() - kLargeSizes; i < seconds.size(); ++i) {
      const auto [bytes, time] = seconds[i];
      const double moving = std::max(time - latency - computing(bytes), kLeastShare * time);
      logarithms += std::log(std::min(share * static_cast<double>(bytes) / moving, kMostBytesPerSecond));
    }
    return {latency, std::exp(logarithms / static_cast<double>(kLargeSizes))};
  }

  // ---- Messages ----

  [[nodiscard]] LinkCost link(int first, int second) {
    std::vector<std::pair<std::int64_t, double>> seconds;
    for (const std::int64_t bytes : kSizes) {
      const std::int64_t hops = std::min(work_for(bytes).per_step, kMostRounds);
      Graph graph;
      const Value target = hop_chain(graph, first, second, bytes, hops);
      seconds.emplace_back(bytes, shortest_step(graph, target, first) / static_cast<double>(hops));
    }
    return fit(seconds, 1);
  }

  /// The additional seconds of a message if its receiver has waited for a millisecond.
  [[nodiscard]] double waiting(int first, int second) {
    constexpr std::chrono::milliseconds kPause{1};
    Graph graph;
    const Value target = hop_chain(graph, first, second, sizeof(float), 2);
    const double at_once = shortest_step(graph, target, first);
    const double most_steps =
        exchange_maximum(budget_.next()) / (std::chrono::duration<double>(kPause).count() + at_once);
    const auto steps = static_cast<std::int64_t>(std::clamp(most_steps, 8.0, 60.0));
    Session session = session_of(graph);
    std::vector<double> times;
    TimePoint begin;
    RunRequest request;
    request.targets = {target};
    request.fetch_to = first;
    request.steps = steps + 1;
    request.on_step = [&](std::int64_t step, std::span<const Tensor>) {
      if (step > 0) times.push_back(std::chrono::duration<double>(system_clock().now() - begin).count());
      std::this_thread::sleep_for(kPause);
      begin = system_clock().now();
    };
    static_cast<void>(session.run(request));
    double paused = 0;
    if (!times.empty()) {
      const auto quartile = times.begin() + steps / 4;
      std::nth_element(times.begin(), quartile, times.end());
      paused = *quartile;
    }
    return std::max((exchange_maximum(paused) - at_once) / 2, 0.0);
  }

  // ---- Sums ----

  [[nodiscard]] LinkCost sums(const EvenHosts& even, bool one_host) {
    AllReduceTimes& times = result_.sums.emplace_back(AllReduceTimes{one_host, one_host ? even.tasks : even.hosts});
    for (const std::int64_t bytes : kSizes) {
      const std::int64_t rounds = std::min(work_for(bytes).per_step, kMostRounds);
      Graph graph;
      const MeshId mesh = graph.mesh(std::vector<Mesh::Axis>{{"hosts", even.hosts}, {"tasks", even.tasks}});
      const Value target = sum_rounds(graph, mesh, 2, one_host ? 1 : 0, times.members, bytes, rounds);
      times.seconds.emplace_back(bytes, shortest_step(graph, target, 0) / static_cast<double>(rounds));
    }
    return fit(times.seconds, 2 * static_cast<double>(times.members - 1) / static_cast<double>(times.members));
  }

  const Cluster& cluster_;
  const std::vector<TaskInfo>& tasks_;
  Calibration& result_;
  int first_ = 0;                        // the first of two tasks that share a host
  const std::optional<int> mate_;        // a task that shares its host with first_
  const std::optional<int> stranger_;    // a task that is not on the host of task 0
  const std::optional<EvenHosts> even_;  // the tasks by host, if all hosts have the same number
  TimeBudget budget_;
};

}  // namespace

Calibration calibrate(const Cluster& cluster, double seconds) {
  constexpr double kOfComputing = 0.6;  // the share of the time for measure_computing()
  TimeBudget budget(system_clock(), seconds, 1);
  Calibration result;
  const bool alone = cluster.size() == 1;
  cluster.barrier();
  result.costs.compute =
      measure_computing(cluster.topology().tasks[cluster.rank()].threads, alone ? seconds : kOfComputing * seconds);
  cluster.barrier();
  if (!alone) Links(cluster, budget.next(), result).measure();
  return result;
}

}  // namespace ferry::bench
