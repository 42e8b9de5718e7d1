// Control flow, as functions of values: the bodies are subgraphs. They are written as C++ functions that are called
// once, while the graph is built: the ops that they make become the body, and values of the surrounding graph that they
// use are captured.
//
// Errors: Error(plan) with the caller's line when types do not fit.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Repeats `body` while `condition` of the carried values, a bool scalar, is true. The carried values are `initial` at
/// first, and then the results of the body, which have the same types. Returns the carried values at the end.
///
///     Values end = while_loop({g.constant(0.0), x}, [&](const Values& c) { return less(c[0], 10); },
///                             [&](const Values& c) { return Values{c[0] + 1, matmul(a, c[1])}; });
Values while_loop(const Values& initial, const std::function<Value(const Values&)>& condition,
                  const std::function<Values(const Values&)>& body, source_location at = source_location::current());

/// The results of `then_branch` if `predicate` (a bool scalar) is true, else the results of `else_branch`. Both have
/// the same types, but their numbers of rows (dim 0) may differ if one is bounded: then the result has the greater
/// bound. Only the branch that is taken is run.
Values cond(const Value& predicate, const std::function<Values()>& then_branch,
            const std::function<Values()>& else_branch, source_location at = source_location::current());

/// x itself, printed with `label` on stderr each time it is computed, by one task. It runs only in steps that need the
/// result or have it as a target.
Value print(const Value& x, std::string_view label, source_location at = source_location::current());

/// The ops. While {cond, body: subgraphs, carried: int}: inputs are the carried values, then the captures of cond, then
/// the captures of body. Cond {then_branch, else_branch: subgraphs}: inputs are the predicate, the captures of
/// then_branch, the captures of else_branch. Print {label}.
[[nodiscard]] std::span<const OpDef* const> control_ops();

}  // namespace ferry
#pragma GCC visibility pop
