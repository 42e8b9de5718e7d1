#include "tests/support/evaluate.hpp"

#include <algorithm>
#include <memory>

#include "base/files/bytes.hpp"
#include "graph/graph_facts.hpp"
#include "graph/needed.hpp"
#include "graph/op/core_ops.hpp"
#include "graph/op/infer.hpp"
#include "tests/support/threads.hpp"

namespace ferry::test {
namespace {

Threads& this_thread() {
  static Threads alone(1);
  return alone;
}

std::vector<Tensor> inputs_of(const Op& op, const std::vector<Tensor>& values) {
  std::vector<Tensor> inputs;
  for (ValueId input : op.inputs()) inputs.push_back(values[input]);
  return inputs;
}

/// The op's facts at the sizes of this run; a bounded dim stays bounded.
class ActualFacts final : public OpFacts {
 public:
  ActualFacts(const Op& op, const Attrs& attrs, const Graph& graph, std::span<const Tensor> inputs)
      : inputs_(inputs), attrs_(attrs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      types_.push_back(inputs[i].type());
      if (!graph.type(op.inputs()[i]).shape.bounded()) continue;
      Dim& first = types_.back().shape[0];
      first = Dim::at_most(first.size());
    }
  }
  int inputs() const override { return static_cast<int>(types_.size()); }
  const Type& input(int i) const override { return types_[i]; }
  const Attrs& attrs() const override { return attrs_; }
  const Tensor* constant(int i) const override { return &inputs_[i]; }
  std::vector<Type> results(std::string_view) const override { return {}; }  // ops with bodies are not kernels
  [[nodiscard]] std::span<const Type> types() const { return types_; }

 private:
  std::span<const Tensor> inputs_;
  std::vector<Type> types_;
  const Attrs& attrs_;
};

/// Tensors, with the sizes that a kernel sees, which it may lower to the extent.
class Operands {
 public:
  void add(Tensor tensor, bool bounded) {
    sizes_.push_back(tensor.sizes());
    whole_.push_back(tensor.sizes());
    begin_.emplace_back(tensor.sizes().size(), 0);
    bounded_.push_back(bounded);
    tensors_.push_back(std::move(tensor));
  }
  /// Valid until the next add.
  [[nodiscard]] std::vector<Array> arrays() {
    std::vector<Array> result;
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      result.push_back(
          {tensors_[i].mutable_bytes().data(), tensors_[i].dtype(), sizes_[i], whole_[i], begin_[i], bounded_[i]});
    return result;
  }
  /// Tensor i at its extent.
  [[nodiscard]] Tensor take(std::size_t i) const {
    if (sizes_[i] == tensors_[i].sizes()) return tensors_[i];
    Tensor cut(tensors_[i].dtype(), sizes_[i]);
    std::copy_n(tensors_[i].bytes().begin(), cut.bytes().size(), cut.mutable_bytes().begin());
    return cut;
  }

 private:
  std::vector<Tensor> tensors_;
  std::vector<std::vector<std::int64_t>> sizes_, whole_, begin_;
  std::vector<bool> bounded_;
};

/// Zeros aligned like an executor's buffer, since kernels treat values that share cache lines differently. It has no
/// spare bytes, so that a sanitizer sees writes behind its end.
Tensor aligned(const Type& type) {
  const auto owner = std::make_shared<FileBytes>(static_cast<std::uint64_t>(type.bytes()));
  std::ranges::fill(owner->span(), std::byte{0});
  return {type.dtype, type.shape.sizes(), owner, owner->span()};
}

/// The bytes of `source` in other sizes.
Tensor view(const Tensor& source, const Type& type) {
  return {type.dtype, type.shape.sizes(), std::make_shared<Tensor>(source), source.bytes()};
}

}  // namespace

Evaluator::Evaluator(const Graph& graph, EvaluateOptions options) : graph_(graph), options_(std::move(options)) {
  if (options_.kernels == nullptr) options_.kernels = &cpu_kernels();
  if (options_.parallel == nullptr) options_.parallel = &this_thread();
}

std::vector<Tensor> Evaluator::run(const std::vector<Value>& fetches, const Feeds& feeds,
                                   const std::vector<Value>& targets) {
  initialise();
  std::vector<OpId> roots;
  for (const Value& value : fetches) roots.push_back(graph_.producer(value.id()));
  for (const Value& value : targets) roots.push_back(graph_.producer(value.id()));
  Frame frame{graph_, {}, feeds, {}, {}, {}};
  run_ops(roots, frame);
  for (auto& [name, value] : frame.assigned) variables.insert_or_assign(name, value);
  ++step;
  std::vector<Tensor> result;
  for (const Value& value : fetches) result.push_back(frame.values[value.id()]);
  return result;
}

void Evaluator::initialise() {
  const auto has_value = [&](OpId op) { return variables.contains(graph_.op(op).name()); };
  const auto all = graph_.variables();
  const auto init = graph_.entries().find("init");
  if (init == graph_.entries().end() || std::all_of(all.begin(), all.end(), has_value)) return;
  const Feeds none;
  Frame frame{graph_, {}, none, {}, {}, {}};
  run_ops(init->second.targets, frame);
  variables.merge(frame.assigned);
}

void Evaluator::run_ops(const std::vector<OpId>& roots, Frame& frame) {
  frame.values.resize(frame.graph.values());
  const std::vector<bool> needed = needed_ops(frame.graph, {}, roots);
  for (OpId id = 0; id < frame.graph.size(); ++id)
    if (needed[id]) run_op(frame.graph.op(id), frame);
}

