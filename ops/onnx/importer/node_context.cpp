#include "ops/onnx/importer/node_context.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "base/format.hpp"
#include "ops/array/array.hpp"
#include "ops/array/reshape.hpp"
#include "ops/onnx/importer/by_value.hpp"
#include "ops/onnx/importer/given.hpp"

namespace ferry::onnx {

bool NodeContext::has(int i) const {
  return i < inputs() && !name(i).empty() && !frame_.get(name(i)).absent();
}

const Out& NodeContext::item(int i) const {
  if (!has(i)) fail("input " + std::to_string(i) + " is missing");
  return frame_.get(name(i));
}

const Attribute* NodeContext::attribute(std::string_view name) const {
  return frame_.attribute(node(), name);
}

// ---- Inputs ----

Value NodeContext::in(int i) {
  return services_.value_in(graph(), name(i), item(i));
}

Type NodeContext::type(int i) {
  item(i).check_tensor(name(i));
  return item(i).type();
}

Out NodeContext::out(int i) {
  return item(i);
}

Value NodeContext::value(const Out& out) {
  out.check_tensor({});
  return out.known.defined() ? graph().constant(out.known) : services_.value_in(graph(), {}, out);
}

Tensor NodeContext::constant(int i) {
  const Out& given = item(i);
  given.check_tensor(name(i));
  if (given.known.defined()) return given.known;
  try {
    throw inputs_behind(given.value, services_.options());
  } catch (const Error& error) {
    throw Error(error.code(), "input {:?} must be known when the model is imported; {}", name(i), as_is(error.text()));
  }
}

Tensor NodeContext::constant_if(int i) {
  return has(i) ? item(i).known : Tensor();
}

std::vector<Number> NodeContext::numbers(int i) {
  const Out given = item(i);
  given.check_tensor(name(i));
  if (!given.known.defined())
    if (auto numbers = numbers_of(given.value, services_.ranges().of(given.value))) return *numbers;
  const Tensor known = constant(i);
  std::vector<Number> numbers;
  for (std::int64_t k = 0; k < known.count(); ++k) numbers.emplace_back(integer_at(known, k));
  return numbers;
}

void NodeContext::take_by_value(int i) {
  try_by_value(in(i), services_.options());
}

// ---- Sizes ----

std::string NodeContext::sizes_hint(int i, const Dim& dim) {
  return onnx::sizes_hint(size_options(item(i).value, dim));
}

void NodeContext::fail_unbounded(const Number& number) {
  const std::string why = "nothing bounds a size that it computes";
  const std::set<std::string> sizes = sizes_behind(number.value, services_.ranges());
  if (sizes.empty()) fail(why);
  throw Error(Code::usage, why).hint(onnx::sizes_hint(sizes));
}

Value NodeContext::of_size(const std::string& symbol) {
  Graph& model = services_.graph();
  for (const auto& feed : model.entry("predict").feeds) {
    const Value input = model.value(feed.value);
    const Shape& shape = input.shape();
    const auto found =
        std::find_if(shape.dims().begin(), shape.dims().end(), [&](const Dim& dim) { return dim.symbol() == symbol; });
    if (found == shape.dims().end()) continue;
    Ints others;
    for (int d = 0; d < shape.rank(); ++d)
      if (d != found - shape.dims().begin()) others.push_back(d);
    if (others.empty()) return input;
    return squeeze(slice(input, others, Ints(others.size(), 0), Ints(others.size(), 1)), others);
  }
  fail(formatted("no input has a dim {:?}", symbol));
}

std::optional<std::int64_t> NodeContext::given_size(int i) {
  return services_.given_size(node().outputs[i]);
}

// ---- Bodies ----

std::vector<Out> NodeContext::build(const GraphDef& body, std::span<const Out> inputs) {
  Frame frame = Frame::of_body(body, frame_);
  for (const auto& [name, tensor] : body.initializers) frame.set(name, Out(tensor));
  if (inputs.size() != body.inputs.size())
    fail("a body takes " + std::to_string(body.inputs.size()) + " inputs, and gets " + std::to_string(inputs.size()));
  for (std::size_t i = 0; i < inputs.size(); ++i) frame.set(body.inputs[i].name, inputs[i]);
  services_.convert_nested(body.nodes, frame);
  std::vector<Out> outs;
  for (const ValueDef& output : body.outputs) outs.push_back(frame.get(output.name));
  return outs;
}

namespace {

/// A body in which ops are made on trial; the destructor drops it.
class TrialBody {
 public:
  TrialBody(ImportServices& services, Graph& owner)
      : services_(services), owner_(owner), graph_(owner.add_subgraph("tried")) {}
  TrialBody(const TrialBody&) = delete;
  TrialBody& operator=(const TrialBody&) = delete;
  ~TrialBody() {
    services_.forget(graph_);
    owner_.drop_subgraph();
  }
  [[nodiscard]] Graph& graph() const { return graph_; }

 private:
  ImportServices& services_;
  Graph& owner_;
  Graph& graph_;
};

}  // namespace

std::vector<BodyValue> NodeContext::infer_outputs(const GraphDef& body, std::span<const BodyValue> inputs) {
  Graph& owner = graph().current();  // perhaps a body that is being built
  const TrialBody trial(services_, owner);
  const Scope here = owner.build(trial.graph());
  std::vector<Out> given;
  for (const BodyValue& input : inputs)
    given.push_back(input.list != nullptr   ? Out(*input.list)
                    : input.known.defined() ? Out(input.known)
                                            : Out(trial.graph().parameter(input.type, SourceLine())));
  std::vector<BodyValue> results;
  for (const Out& out : build(body, given)) {
    BodyValue& result = results.emplace_back();
    if (out.list != nullptr) continue;
    out.check_tensor({});
    result.type = out.type();
    result.known = out.known;
  }
  return results;
}

}  // namespace ferry::onnx
