#include "executor/session/tuner.hpp"

#include <algorithm>
#include <chrono>

#include "base/system/clock.hpp"
#include "plan/variable_packing.hpp"

namespace ferry {
namespace {

constexpr double kMeasuredSeconds = 0.02;
constexpr double kMostSteps = 1000;

}  // namespace

std::size_t best_size(std::span<const Tuned::Size> sizes) {
  constexpr double kGain = 0.98;
  std::size_t best = 0;
  for (std::size_t i = 1; i < sizes.size(); ++i)
    if (sizes[i].seconds < sizes[best].seconds) best = i;
  return sizes[best].seconds < kGain * sizes[0].seconds ? best : 0;
}

Tuned Tuner::tune(const std::vector<SharedPlan>& plans, const Agreed& agreed, std::int64_t step, const RunFeeds& feeds,
                  const TuneOptions& options) {
  Tuned tuned;
  for (const SharedPlan& planned : plans) tuned.sizes.push_back({planned->result.plan.bucket_bytes, 0});
  if (plans.size() > 1) measure_all(plans, agreed, step, feeds, options, tuned.sizes);
  tuned.chosen = best_size(tuned.sizes);
  return tuned;
}

void Tuner::measure_all(const std::vector<SharedPlan>& plans, const Agreed& agreed, std::int64_t step,
                        const RunFeeds& feeds, const TuneOptions& options, std::span<Tuned::Size> sizes) {
  Clock& clock = options.clock != nullptr ? *options.clock : system_clock();
  const auto seconds = [&](std::size_t i, std::int64_t steps) {
    return measure(*plans[i], agreed, step, steps, feeds, clock) / static_cast<double>(steps);
  };
  std::int64_t steps = options.steps;
  if (steps == 0) {
    const double fit = kMeasuredSeconds / std::max(seconds(0, 1), kMeasuredSeconds / kMostSteps);
    steps = std::max<std::int64_t>(static_cast<std::int64_t>(task_.member.of_first(fit)), 1);
  }
  for (int round = 0; round < options.rounds; ++round)
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const double now = seconds(i, steps);
      sizes[i].seconds = round == 0 ? now : std::min(sizes[i].seconds, now);
    }
  for (Tuned::Size& size : sizes) size.seconds = task_.member.of_first(size.seconds);
}

double Tuner::measure(const VerifiedPlan& planned, const Agreed& agreed, std::int64_t step, std::int64_t steps,
                      const RunFeeds& feeds, Clock& clock) {
  const Plan& plan = planned.result.plan;
  const int task = task_.member.task();
  return task_.member.guarded([&] {
    measured_ = plans_.measured_executor(planned);
    const VariableStore::Bytes before = task_.variables.copy(written_variables(plan, task));
    const std::vector<Tensor> given = given_feeds(plan, feeds, task_.member);
    std::vector<Tensor> fetched(plan.fetches.size());
    TimePoint start;
    for (std::int64_t i = 0; i <= steps; ++i) {
      step = agreed.first_whole(step);
      measured_->step(step++, given, fetched);
      if (i > 0 && i < steps) continue;
      static_cast<void>(task_.member.exchange(""));
      if (task == 0 && i == 0) start = clock.now();
    }
    const double taken = task == 0 ? std::chrono::duration<double>(clock.now() - start).count() : 0;
    task_.variables.restore_copy(before);
    measured_.reset();
    return taken;
  });
}

}  // namespace ferry
