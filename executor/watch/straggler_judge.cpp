#include "executor/watch/slowness.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace ferry {
namespace {

using Work = WorkTimes::Work;

/// The least number of samples of a task that is compared, and the least number for differences that are not clear.
constexpr std::int64_t kFewestSamples = 6, kFewestUnclear = 30;
/// How much longer a slow op takes than on other tasks. kClearlySlow is the limit if cores are shared.
constexpr double kSlow = 0.10, kClearlySlow = 0.50;
/// The difference must also be at least this many times the variation. For a clear difference this many standard errors
/// suffice, because the times of a task that shares its core vary.
constexpr double kDistances = 4, kErrors = 5;
/// The least cost to the job, as a share of a step.
constexpr double kCostOfSlow = 0.03, kCostOfUneven = 0.10;
/// A thread that gets a smaller share of its core shares the core with other threads.
constexpr double kWholeCore = 0.9;

double core_of(const Work& work) {
  return work.wall.median > 0 ? std::min(work.cpu.median / work.wall.median, 1.0) : 1.0;
}

double of_all(const std::vector<const Work*>& works, double (*figure)(const Work&)) {
  std::vector<double> values;
  for (const Work* work : works) values.push_back(figure(*work));
  return median_of(std::move(values));
}

/// The time that a task loses in a step by one kind of work.
struct Excess {
  const Work* work = nullptr;
  double seconds = 0, slowdown = 0;
  bool starved = false;
};

std::optional<Excess> excess_of(const Work& work, const std::vector<const Work*>& elsewhere, bool crowded,
                                bool few_samples) {
  const bool by_cpu = crowded || of_all(elsewhere, core_of) < kWholeCore;
  Spread Work::*const figure = by_cpu ? &Work::cpu : &Work::wall;
  std::vector<double> medians, distances{(work.*figure).distance}, errors{(work.*figure).error}, of_cpu;
  for (const Work* other : elsewhere) {
    medians.push_back((other->*figure).median);
    distances.push_back((other->*figure).distance);
    errors.push_back((other->*figure).error);
    of_cpu.push_back(other->cpu.median);
  }
  const Spread usual = spread_of(medians);
  const double more = (work.*figure).median - usual.median;
  const bool clear = more >= kClearlySlow * usual.median && more >= kErrors * *std::ranges::max_element(errors);
  const bool steady = !few_samples && more >= (by_cpu ? kClearlySlow : kSlow) * usual.median &&
                      more >= kDistances * *std::ranges::max_element(distances);
  if (more <= 0 || more < kDistances * usual.distance || !(clear || steady)) return std::nullopt;
  const bool starved = work.cpu.median - median_of(std::move(of_cpu)) < more / 2;
  return Excess{&work, more * work.runs, more / usual.median, starved};
}

/// The tasks of one plan.
class Comparison {
 public:
  explicit Comparison(std::vector<const WorkTimes*> tasks) : tasks_(std::move(tasks)) {
    for (const WorkTimes* task : tasks_)
      for (const Work& work : task->busiest) {
        alike_[work.key].push_back({task, &work});
        const auto [at, added] = least_cpu_.emplace(work.key, work.cpu.median);
        if (!added) at->second = std::min(at->second, work.cpu.median);
      }
  }

  [[nodiscard]] std::optional<Straggler> judge(const WorkTimes& own) const {
    std::vector<double> waiting;
    for (const WorkTimes* task : tasks_)
      if (task != &own) waiting.push_back(task->waiting);
    if (waiting.empty()) return std::nullopt;
    const double awaited = median_of(std::move(waiting)) - own.waiting;
    if (awaited <= 0) return std::nullopt;
    std::optional<Straggler> found = slow(own, awaited);
    return found || few_samples() ? found : uneven(own, awaited);
  }

 private:
  struct OfTask {
    const WorkTimes* task;
    const Work* work;
  };

  [[nodiscard]] std::optional<Straggler> slow(const WorkTimes& own, double awaited) const {
    Excess worst;
    double lost = 0;
    for (const Work& work : own.busiest) {
      std::vector<const Work*> elsewhere;
      bool crowded = own.crowded;
      for (const OfTask& other : alike_.at(work.key)) {
        if (other.task == &own) continue;
        elsewhere.push_back(other.work);
        crowded = crowded || other.task->crowded;
      }
      if (elsewhere.empty()) continue;
      const std::optional<Excess> excess = excess_of(work, elsewhere, crowded, few_samples());
      if (!excess) continue;
      lost += excess->seconds;
      if (excess->seconds > worst.seconds) worst = *excess;
    }
    const double cost = std::min(lost, awaited) / own.step;
    if (worst.work == nullptr || cost < kCostOfSlow) return std::nullopt;
    Straggler found{.cost = cost};
    found.cause = worst.starved ? Straggler::Cause::starved : Straggler::Cause::slow;
    found.op = worst.work->op;
    found.slowdown = worst.slowdown;
    found.core = core_of(*worst.work);
    return found;
  }

  [[nodiscard]] bool few_samples() const {
    return std::ranges::any_of(tasks_, [](const WorkTimes* task) { return task->samples < kFewestUnclear; });
  }

  /// The task's work in a step, as the seconds that the fastest task with the same work takes. So the task's own speed
  /// does not count.
  [[nodiscard]] double work_of(const WorkTimes& task) const {
    double seconds = 0;
    for (const Work& work : task.busiest) seconds += work.runs * least_cpu_.at(work.key);
    return seconds;
  }

  [[nodiscard]] std::optional<Straggler> uneven(const WorkTimes& own, double awaited) const {
    double work = 0, computing = 0;
    for (const WorkTimes* task : tasks_) {
      work += work_of(*task) / static_cast<double>(tasks_.size());
      computing += task->computing() / static_cast<double>(tasks_.size());
    }
    const double more = std::min(work_of(own) - work, own.computing() - computing);
    const double cost = std::min(more, awaited) / own.step;
    if (cost < kCostOfUneven) return std::nullopt;
    Straggler found{.cost = cost};
    found.cause = Straggler::Cause::uneven;
    found.slowdown = more / computing;
    return found;
  }

  std::vector<const WorkTimes*> tasks_;
  std::unordered_map<std::uint64_t, std::vector<OfTask>> alike_;
  std::unordered_map<std::uint64_t, double> least_cpu_;
};

}  // namespace

std::vector<Straggler> judge_stragglers(std::span<const WorkTimes> tasks) {
  std::unordered_map<std::uint64_t, std::vector<const WorkTimes*>> by_plan;
  for (const WorkTimes& task : tasks)
    if (task.samples >= kFewestSamples) by_plan[task.plan].push_back(&task);
  std::vector<Straggler> found;
  for (auto& [plan, of_plan] : by_plan) {
    const Comparison comparison(of_plan);
    for (const WorkTimes* task : of_plan) {
      std::optional<Straggler> straggler = comparison.judge(*task);
      if (!straggler) continue;
      straggler->task = static_cast<int>(task - tasks.data());
      found.push_back(std::move(*straggler));
    }
  }
  std::ranges::sort(found, {}, &Straggler::task);
  return found;
}

}  // namespace ferry
