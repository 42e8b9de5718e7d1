// Asynchronous training with parameter servers: workers do not wait for one another, and servers hold the variables
// (Dean et al., "Large scale distributed deep networks", 2012). A bound limits how many steps workers may be apart (Ho
// et al., "More effective distributed ML via a stale synchronous parallel parameter server", 2013).
//
//     Value centre, loss;
//     { auto here = g.device("/job:ps/task:0");                     centre = g.variable("centre", g.constant(0.0)); }
//     { auto here = g.on(g.mesh("workers", "/job:worker/task:*"));  loss = mean(square(x - centre)); }
//     for (const Value& update : asynchronous(sgd(loss, {centre}, 0.1), {.staleness = 4})) g.target("train", update);
//
// See docs/guide/asynchronous.md.
#pragma once

#include <cstdint>
#include <span>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

struct AsynchronousOptions {
  /// The most steps that a worker may be ahead of another worker. 0: synchronous training, bit for bit.
  std::int64_t staleness = 1;
};

/// Returns updates that servers apply asynchronously: a server applies an update with the gradients of one worker as
/// soon as they arrive. With n workers, it applies each update n times in a step. In step k, the weights that a worker
/// reads have at least all updates of the steps before k - staleness. Run the result instead of `updates`.
///
/// Each variable must be whole on one CPU, and the task of that CPU must do nothing else. The gradients must be sums
/// over a mesh of the tasks of all workers. Planning reports graphs that break these rules.
///
/// Throws Error(plan) with the caller's line if there are no updates, if an update is not the result of assign(), or if
/// the staleness is negative or above 1,000,000.
///
///     Values updates = asynchronous(sgd(loss, weights, 0.1), {.staleness = 4});
[[nodiscard]] Values asynchronous(const Values& updates, const AsynchronousOptions& options = {},
                                  source_location at = source_location::current());

/// The op Asynchronous {staleness}. It returns its input, an assignment.
[[nodiscard]] std::span<const OpDef* const> asynchronous_ops();

}  // namespace ferry
#pragma GCC visibility pop
