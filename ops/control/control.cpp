#include "ops/control/control.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ops/array/indexing.hpp"
#include "ops/build.hpp"
#include "ops/copy.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/broadcast.hpp"

namespace ferry {
namespace {

/// Whether the two types can be equal, as far as sizes are known.
bool may_equal(const Type& a, const Type& b) {
  if (a.dtype != b.dtype || a.shape.rank() != b.shape.rank()) return false;
  for (int d = 0; d < a.shape.rank(); ++d)
    if (a.shape[d].known() && b.shape[d].known() && a.shape[d] != b.shape[d]) return false;
  return true;
}

void check_predicate(const Type& type, std::string_view what) {
  if (type.dtype != DType::boolean || type.shape.rank() != 0)
    OpFacts::fail(std::string(what) + " is " + type.str() + ", not a bool scalar");
}

std::vector<Shape> while_shape(const OpFacts& facts) {
  const auto carried = facts.attr<std::int64_t>("carried");
  const std::vector<Type> conditions = facts.results("cond");
  const std::vector<Type> results = facts.results("body");
  if (carried < 1 || carried > facts.inputs()) OpFacts::fail("carries " + std::to_string(carried) + " values");
  if (conditions.size() != 1) OpFacts::fail("its condition gives " + std::to_string(conditions.size()) + " values");
  check_predicate(conditions[0], "its condition");
  if (static_cast<std::int64_t>(results.size()) != carried)
    OpFacts::fail("its body gives " + std::to_string(results.size()) + " values for the " + std::to_string(carried) +
                  " that it carries");
  std::vector<Shape> shapes;
  for (int i = 0; i < carried; ++i) {
    if (!may_equal(facts.input(i), results[i]))
      OpFacts::fail("carried value " + std::to_string(i) + " is " + facts.input(i).str() + " at first, and " +
                    results[i].str() + " after an iteration");
    shapes.push_back(facts.shape(i));
  }
  return shapes;
}

std::vector<Shape> cond_shape(const OpFacts& facts) {
  const std::vector<Type> ours = facts.results("then_branch");
  const std::vector<Type> others = facts.results("else_branch");
  check_predicate(facts.input(0), "its predicate");
  if (ours.size() != others.size())
    OpFacts::fail("its branches give " + std::to_string(ours.size()) + " and " + std::to_string(others.size()) +
                  " values");
  std::vector<Shape> shapes;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (!may_equal(ours[i], others[i]))
      OpFacts::fail("its branches give result " + std::to_string(i) + " as " + ours[i].str() + " and as " +
                    others[i].str());
    shapes.push_back(ours[i].shape.known() ? ours[i].shape : others[i].shape);
  }
  return shapes;
}

/// Returns index notation such as "[a][b]->[a][b]": the whole value is printed.
std::string print_index(const OpFacts& facts) {
  Letters letters;
  std::string text;
  for (int d = 0; d < facts.shape(0).rank(); ++d) text += whole(letters.next());
  return term(text) + "->" + term(text);
}

// The bodies are in the order of their captures among the inputs.
constexpr AttrDef kWhileAttrs[] = {{"cond", "subgraph"}, {"body", "subgraph"}, {"carried", "int"}};
constexpr AttrDef kCondAttrs[] = {{"then_branch", "subgraph"}, {"else_branch", "subgraph"}};
constexpr AttrDef kPrintAttrs[] = {{"label", "string"}};

constexpr OpDef kWhile{.name = "While",
                       .types = "*...->%body...",
                       .attrs = kWhileAttrs,
                       .infer = while_shape,
                       .flops = 0,
                       .flags = kControlFlow,
                       .no_grad = "it does not keep what its iterations computed"};

Values cond_gradient(GradCtx& g);

constexpr OpDef kCond{.name = "Cond",
                      .types = "bool,*...->%then_branch...",
                      .attrs = kCondAttrs,
                      .infer = cond_shape,
                      .flops = 0,
                      .flags = kControlFlow,
                      .grad = cond_gradient};

constexpr OpDef kPrint{.name = "Print",
                       .types = "T->T",
                       .T = kAnyType,
                       .attrs = kPrintAttrs,
                       .index_of = print_index,
                       .flops = 0,
                       .flags = kEffect,
                       .grad = [](GradCtx& g) { return Values{g.dout()}; }};

constexpr const OpDef* kControlOps[] = {&kWhile, &kCond, &kPrint};

struct Body {
  Graph* graph;
  SubgraphRef ref;
};

/// Makes a new body of `owner` with a parameter for each carried value. Its results are fill(parameters).
Body build_body(Graph& owner, const std::string& name, const Values& carried, const SourceLine& line,
                const std::function<Values(const Values&)>& fill) {
  Graph& body = owner.add_subgraph(name);
  const SubgraphRef ref{owner.subgraphs() - 1};
  Values parameters;
  for (const Value& value : carried) parameters.push_back(body.parameter(value.type(), line));
  const Scope here = owner.build(body);
  body.set_results(fill(parameters));
  return {&body, ref};
}

/// x with a bounded dim 0 of at most `most` rows. x must not have more rows.
Value with_bound(const Value& x, std::int64_t most) {
  if (x.shape()[0] == Dim::at_most(most)) return x;
  return gather(x, arange(size_of(x, {0}, DType::int64), most), 0);
}

/// Whether the types differ only in the number of rows, which is bounded in at least one of them.
bool differ_in_rows(const Type& a, const Type& b) {
  if (a.shape.rank() == 0 || a.shape.rank() != b.shape.rank() || !a.shape[0].known() || !b.shape[0].known())
    return false;
  if (a.shape[0] == b.shape[0] || !(a.shape[0].bounded() || b.shape[0].bounded())) return false;
  Type other = b;
  other.shape[0] = a.shape[0];
  return may_equal(a, other);
}

/// If two results of the branches differ only in the number of rows, and one of them is bounded, gives both results the
/// greater bound.
void bound_rows(Graph& owner, Graph& yes, Graph& no, const SourceLine& line) {
  if (yes.results().size() != no.results().size()) return;  // cond_shape() reports this error
  Values ours, others;
  for (std::size_t i = 0; i < yes.results().size(); ++i) {
    ours.push_back(yes.value(yes.results()[i]));
    others.push_back(no.value(no.results()[i]));
    const Value a = ours.back(), b = others.back();
    if (!differ_in_rows(a.type(), b.type())) continue;
    const std::int64_t most = std::max(a.shape()[0].size(), b.shape()[0].size());
    const auto bound = [&](Graph& body, Value& result) {
      const Scope here = owner.build(body);
      const Scope place = owner.line(line);
      result = with_bound(result, most);
    };
    bound(yes, ours.back());
    bound(no, others.back());
  }
  yes.set_results(ours);
  no.set_results(others);
}

void append_captures(Values& inputs, const Body& body) {
  for (ValueId id : body.graph->captures()) inputs.push_back(body.graph->parent()->value(id));
}

/// The first part of the names of a body's ops: "while", "while_2".
std::string fresh_stem(const Graph& owner, std::string_view stem) {
  return std::string(stem) + (owner.subgraphs() == 0 ? "" : "_" + std::to_string(owner.subgraphs()));
}

/// Adds to `body` the gradients with respect to the inputs `asked`, through one branch of g's Cond. The branch's
/// captures are the inputs of the Cond from number `begin` on. `inputs` are the values of g.in(), made outside of the
/// body.
Values branch_gradients(GradCtx& g, Graph& body, SubgraphRef branch, int begin, const std::vector<int>& asked,
                        const Values& inputs, const Values& douts) {
  const Graph& forward = g.graph().subgraph(branch);
  Values arguments;
  for (std::size_t i = 0; i < forward.captures().size(); ++i)
    arguments.push_back(body.capture(inputs[static_cast<std::size_t>(begin) + i]));
  const Values results = copy_results(forward, body, arguments);
  Values ys, dys, xs;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!douts[i].defined()) continue;
    ys.push_back(results[i]);
    dys.push_back(body.capture(douts[i]));
  }
  const auto is_ours = [&](int input) { return input >= begin && input < begin + static_cast<int>(arguments.size()); };
  for (int input : asked)
    if (is_ours(input)) xs.push_back(arguments[input - begin]);
  const Values dxs = xs.empty() ? Values() : pullback(ys, dys, xs);
  Values given;
  auto next = dxs.begin();
  for (int input : asked) {
    const Value dx = is_ours(input) ? *next++ : Value();
    given.push_back(dx.defined() ? dx : zeros_like(body.capture(g.like(input))));
  }
  return given;
}

