// Control flow: bodies of ONNX become bodies of ferry's. A loop that gives something in each iteration, and goes round
// a number of times that is known, is written out.
#include "ops/control.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ops/array.hpp"
#include "ops/logic.hpp"
#include "ops/math.hpp"
#include "ops/onnx/converters.hpp"
#include "ops/reshape.hpp"

namespace ferry::onnx {
namespace {

constexpr std::int64_t kMaxWritten = 200'000;  // nodes that a loop is written out to

using Results = std::vector<Out>;

Outs outs_of(const Results& results) {
  Outs outs{};
  outs.assign(results.begin(), results.end());
  return outs;
}

// ---- If ----

/// The outputs of a body as values that the body itself gives.
Values values_of(Context& c, const Results& results) {
  Values values;
  for (const Out& out : results) values.push_back(identity(c.value(out)));
  return values;
}

Outs to_if(Context& c) {
  const GraphDef& yes = c.body("then_branch");
  const GraphDef& no = c.body("else_branch");
  if (const Tensor known = c.constant_if(0); known.defined())
    return outs_of(c.build(Context::only(0, known).integer(0) != 0 ? yes : no, {}));
  const Value predicate = c.rank(0) == 0 ? c.in(0) : reshape(c.in(0), {});
  try {
    return cond(
        predicate, [&] { return values_of(c, c.build(yes, {})); }, [&] { return values_of(c, c.build(no, {})); });
  } catch (const Error&) {
    c.take_by_value(0);  // the branch that is not taken may not fit these shapes
    throw;
  }
}

// ---- Loop ----

void check_written(std::int64_t times, const GraphDef& body) {
  const auto nodes = static_cast<std::int64_t>(body.nodes.size()) + 1;
  if (times > kMaxWritten / nodes)
    Context::fail("its body would be written out " + std::to_string(times) + " times, and has " +
                  std::to_string(nodes - 1) + " nodes");
}

/// One element of each iteration, along a new dim `axis`.
Value stacked(Context& c, const Results& elements, std::int64_t axis) {
  Values rows;
  for (const Out& element : elements) rows.push_back(expand_dims(c.value(element), {axis}));
  return concat(rows, axis);
}

struct LoopForm {
  const GraphDef& body;
  std::size_t carried;
  std::size_t collected;  ///< outputs of which each iteration gives an element
};

LoopForm loop_form(Context& c) {
  const GraphDef& body = c.body("body");
  const std::size_t carried = static_cast<std::size_t>(std::max(c.inputs() - 2, 0));
  if (body.inputs.size() != carried + 2 || body.outputs.size() < carried + 1)
    Context::fail("its body has " + std::to_string(body.inputs.size()) + " inputs and " +
                  std::to_string(body.outputs.size()) + " outputs for " + std::to_string(carried) + " carried values");
  return {body, carried, body.outputs.size() - carried - 1};
}

/// As many copies of the body as it has iterations.
Outs written_loop(Context& c, const LoopForm& form, std::int64_t times) {
  check_written(times, form.body);
  Results state;
  for (std::size_t i = 0; i < form.carried; ++i) state.push_back(c.out(static_cast<int>(i) + 2));
  std::vector<Results> elements(form.collected);
  bool more = !c.has(1) || c.whole_number(1) != 0;
  for (std::int64_t i = 0; i < times && more; ++i) {
    Results inputs{Tensor::scalar<std::int64_t>(i), Tensor::scalar<bool>(true)};
    inputs.insert(inputs.end(), state.begin(), state.end());
    const Results results = c.build(form.body, inputs);
    if (!results[0].known.defined())
      Context::fail("it gives something in each iteration, and whether it goes on is computed in its body");
    more = Context::only(0, results[0].known).integer(0) != 0;
    state.assign(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(form.carried));
    for (std::size_t k = 0; k < form.collected; ++k) elements[k].push_back(results[form.carried + 1 + k]);
  }
  for (const Results& list : elements) {
    if (list.empty()) Context::fail("it gives something in each iteration, and has none");
    state.emplace_back(stacked(c, list, 0));
  }
  return outs_of(state);
}

Outs while_of(Context& c, const LoopForm& form) {
  Values initial;
  initial.push_back(c.graph().constant(Tensor::scalar<std::int64_t>(0)));
  initial.push_back(c.has(1) ? reshape(c.in(1), {}) : c.graph().constant(Tensor::scalar<bool>(true)));
  for (int i = 2; i < c.inputs(); ++i) initial.push_back(c.in(i));
  const Value times = c.has(0) ? reshape(c.in(0), {}) : Value();
  Values end = while_loop(
      initial,
      [&](const Values& now) {
        if (!times.defined()) return identity(now[1]);
        const Value within = less(now[0], times);
        return logical_and(now[1], within);
      },
      [&](const Values& now) {
        Values next{now[0] + 1};
        for (const Value& value : values_of(c, c.build(form.body, Results(now.begin(), now.end()))))
          next.push_back(next.size() == 1 ? reshape(value, {}) : value);
        return next;
      });
  end.erase(end.begin(), end.begin() + 2);
  return end;
}

Outs to_loop(Context& c) {
  const LoopForm form = loop_form(c);
  if (form.collected > 0) {
    if (!c.has(0)) Context::fail("it gives something in each iteration, and has no bound on their number");
    return written_loop(c, form, c.whole_number(0));
  }
  return while_of(c, form);
}

// ---- Scan ----

/// Element `at` of `x` along `axis`.
Value element(const Value& x, std::int64_t axis, std::int64_t at) {
  return squeeze(slice(x, axis, at, at + 1), {axis});
}

std::int64_t at_or_zero(const Ints& list, std::size_t i) {
  return i < list.size() ? list[i] : 0;
}

Outs to_scan(Context& c) {
  const GraphDef& body = c.body("body");
  const auto scanned = static_cast<std::size_t>(c.integer("num_scan_inputs"));
  const auto inputs = static_cast<std::size_t>(c.inputs());
  if (scanned < 1 || scanned > inputs || body.inputs.size() != inputs || body.outputs.size() + scanned < inputs)
    Context::fail("its body does not fit its inputs");
  const std::size_t states = inputs - scanned;
  const Ints axes = c.integers("scan_input_axes"), backwards = c.integers("scan_input_directions");
  const Ints out_axes = c.integers("scan_output_axes"), out_backwards = c.integers("scan_output_directions");
  const std::int64_t length = c.size(static_cast<int>(states), at_or_zero(axes, 0));
  check_written(length, body);
  Results state;
  for (std::size_t i = 0; i < states; ++i) state.push_back(c.out(static_cast<int>(i)));
  std::vector<Results> elements(body.outputs.size() - states);
  for (std::int64_t t = 0; t < length; ++t) {
    Results given = state;
    for (std::size_t k = 0; k < scanned; ++k) {
      const std::int64_t at = at_or_zero(backwards, k) != 0 ? length - 1 - t : t;
      const int input = static_cast<int>(states + k);
      given.emplace_back(element(c.in(input), c.axis(input, at_or_zero(axes, k)), at));
    }
    const Results results = c.build(body, given);
    state.assign(results.begin(), results.begin() + static_cast<std::ptrdiff_t>(states));
    for (std::size_t k = 0; k < elements.size(); ++k) elements[k].push_back(results[states + k]);
  }
  for (std::size_t k = 0; k < elements.size(); ++k) {
    if (elements[k].empty()) Context::fail("it gives something in each iteration, and has none");
    if (at_or_zero(out_backwards, k) != 0) std::reverse(elements[k].begin(), elements[k].end());
    state.emplace_back(stacked(c, elements[k], at_or_zero(out_axes, k)));
  }
  return outs_of(state);
}

constexpr Converter kControl[] = {
    {"If", 1, to_if},
    {"Loop", 1, to_loop},
    {"Scan", 9, to_scan},
};

}  // namespace

std::span<const Converter> control_converters() {
  return kControl;
}

}  // namespace ferry::onnx
