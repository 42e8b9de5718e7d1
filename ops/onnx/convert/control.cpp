// Converters of control flow: bodies of ONNX become bodies of ferry. A loop that outputs an element in each iteration
// is unrolled if its number of iterations is known and not too large; otherwise this number must have a bound.
#include "ops/control/control.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/onnx/convert/bodies.hpp"

namespace ferry::onnx {
namespace {

// ---- If ----

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

struct LoopForm {
  const GraphDef& body;
  std::size_t carried;
  std::size_t collected;  ///< number of outputs to which each iteration contributes one element
};

LoopForm loop_form(Context& c) {
  const GraphDef& body = c.body("body");
  const std::size_t carried = static_cast<std::size_t>(std::max(c.inputs() - 2, 0));
  if (body.inputs.size() != carried + 2 || body.outputs.size() < carried + 1)
    Context::fail("its body has " + std::to_string(body.inputs.size()) + " inputs and " +
                  std::to_string(body.outputs.size()) + " outputs for " + std::to_string(carried) + " carried values");
  return {body, carried, body.outputs.size() - carried - 1};
}

/// The types, and known values, of the body's outputs in the first iteration.
std::vector<BodyValue> first_iteration(Context& c, const LoopForm& form) {
  std::vector<BodyValue> given{{{}, Tensor::scalar<std::int64_t>(0)}, {{}, Tensor::scalar<bool>(true)}};
  for (int i = 2; i < c.inputs(); ++i) {
    BodyValue& one = given.emplace_back();
    one.list = c.out(i).list;
    if (one.list != nullptr) continue;
    one.type = c.type(i);
    one.known = c.constant_if(i);
  }
  return c.infer_outputs(form.body, given);
}

/// The outputs of a loop without iterations: the carried values as they are, and no elements.
Outs no_iterations(Context& c, const LoopForm& form) {
  BodyOuts state;
  for (std::size_t i = 0; i < form.carried; ++i) state.push_back(c.out(static_cast<int>(i) + 2));
  const std::vector<BodyValue> results = first_iteration(c, form);
  for (std::size_t k = form.carried + 1; k < results.size(); ++k) state.emplace_back(empty_stack(results[k], 0));
  return outs_of(state);
}

/// Unrolls the loop: makes a copy of the body for each of at most `times` iterations. Carried values that are known
/// stay known, and may be sequences. Throws `otherwise` if the body computes at run time whether the loop continues.
Outs unroll_loop(Context& c, const LoopForm& form, std::int64_t times, const Error& otherwise) {
  if (form.collected > 0) check_unrolled(times);
  BodyOuts state;
  for (std::size_t i = 0; i < form.carried; ++i) state.push_back(c.out(static_cast<int>(i) + 2));
  std::vector<BodyOuts> elements(form.collected);
  bool more = !c.constant_if(1).defined() || c.whole_number(1) != 0;
  for (std::int64_t i = 0; i < times && more; ++i) {
    if (i >= kMostValues) check_unrolled(times);
    BodyOuts inputs{Tensor::scalar<std::int64_t>(i), Tensor::scalar<bool>(true)};
    inputs.insert(inputs.end(), state.begin(), state.end());
    const BodyOuts results = c.build(form.body, inputs);
    if (!results[0].known.defined()) throw otherwise;
    more = Context::only(0, results[0].known).integer(0) != 0;
    state.assign(results.begin() + 1, results.begin() + 1 + static_cast<std::ptrdiff_t>(form.carried));
    for (std::size_t k = 0; k < form.collected; ++k) elements[k].push_back(results[form.carried + 1 + k]);
  }
  for (const BodyOuts& list : elements) state.emplace_back(stacked(c, list, 0));
  return outs_of(state);
}

/// Unrolls a loop because one body cannot serve all iterations. `why` is the reason: for example, the loop's counter
/// decides a size, or the loop carries a sequence.
Outs unroll_because(Context& c, const LoopForm& form, const Error& why) {
  const bool counted = !c.has(0) || c.constant_if(0).defined(), begins = !c.has(1) || c.constant_if(1).defined();
  if (!counted) c.take_by_value(0);
  if (!begins) c.take_by_value(1);
  if (counted && begins) return unroll_loop(c, form, c.has(0) ? c.whole_number(0) : IntegerRange::kHighest, why);
  throw Error(why).hint("give what its number of iterations is computed from; it is then written out");
}

// ---- Numbers of rows that iterations change ----

/// The types of the carried values after an iteration that starts with the types `carried`.
std::vector<Type> after_iteration(Context& c, const LoopForm& form, const std::vector<Type>& carried) {
  std::vector<BodyValue> given{{{DType::int64, {}}, {}}, {{DType::boolean, {}}, {}}};
  for (const Type& type : carried) given.push_back({type, {}});
  const std::vector<BodyValue> results = c.infer_outputs(form.body, given);
  std::vector<Type> types;
  for (std::size_t k = 1; k <= form.carried; ++k) types.push_back(results[k].type);
  return types;
}

bool rows_differ(const Type& a, const Type& b) {
  const bool rows = a.shape.rank() > 0 && a.shape.rank() == b.shape.rank() && a.shape[0].known() && b.shape[0].known();
  return rows && a.shape[0] != b.shape[0];
}

/// The maximum number of rows of carried value k, if it starts with `rows` rows and each iteration adds up to `more`.
std::int64_t max_rows(Context& c, int k, std::int64_t rows, std::int64_t more) {
  if (const auto given = c.given_size(k)) return *given;
  const std::int64_t times = c.has(0) ? c.number_of(0).range.most : IntegerRange::kHighest;
  std::int64_t most = 0;
  if (times != IntegerRange::kHighest && !__builtin_mul_overflow(std::max<std::int64_t>(times, 0), more, &most) &&
      !__builtin_add_overflow(most, rows, &most))
    return most;
  throw Error(Code::usage, "each iteration adds rows to carried value {}, and nothing bounds the number of iterations",
              k)
      .hint("--dim {}=100, for at most 100 rows", c.node().outputs[k]);
}

/// The types of the carried values in every iteration. If iterations change a number of rows, it is bounded in the
/// type.
std::vector<Type> in_all_iterations(Context& c, const LoopForm& form, const std::vector<Type>& first) {
  std::vector<Type> all = first;
  const std::vector<Type> once = after_iteration(c, form, first);
  bool changed = false;
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (!rows_differ(first[k], once[k])) continue;
    changed = true;
    all[k].shape[0] = Dim::at_most(std::max(first[k].shape[0].size(), once[k].shape[0].size()));
  }
  if (!changed) return all;
  const std::vector<Type> twice = after_iteration(c, form, all);
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (!rows_differ(all[k], twice[k])) continue;
    const std::int64_t rows = all[k].shape[0].size(), more = twice[k].shape[0].size() - rows;
    all[k].shape[0] = Dim::at_most(more <= 0 ? rows : max_rows(c, static_cast<int>(k), rows, more));
  }
  return all;
}

