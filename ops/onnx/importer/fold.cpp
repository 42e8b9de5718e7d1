#include "ops/onnx/importer/fold.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "ops/array/array.hpp"

namespace ferry::onnx {
namespace {

constexpr std::int64_t kMaxFolded = 16 << 20;  // most bytes of a node's outputs that are computed while importing

/// Whether the op gives the same result whenever and wherever it is computed.
bool is_pure(const OpDef& def) {
  return !(def.is(kRandom) || def.is(kStateful) || def.is(kControlFlow) || def.is(kEffect) || def.is(kLocal));
}

bool is_small(const Values& values) {
  std::int64_t bytes = 0;
  return std::all_of(values.begin(), values.end(), [&](const Value& value) {
    return value.shape().known() && (bytes += value.type().bytes()) <= kMaxFolded;
  });
}

/// The values of `fetches`; empty if they cannot be computed.
std::vector<Tensor> evaluated(const Graph& scratch, const Values& fetches, const Evaluate& evaluate) {
  if (!is_small(fetches)) return {};
  for (OpId id = 0; id < scratch.size(); ++id)
    if (!is_pure(scratch.op(id).def())) return {};
  try {
    return evaluate(scratch, fetches);
  } catch (const Error&) {  // if the op is run later, it fails in the same way
    return {};
  }
}

/// The tensor with its dims in the order of the model's value; `perm` is Out::perm.
Tensor in_order(const Tensor& tensor, const Ints& perm, const Evaluate& evaluate) {
  if (perm.empty()) return tensor;
  Graph order;
  return evaluate(order, {transpose(order.constant(tensor), perm)})[0];
}

/// Whether a and b are known to have the same elements. Large tensors must share their bytes: their elements are not
/// compared.
bool are_same(const Tensor& a, const Tensor& b) {
  constexpr std::size_t kSmall = 256;  // bytes
  return a.type() == b.type() &&
         (a.bytes().data() == b.bytes().data() || (a.bytes().size() <= kSmall && a.same_bits(b)));
}

}  // namespace

const std::vector<Out>* FoldedNodes::find(const ModelNode& node, const std::vector<Tensor>& inputs) const {
  const auto found = known_.find(&node);
  const bool same = found != known_.end() && std::equal(inputs.begin(), inputs.end(), found->second.inputs.begin(),
                                                        found->second.inputs.end(), are_same);
  return same ? &found->second.results : nullptr;
}

std::optional<std::vector<Out>> computed(const Graph& scratch, const Outs& outs, const Evaluate& evaluate) {
  std::vector<Out> items;
  Values wanted;
  for (const Out& out : outs) {
    if (out.list != nullptr) return std::nullopt;
    const Tensor* tensor = out.value.defined() ? scratch.constant_value(out.value.id()) : &out.known;
    items.push_back(tensor == nullptr ? Out() : Out(*tensor));
    if (tensor == nullptr) wanted.push_back(out.value);
  }
  if (wanted.empty()) return items;
  const std::vector<Tensor> results = evaluated(scratch, wanted, evaluate);
  if (results.empty()) return std::nullopt;
  auto next = results.begin();
  for (std::size_t i = 0; i < items.size(); ++i)
    if (!items[i].known.defined()) items[i].known = in_order(*next++, outs[i].perm, evaluate);
  return items;
}

Out as_known(const Out& out, IntegerRanges& ranges) {
  const Graph& graph = out.value.graph();
  if (const Tensor* tensor = graph.constant_value(out.value.id())) return *tensor;
  const auto& [dtype, shape] = out.value.type();
  if (is_float(dtype) || !shape.fixed() || !out.perm.empty()) return out;
  const RangeList& elements = ranges.of(out.value);
  const bool all =
      std::all_of(elements.begin(), elements.end(), [](const IntegerRange& one) { return one.is_known(); });
  if (!all || shape.count() != std::ssize(elements)) return out;
  Tensor tensor(dtype, shape.sizes());
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    auto data = tensor.mutable_data<T>();
    for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<T>(elements[i].least);
  });
  return tensor;
}

}  // namespace ferry::onnx
