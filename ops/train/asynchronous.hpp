// Asynchronous training with parameter servers: workers do not wait for one another, and servers hold the variables
// (Dean et al., "Large scale distributed deep networks", 2012). A bound limits how many steps workers may be apart (Ho
// et al., "More effective distributed ML via a stale synchronous parallel parameter server", 2013).
//
//     { auto here = g.device("/job:ps/task:0");                weights = g.variable(…); }
//     { auto here = g.on(g.mesh("workers", "/job:worker/*"));  loss = mean(…); }
//     for (const Value& update : asynchronous(sgd(loss, {weights}, 0.1), {.staleness = 4})) g.target("train", update);
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
  /// How many steps a worker may be ahead of another one. 0: none, which is synchronous training, bit for bit.
  std::int64_t staleness = 1;
};

/// The same updates, which a server makes with each worker's part of the gradients by itself, as soon as that has come:
/// with n workers n times in a step. In step k a worker has weights with at least all updates of steps before
/// k - staleness. Run the result instead of `updates`.
///
/// Each variable is whole on one CPU, and the task of that CPU does nothing else. The gradients are sums over a mesh of
/// the tasks of all workers. Planning reports graphs that do not fit.
///
/// Error(plan) with the caller's line when there are no updates, when one is not the result of assign(), or when the
/// staleness is negative or above 1,000,000.
[[nodiscard]] Values asynchronous(const Values& updates, const AsynchronousOptions& options = {},
                                  source_location at = source_location::current());

/// Asynchronous {staleness}: its input, an assignment.
[[nodiscard]] std::span<const OpDef* const> asynchronous_ops();

}  // namespace ferry
#pragma GCC visibility pop