/// x as a value of `type`, which may have another bound on the rows.
Value with_rows_of(Context& c, const Value& x, const Type& type) {
  if (!rows_differ(x.type(), type)) return x;
  const Value rows = scalar_of(c.graph(), size_along(x, 0));
  return gather(x, arange(rows, type.shape[0].size()), 0);
}

/// Space for the elements of at most `most` iterations.
Values make_space(Context& c, const LoopForm& form, const std::vector<Type>& carried, std::int64_t most) {
  std::vector<BodyValue> given{{{DType::int64, {}}, {}}, {{DType::boolean, {}}, {}}};
  for (const Type& type : carried) given.push_back({type, {}});
  const std::vector<BodyValue> results = c.infer_outputs(form.body, given);
  Values room;
  for (std::size_t k = form.carried + 1; k < results.size(); ++k) room.push_back(make_space_for(c, results[k], most));
  return room;
}

/// The types of the carried values in every iteration. Error(file) if one body cannot serve all iterations.
std::vector<Type> carried_types(Context& c, const LoopForm& form) {
  std::vector<Type> first;
  for (int i = 2; i < c.inputs(); ++i) first.push_back(c.in(i).type());
  return in_all_iterations(c, form, first);
}

/// The number of iterations. It is needed if each iteration outputs an element.
struct Iterations {
  std::int64_t most = 0;
  bool always = false;  ///< whether there are always `most` iterations
};

