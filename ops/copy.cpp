#include "ops/copy.hpp"

#include <algorithm>
#include <vector>

#include "base/error.hpp"
#include "graph/op/core_ops.hpp"

namespace ferry {
namespace {

class Copier {
 public:
  Copier(const Graph& from, Graph& to, std::string_view draws)
      : from_(from), to_(to), draws_(draws), copies_(from.values()) {}

  Values results(std::span<const Value> arguments) {
    FERRY_ASSERT(arguments.size() == from_.parameters().size(), "an argument for each parameter");
    for (std::size_t i = 0; i < arguments.size(); ++i) copies_[from_.parameters()[i]] = arguments[i];
    const std::vector<bool> needed = needed_ops();
    for (OpId id = 0; id < from_.size(); ++id)
      if (needed[id] && &from_.op(id).def() != &kParameter) copy(from_.op(id));
    Values values;
    for (ValueId result : from_.results()) values.push_back(copies_[result]);
    return values;
  }

 private:
  std::vector<bool> needed_ops() const {
    std::vector<bool> needed(from_.size());
    for (ValueId result : from_.results()) needed[from_.producer(result)] = true;
    for (OpId id = from_.size(); id > 0; --id) {
      if (!needed[id - 1]) continue;
      for (ValueId input : from_.op(id - 1).inputs()) needed[from_.producer(input)] = true;
    }
    return needed;
  }

  void copy(const Op& op) {
    Values inputs;
    for (ValueId input : op.inputs()) inputs.push_back(copies_[input]);
    if (op.def().is(kEffect)) {
      copies_[op.output(0)] = inputs[0];
      return;
    }
    const Values outputs = copy_op(op, to_, inputs, draws_);
    for (int i = 0; i < op.outputs(); ++i) copies_[op.output(i)] = outputs[i];
  }

  const Graph& from_;
  Graph& to_;
  std::string_view draws_;
  Values copies_;
};

/// Copies a body of `op` into `to`. Values that the body captures are also inputs of `op`; the copy captures the
/// corresponding elements of `inputs` instead. The other parameters of the copy have the types of the first `inputs`,
/// which may have other sizes than the inputs of `op`.
SubgraphRef copy_body(const Op& op, const Graph& body, Graph& to, const Values& inputs, std::string_view draws) {
  Graph& owner = to.current();
  Graph& copy = owner.add_subgraph("copy_" + std::to_string(owner.subgraphs()));
  const SubgraphRef ref{owner.subgraphs() - 1};
  Values arguments;
  const std::size_t declared = body.parameters().size() - body.captures().size();
  for (std::size_t i = 0; i < body.parameters().size(); ++i) {
    const ValueId parameter = body.parameters()[i];
    if (i < declared) {
      arguments.push_back(copy.parameter(inputs[i].type(), body.op(body.producer(parameter)).line()));
      continue;
    }
    const auto of = std::ranges::find(op.inputs(), body.captures()[i - declared]) - op.inputs().begin();
    arguments.push_back(copy.capture(inputs[of]));
  }
  const Scope here = owner.build(copy);
  copy.set_results(Copier(body, copy, draws).results(arguments));
  return ref;
}

/// The op's attributes, with copies of its bodies. If the op draws random numbers, its name becomes the attribute
/// `key`, so that the copy draws the same numbers. With `draws`, the copy draws other numbers.
Attrs copied_attrs(const Op& op, Graph& to, const Values& inputs, std::string_view draws) {
  Attrs attrs = op.attrs();
  for (const auto& [name, value] : Attrs(attrs))  // over a copy: set() invalidates references into `attrs`
    if (const auto* ref = std::get_if<SubgraphRef>(&value))
      attrs.set(name, copy_body(op, op.graph().subgraph(*ref), to, inputs, draws));
  const auto& known = op.def().attrs;
  const bool keyed = std::any_of(known.begin(), known.end(), [](const AttrDef& attr) { return attr.name == "key"; });
  if (keyed && !attrs.has("key")) attrs.set("key", std::string(op.name()));
  if (keyed && !draws.empty()) attrs.set("key", attrs.get<std::string>("key") + "/" + std::string(draws));
  return attrs;
}

}  // namespace

Values copy_op(const Op& op, Graph& to, const Values& inputs, std::string_view draws) {
  const Scope line = to.line(op.line());
  const Scope place = to.annotated(op.annotation());
  Values copies = to.add(op.def(), inputs, copied_attrs(op, to, inputs, draws), op.line());
  if (op.recomputed()) copies[0].graph().mark_recomputed(copies[0].op().id());
  return copies;
}

Values copy_results(const Graph& from, Graph& to, std::span<const Value> arguments) {
  return Copier(from, to, {}).results(arguments);
}

}  // namespace ferry