/// The gradient of a Cond is a Cond on the same predicate. Each of its branches recomputes the forward branch and then
/// runs its backward pass. Each branch returns the gradients of all requested inputs, with zeros for the other branch's
/// inputs.
Values cond_gradient(GradCtx& g) {
  Values douts, read;
  for (int i = 0; i < g.outputs(); ++i)
    douts.push_back(is_float(g.graph().type(g.op().output(i)).dtype) ? g.dout(i) : Value());
  for (int i = 0; i < g.inputs(); ++i) read.push_back(g.in(i));
  Graph& owner = g.graph().current();
  std::vector<int> asked;
  for (int i = 1; i < g.inputs(); ++i)
    if (g.wants(i)) asked.push_back(i);

  const std::string stem = fresh_stem(owner, "cond_grad");
  int first_input = 1;
  const auto build = [&](std::string_view name) {
    const SubgraphRef forward = g.attrs().get<SubgraphRef>(name);
    const int begin = first_input;
    first_input += static_cast<int>(g.graph().subgraph(forward).captures().size());
    return build_body(owner, stem + "/" + std::string(name), {}, g.line(), [&](const Values&) {
      return branch_gradients(g, owner.current(), forward, begin, asked, read, douts);
    });
  };
  const Body yes = build("then_branch");
  const Body no = build("else_branch");
  Values inputs{read[0]};
  append_captures(inputs, yes);
  append_captures(inputs, no);
  const Values given = owner.add(kCond, inputs, {{"else_branch", no.ref}, {"then_branch", yes.ref}}, g.line());
  Values result(static_cast<std::size_t>(g.inputs()));
  for (std::size_t i = 0; i < asked.size(); ++i) result[asked[i]] = given[i];
  return result;
}

}  // namespace

