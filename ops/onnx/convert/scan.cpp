// Converters of Scan. The body is unrolled, with a copy for each element; if that is too much, it becomes the body of a
// loop.
#include <algorithm>
#include <numeric>

#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/control/control.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/onnx/convert/bodies.hpp"

namespace ferry::onnx {
namespace {

/// The element of `x` at position `at` along `axis`, without this dim.
Value element(const Value& x, std::int64_t axis, std::int64_t at) {
  return squeeze(slice(x, axis, at, at + 1), {axis});
}

std::int64_t at_or_zero(const Ints& list, std::size_t i) {
  return i < list.size() ? list[i] : 0;
}

/// A scanned input: each iteration takes one element along `axis`.
struct Scanned {
  Value x;
  std::int64_t axis;
  bool backwards;
};

struct ScanForm {
  const GraphDef& body;
  int first;            ///< number of the first input that the body takes
  std::size_t scanned;  ///< number of scanned inputs
  std::size_t states;
  std::size_t collected;  ///< number of outputs to which each iteration contributes one element
};

ScanForm scan_form(Context& c, int first) {
  const GraphDef& body = c.body("body");
  const std::int64_t scanned = c.integer("num_scan_inputs"), inputs = c.inputs() - first;
  if (scanned < 1 || scanned > inputs || static_cast<std::int64_t>(body.inputs.size()) != inputs ||
      static_cast<std::int64_t>(body.outputs.size()) + scanned < inputs)
    Context::fail("its body does not fit its inputs");
  const auto states = static_cast<std::size_t>(inputs - scanned);
  return {body, first, static_cast<std::size_t>(scanned), states, body.outputs.size() - states};
}

/// For each collected output: the dim along which the iterations' elements are stacked, and whether the first element
/// is from the last iteration.
struct Collected {
  Ints axes, backwards;
};

/// The outputs of the body in an iteration: the states, followed by the elements.
std::vector<BodyValue> one_iteration(Context& c, const ScanForm& form, const BodyOuts& state,
                                     const std::vector<Scanned>& inputs) {
  std::vector<BodyValue> given;
  for (const Out& one : state) given.push_back({one.known.defined() ? Type() : c.value(one).type(), one.known});
  for (const Scanned& input : inputs) {
    Shape shape;
    for (int d = 0; d < input.x.shape().rank(); ++d)
      if (d != input.axis) shape.push_back(input.x.shape()[d]);
    given.push_back({{input.x.dtype(), std::move(shape)}, {}});
  }
  return c.infer_outputs(form.body, given);
}

/// The results of no iterations: the states as they are, followed by empty tensors.
BodyOuts nothing_scanned(Context& c, const ScanForm& form, BodyOuts state, const std::vector<Scanned>& inputs,
                         const Collected& out) {
  const std::vector<BodyValue> results = one_iteration(c, form, state, inputs);
  for (std::size_t k = 0; k < form.collected; ++k)
    state.emplace_back(empty_stack(results[form.states + k], at_or_zero(out.axes, k)));
  return state;
}

/// Moves the first dim of x to position `axis`.
Value with_rows_along(const Value& x, std::int64_t axis) {
  Ints perm(static_cast<std::size_t>(x.rank()) - 1);
  std::iota(perm.begin(), perm.end(), 1);
  perm.insert(perm.begin() + stacking_axis(axis, x.rank()), 0);
  return transpose(x, perm);
}

/// Runs the body as the body of a loop. Returns the outputs of scan().
BodyOuts scan_in_loop(Context& c, const ScanForm& form, const BodyOuts& state, const std::vector<Scanned>& inputs,
                      std::int64_t length, const Collected& out) {
  Values initial{c.graph().constant(Tensor::scalar<std::int64_t>(0))};
  for (const Out& one : state) initial.push_back(c.value(one));
  const std::vector<BodyValue> results = one_iteration(c, form, {initial.begin() + 1, initial.end()}, inputs);
  for (std::size_t k = 0; k < form.collected; ++k)
    initial.push_back(make_space_for(c, results[form.states + k], length));
  const auto row_of = [&](const Value& t, bool backwards) { return backwards ? length - 1 - t : t; };
  const Values end = while_loop(
      initial, [&](const Values& now) { return less(now[0], length); },
      [&](const Values& now) {
        BodyOuts given(now.begin() + 1, now.begin() + 1 + static_cast<std::ptrdiff_t>(form.states));
        for (const Scanned& input : inputs)
          given.emplace_back(gather(input.x, row_of(now[0], input.backwards), input.axis));
        Values next = values_of(c, c.build(form.body, given));
        next.insert(next.begin(), now[0] + 1);
        for (std::size_t k = 0, at = form.states + 1; k < form.collected; ++k, ++at)
          next[at] = with_row(now[at], row_of(now[0], at_or_zero(out.backwards, k) != 0), next[at]);
        return next;
      });
  BodyOuts all(end.begin() + 1, end.begin() + 1 + static_cast<std::ptrdiff_t>(form.states));
  for (std::size_t k = 0; k < form.collected; ++k)
    all.emplace_back(with_rows_along(end[form.states + 1 + k], at_or_zero(out.axes, k)));
  return all;
}

/// The states after all iterations, followed by the collected elements, stacked along the axes of `out`.
BodyOuts scan(Context& c, const ScanForm& form, BodyOuts state, const std::vector<Scanned>& inputs, std::int64_t length,
              const Collected& out) {
  if (length == 0) return nothing_scanned(c, form, std::move(state), inputs, out);
  if (is_too_long(form.body, length)) return scan_in_loop(c, form, state, inputs, length, out);
  std::vector<BodyOuts> elements(form.collected);
  for (std::int64_t t = 0; t < length; ++t) {
    BodyOuts given = state;
    for (const Scanned& input : inputs)
      given.emplace_back(element(input.x, input.axis, input.backwards ? length - 1 - t : t));
    const BodyOuts results = c.build(form.body, given);
    state.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(form.states));
    for (std::size_t k = 0; k < elements.size(); ++k) elements[k].push_back(results[form.states + k]);
  }
  for (std::size_t k = 0; k < elements.size(); ++k) {
    if (at_or_zero(out.backwards, k) != 0) std::reverse(elements[k].begin(), elements[k].end());
    state.emplace_back(stacked(c, elements[k], at_or_zero(out.axes, k)));
  }
  return state;
}

Outs to_scan(Context& c) {
  const ScanForm form = scan_form(c, 0);
  const Ints axes = c.integers("scan_input_axes"), backwards = c.integers("scan_input_directions");
  const std::int64_t length = c.size(static_cast<int>(form.states), at_or_zero(axes, 0));
  BodyOuts state;
  for (std::size_t i = 0; i < form.states; ++i) state.push_back(c.out(static_cast<int>(i)));
  std::vector<Scanned> inputs;
  for (std::size_t k = 0; k < form.scanned; ++k) {
    const int input = static_cast<int>(form.states + k);
    inputs.push_back({c.in(input), c.axis(input, at_or_zero(axes, k)), at_or_zero(backwards, k) != 0});
  }
  return outs_of(
      scan(c, form, state, inputs, length, {c.integers("scan_output_axes"), c.integers("scan_output_directions")}));
}

/// Scan in operator set 8: runs separately for each element of the batch, with states [batch,…] and inputs
/// [batch,length,…]. Input 0 may list lengths; all of them must equal `length`.
Outs to_scan_8(Context& c) {
  const ScanForm form = scan_form(c, 1);
  const Ints backwards = c.integers("directions");
  const int first_scanned = form.first + static_cast<int>(form.states);
  const std::int64_t batch = c.size(first_scanned, 0), length = c.size(first_scanned, 1);
  check_unrolled(batch);
  if (c.has(0))
    for (const std::int64_t one : c.ints(0))
      if (one != length)
        Context::fail("its lengths have " + std::to_string(one) + ", its sequences " + std::to_string(length));
  std::vector<BodyOuts> rows(form.states + form.collected);
  for (std::int64_t b = 0; b < batch; ++b) {
    BodyOuts state;
    for (int i = form.first; i < first_scanned; ++i) state.emplace_back(element(c.in(i), 0, b));
    std::vector<Scanned> inputs;
    for (std::size_t k = 0; k < form.scanned; ++k) {
      const Value x = c.in(first_scanned + static_cast<int>(k));
      inputs.push_back({element(x, 0, b), 0, at_or_zero(backwards, k) != 0});
    }
    const BodyOuts results = scan(c, form, state, inputs, length, {});
    for (std::size_t o = 0; o < rows.size(); ++o) rows[o].push_back(results[o]);
  }
  if (batch == 0) Context::fail("its batch is empty");
  BodyOuts outs;
  for (const BodyOuts& row : rows) outs.emplace_back(stacked(c, row, 0));
  return outs_of(outs);
}

constexpr ConvertOp kScan[] = {
    {"Scan", 8, to_scan_8},
    {"Scan", 9, to_scan},
};

}  // namespace

std::span<const ConvertOp> scan_converters() {
  return kScan;
}

}  // namespace ferry::onnx
