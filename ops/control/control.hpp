// Control flow, as functions of values, with subgraphs as bodies. You write a body as a C++ function. ferry calls it
// once, while the graph is built: the ops that it makes become the body, and the values of the surrounding graph that
// it uses are captured.
//
// Errors: Error(plan) with the caller's line if types do not fit.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "base/source_location.hpp"
#include "graph/op/op_def.hpp"
#include "graph/value.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// Repeats `body` while `condition` of the carried values, a bool scalar, is true. The carried values are first
/// `initial`, and after each iteration the results of the body, which have the same types. Returns the last carried
/// values. No gradient.
///
///     Values end = while_loop({g.constant(1)}, [](const Values& v) { return v[0] < 100; },
///                             [](const Values& v) { return Values{v[0] * 2}; });
///     end[0];  // 128
Values while_loop(const Values& initial, const std::function<Value(const Values&)>& condition,
                  const std::function<Values(const Values&)>& body, source_location at = source_location::current());

/// The results of `then_branch` if `predicate` (a bool scalar) is true, else the results of `else_branch`. Both have
/// the same types, but their numbers of rows (dim 0) may differ if one is bounded; the result then has the greater
/// bound. Only the selected branch runs.
///
///     Value v = g.constant({1.0, 2.0});
///     cond(sum(v) > 5, [&] { return Values{v}; }, [&] { return Values{-v}; })[0];  // [-1 -2]
Values cond(const Value& predicate, const std::function<Values()>& then_branch,
            const std::function<Values()>& else_branch, source_location at = source_location::current());

/// Returns x, and prints it with `label` on stderr each time it is computed, by one task. It runs only in steps that
/// need the result or have it as a target.
///
///     Value shown = print(sum(x), "sum of x");  // float32[]
Value print(const Value& x, std::string_view label, source_location at = source_location::current());

/// The ops, with their attributes in braces. While {cond, body: subgraphs, carried: int}: the inputs are the carried
/// values, then the captures of cond, then the captures of body. Cond {then_branch, else_branch: subgraphs}: the inputs
/// are the predicate, then the captures of then_branch, then the captures of else_branch. Print {label}.
[[nodiscard]] std::span<const OpDef* const> control_ops();

}  // namespace ferry
#pragma GCC visibility pop