Values while_loop(const Values& initial, const std::function<Value(const Values&)>& condition,
                  const std::function<Values(const Values&)>& body, source_location at) {
  Graph& owner = graph_of(initial, at).current();
  const std::string stem = fresh_stem(owner, "while");
  const Body test =
      build_body(owner, stem + "/cond", initial, at, [&](const Values& carried) { return Values{condition(carried)}; });
  const Body step = build_body(owner, stem + "/body", initial, at, body);
  Values inputs = initial;
  append_captures(inputs, test);
  append_captures(inputs, step);
  return owner.add(kWhile, inputs,
                   {{"body", step.ref}, {"carried", static_cast<std::int64_t>(initial.size())}, {"cond", test.ref}},
                   at);
}

Values cond(const Value& predicate, const std::function<Values()>& then_branch,
            const std::function<Values()>& else_branch, source_location at) {
  Graph& owner = graph_of({{predicate}}, at).current();
  const std::string stem = fresh_stem(owner, "cond");
  const Body yes = build_body(owner, stem + "/then", {}, at, [&](const Values&) { return then_branch(); });
  const Body no = build_body(owner, stem + "/else", {}, at, [&](const Values&) { return else_branch(); });
  bound_rows(owner, *yes.graph, *no.graph, at);
  Values inputs{predicate};
  append_captures(inputs, yes);
  append_captures(inputs, no);
  return owner.add(kCond, inputs, {{"else_branch", no.ref}, {"then_branch", yes.ref}}, at);
}

Value print(const Value& x, std::string_view label, source_location at) {
  return make_one(kPrint, {x}, at, {{"label", std::string(label)}});
}

std::span<const OpDef* const> control_ops() {
  return kControlOps;
}

}  // namespace ferry