void Evaluator::run_op(const Op& op, Frame& frame) {
  const std::string name(op.name());
  if (&op.def() == &kParameter) {
    const auto parameters = frame.graph.parameters();
    const auto place = std::find(parameters.begin(), parameters.end(), op.output(0)) - parameters.begin();
    frame.values[op.output(0)] = frame.arguments[place];
  } else if (&op.def() == &kInput) {
    frame.values[op.output(0)] = frame.feeds.at(name);
  } else if (&op.def() == &kVariable) {
    if (const auto value = variables.find(name); value != variables.end()) frame.values[op.output(0)] = value->second;
  } else if (&op.def() == &kAssign) {
    const Tensor value = frame.values[op.inputs()[1]];
    frame.assigned.insert_or_assign(std::string(frame.graph.op(frame.graph.producer(op.inputs()[0])).name()), value);
    frame.values[op.output(0)] = value;
  } else if (op.def().is(kControlFlow)) {
    const std::vector<Tensor> results = op.def().name == "While" ? run_while(op, frame) : run_cond(op, frame);
    std::copy(results.begin(), results.end(), frame.values.begin() + op.output(0));
  } else {
    run_kernel(op, frame);
  }
}

void Evaluator::run_kernel(const Op& op, Frame& frame) {
  const std::vector<Tensor> inputs = inputs_of(op, frame.values);
  Attrs attrs = op.attrs();
  if (op.def().batches != nullptr)
    if (const Batches batches = op.def().batches(GraphFacts(op)); batches.uneven())
      attrs.set("rows", batches.at(step).count);
  const ActualFacts facts(op, attrs, frame.graph, inputs);
  const std::vector<Type> types = infer_types(op.def(), facts);
  if (op.def().is(kView)) {
    frame.values[op.output(0)] = view(inputs[0], types[0]);
    return;
  }
  const Kernel* kernel = options_.kernels->find(op.def().name);
  if (kernel == nullptr) throw Error(Code::plan, "no kernel for " + op.str());

  Operands in, out;
  for (const Tensor& input : inputs) in.add(input, false);
  for (const Type& type : types) out.add(aligned(type), type.shape.bounded());
  const KernelSetup setup{op.name(), attrs, facts.types(), types, options_.files, options_.data_folder, options_.seed};
  const BoundKernel bound = bind(*options_.kernels, *kernel, setup);
  std::vector<std::byte> scratch(static_cast<std::size_t>(scratch_of(*kernel, setup)));
  const std::vector<Array> in_arrays = in.arrays();
  std::vector<Array> out_arrays = out.arrays();
  KernelRun run{.inputs = in_arrays,
                .outputs = out_arrays,
                .state = bound.state.get(),
                .scratch = scratch,
                .parallel = *options_.parallel,
                .stream = options_.stream && kernel->streams,
                .step = step,
                .iterations = frame.iterations};
  bound.run(run);
  for (int i = 0; i < op.outputs(); ++i) frame.values[op.output(i)] = out.take(static_cast<std::size_t>(i));
}

std::vector<Tensor> Evaluator::run_body(const Graph& body, std::vector<Tensor> arguments,
                                        std::vector<std::int64_t> iterations) {
  std::vector<OpId> roots;
  for (ValueId result : body.results()) roots.push_back(body.producer(result));
  const Feeds none;
  Frame frame{body, arguments, none, std::move(iterations), {}, {}};
  run_ops(roots, frame);
  std::vector<Tensor> results;
  for (ValueId result : body.results()) results.push_back(frame.values[result]);
  return results;
}

std::vector<Tensor> Evaluator::run_while(const Op& op, Frame& frame) {
  const Graph& cond = frame.graph.subgraph(op.attrs().get<SubgraphRef>("cond"));
  const Graph& body = frame.graph.subgraph(op.attrs().get<SubgraphRef>("body"));
  const auto carried_count = op.attrs().get<std::int64_t>("carried");
  const std::vector<Tensor> inputs = inputs_of(op, frame.values);
  const auto captures_begin = inputs.begin() + carried_count;
  const auto body_captures = captures_begin + static_cast<std::int64_t>(cond.captures().size());
  std::vector<Tensor> carried(inputs.begin(), captures_begin);
  std::vector<std::int64_t> iterations = frame.iterations;
  for (iterations.push_back(0);; ++iterations.back()) {
    std::vector<Tensor> arguments = carried;
    arguments.insert(arguments.end(), captures_begin, body_captures);
    if (run_body(cond, arguments, iterations)[0].integer(0) == 0) return carried;
    arguments.resize(carried.size());
    arguments.insert(arguments.end(), body_captures, inputs.end());
    carried = run_body(body, arguments, iterations);
  }
}

std::vector<Tensor> Evaluator::run_cond(const Op& op, Frame& frame) {
  const Graph& then_branch = frame.graph.subgraph(op.attrs().get<SubgraphRef>("then_branch"));
  const Graph& else_branch = frame.graph.subgraph(op.attrs().get<SubgraphRef>("else_branch"));
  const std::vector<Tensor> inputs = inputs_of(op, frame.values);
  const auto else_captures = inputs.begin() + 1 + static_cast<std::int64_t>(then_branch.captures().size());
  if (inputs[0].integer(0) != 0) return run_body(then_branch, {inputs.begin() + 1, else_captures}, frame.iterations);
  return run_body(else_branch, {else_captures, inputs.end()}, frame.iterations);
}

}  // namespace ferry::test
