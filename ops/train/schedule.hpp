// Learning rates that change from step to step: scalars computed from a count of steps.
//
//     const StepCount count = count_steps(g);
//     const Value rate = warm_up(cosine_decay(0.1, count.steps, 10000), count.steps, 500);
//     Values updates = momentum(loss, weights, rate);
//     updates.push_back(count.update);
//
// `rate` may be a number (the result is float64) or the scalar of another schedule (the result has its dtype). `steps`
// is an integer scalar, 0 in the first step. Errors: Error(plan), with the caller's line, if shapes or dtypes do not
// fit, or if a number of steps is not positive.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/source_location.hpp"
#include "graph/graph.hpp"
#include "graph/op/attrs.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// A variable that counts the steps in which `update` runs.
struct StepCount {
  Value steps;   ///< int64 scalar: the number of steps before this step
  Value update;  ///< run it with the updates that are counted
};

/// Makes a variable that counts steps, named `name`, and its update. It is saved like any other variable, so a run that
/// continues from a saved model continues its schedule.
///
///     StepCount count = count_steps(g);
///     count.steps;   // 0
///     count.update;  // 1
[[nodiscard]] StepCount count_steps(Graph& graph, std::string_view name = "steps",
                                    source_location at = source_location::current());

/// Returns rate * (steps + 1) / count in the first `count` steps, then rate.
///
///     warm_up(0.1, g.constant(4, DType::int64), 10);  // 0.05
Value warm_up(const Operand& rate, const Value& steps, std::int64_t count,
              source_location at = source_location::current());

/// The rate for a batch that is `tasks` times as large. It grows in equal steps from `rate` in the first step to rate *
/// tasks in step `count`, and stays there (Goyal et al., "Accurate, large minibatch SGD", 2017). `tasks` must be at
/// least 1.
///
///     scaled_by_tasks(0.1, 8, g.constant(50, DType::int64), 100);  // 0.45
Value scaled_by_tasks(const Operand& rate, int tasks, const Value& steps, std::int64_t count,
                      source_location at = source_location::current());

/// Returns rate * factor^n, where n is steps / every, rounded down.
///
///     step_decay(0.1, g.constant(25, DType::int64), 10);  // 0.001
Value step_decay(const Operand& rate, const Value& steps, std::int64_t every, double factor = 0.1,
                 source_location at = source_location::current());

/// Returns rate * factor^n, where n is the number of `milestones` that are at most `steps`.
///
///     milestone_decay(0.1, g.constant(25, DType::int64), {10, 30});  // 0.01
Value milestone_decay(const Operand& rate, const Value& steps, const Ints& milestones, double factor = 0.1,
                      source_location at = source_location::current());

/// Returns lowest + (rate - lowest) * (1 + cos(pi * steps / count)) / 2, and `lowest` from step `count` on (Loshchilov
/// and Hutter, "SGDR", 2017, without restarts).
///
///     cosine_decay(0.1, g.constant(50, DType::int64), 100);  // 0.05
Value cosine_decay(const Operand& rate, const Value& steps, std::int64_t count, double lowest = 0,
                   source_location at = source_location::current());

}  // namespace ferry
#pragma GCC visibility pop
