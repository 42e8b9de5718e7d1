#include "bench/tasks/two_tasks.hpp"

#include <algorithm>

#include "base/system/clock.hpp"

namespace ferry::bench {

void scale_and_add(float* output, const float* input, std::int64_t count, float factor, float added) {
  for (std::int64_t i = 0; i < count; ++i) output[i] = input[i] * factor + added;
}

double micros(const std::function<void()>& body) {
  const TimePoint begin = system_clock().now();
  body();
  return std::chrono::duration<double, std::micro>(system_clock().now() - begin).count();
}

double micros_of_step(Job& job, std::int64_t steps) {
  TimePoint first, last;
  RunRequest request;
  request.targets = job.targets;
  request.steps = steps + 1;
  request.on_step = [&](std::int64_t step, std::span<const Tensor>) {
    last = system_clock().now();
    if (step == 0) first = last;
  };
  static_cast<void>(job.session->run(request));
  return std::chrono::duration<double, std::micro>(last - first).count() / static_cast<double>(steps);
}

Sides sides_of(std::shared_ptr<Job> job, Work work, std::function<void(std::int64_t)> by_hand) {
  return {[=, job = std::move(job)] { return micros_of_step(*job, work.steps) / static_cast<double>(work.per_step); },
          [=, by_hand = std::move(by_hand)] {
            const std::int64_t times = work.steps * work.per_step;
            return micros([&] { by_hand(times); }) / static_cast<double>(times);
          }};
}

}  // namespace ferry::bench