/// The loop as a while_loop().
Outs while_of(Context& c, const LoopForm& form, const std::vector<Type>& types, const Iterations& iterations) {
  Values initial;
  initial.push_back(c.graph().constant(Tensor::scalar<std::int64_t>(0)));
  initial.push_back(c.has(1) ? reshape(c.in(1), {}) : c.graph().constant(Tensor::scalar<bool>(true)));
  for (std::size_t k = 0; k < types.size(); ++k)
    initial.push_back(with_rows_of(c, c.in(static_cast<int>(k) + 2), types[k]));
  const std::size_t states = initial.size();
  if (form.collected > 0)
    for (const Value& room : make_space(c, form, types, iterations.most)) initial.push_back(room);
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
        const BodyOuts given(now.begin(), now.begin() + static_cast<std::ptrdiff_t>(states));
        const Values results = values_of(c, c.build(form.body, given));
        next.push_back(reshape(results[0], {}));
        for (std::size_t k = 0; k < types.size(); ++k) next.push_back(with_rows_of(c, results[k + 1], types[k]));
        for (std::size_t k = states; k < now.size(); ++k) next.push_back(with_row(now[k], now[0], results[k - 1]));
        return next;
      });
  for (std::size_t k = states; k < end.size() && !iterations.always; ++k)
    end[k] = gather(end[k], arange(end[0], iterations.most), 0);
  end.erase(end.begin(), end.begin() + 2);
  return end;
}

/// The loop as a while_loop(). If one body cannot serve all iterations, it is unrolled instead.
Outs loop_of(Context& c, const LoopForm& form, const Iterations& iterations) {
  std::vector<Type> types;
  try {
    types = carried_types(c, form);
  } catch (const Error& why) {
    if (why.code() == Code::usage) throw;
    return unroll_because(c, form, why);
  }
  return while_of(c, form, types, iterations);
}

/// Whether the body computes at run time whether the loop continues.
bool ends_by_itself(Context& c, const LoopForm& form) {
  return !first_iteration(c, form)[0].known.defined();
}

Outs to_loop(Context& c) {
  const LoopForm form = loop_form(c);
  if (form.collected == 0) return loop_of(c, form, {});
  if (c.constant_if(1).defined() && c.whole_number(1) == 0) return no_iterations(c, form);
  const Number times = c.has(0) ? c.number_of(0) : Number(IntegerRange::kHighest);
  if (times.known() && times.number() <= 0) return no_iterations(c, form);
  if (times.known() && !ends_by_itself(c, form)) {
    const bool begins = !c.has(1) || c.constant_if(1).defined();
    if (!begins) c.take_by_value(1);
    if (begins && is_too_long(form.body, times.number())) return loop_of(c, form, {times.number(), true});
    if (begins)
      return unroll_loop(
          c, form, times.number(),
          {Code::file, "it gives something in each iteration, and its body computes whether it continues"});
  }
  std::int64_t most = times.range.most;
  const int first = static_cast<int>(form.carried);
  for (int k = first; k < c.outputs(); ++k)
    if (const auto given = c.given_size(k)) most = std::min(most, *given);
  if (most == IntegerRange::kHighest) {
    const std::string name = c.outputs() > first ? c.node().outputs[first] : "NAME";
    throw Error(Code::usage, "it gives something in each iteration, and nothing bounds their number")
        .hint("--dim {}=100, for at most 100", name);
  }
  return loop_of(c, form, {most});
}

constexpr ConvertOp kControl[] = {
    {"If", 1, to_if},
    {"Loop", 1, to_loop},
};

}  // namespace

std::span<const ConvertOp> control_converters() {
  return kControl;
}

}  // namespace ferry::onnx
