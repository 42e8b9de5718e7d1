// Out: a value of a model while it is imported. Outs: the results of a converter. Only ops/onnx uses them.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.hpp"

namespace ferry::onnx {

/// A value of the model: a value of the graph, a tensor that is known while the model is imported, or a sequence of
/// these with a known length. If it has none of the three, it is an optional value without an element.
struct Out {
  Out() = default;
  Out(const Value& v) : value(v) {}                 // NOLINT
  Out(Tensor tensor) : known(std::move(tensor)) {}  // NOLINT
  explicit Out(std::vector<Out> elements);
  Value value;
  /// If not empty, dim d of the model's value is dim perm[d] of `value`. This is used for a data-dependent dim that is
  /// not the first dim in the model, because a bounded dim must be the first dim of `value`. Most converters do not
  /// support such a value: Context::in() throws for it.
  Ints perm;
  Tensor known;
  std::shared_ptr<const std::vector<Out>> list;

  [[nodiscard]] bool absent() const { return !value.defined() && !known.defined() && list == nullptr; }
  /// Throws Error(file), which names the value, if it is a sequence or an optional value without an element.
  void check_tensor(const std::string& name) const;
  /// The type of the model's value, which must be a tensor. It need not be known.
  [[nodiscard]] Type type() const;
};

/// `value` with its dims in the order `perm`: transposed if possible, else with the order in Out::perm.
[[nodiscard]] Out arranged(const Value& value, const Ints& perm);

/// The results of a converter: the outputs of its node, in order. Outputs at the end may be missing if the node does
/// not name them.
class Outs : public std::vector<Out> {
 public:
  Outs(const Value& value) { emplace_back(value); }                     // NOLINT
  Outs(Out out) { push_back(std::move(out)); }                          // NOLINT
  Outs(Tensor known) { emplace_back(std::move(known)); }                // NOLINT
  Outs(const Values& values) : vector(values.begin(), values.end()) {}  // NOLINT
  Outs(std::initializer_list<Out> outs) : vector(outs) {}
};

}  // namespace ferry::onnx
