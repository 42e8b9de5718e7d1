// What the names in a model stand for while it is imported, and the results of converters. For ops/onnx alone.
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
  /// If not empty, dim d of the model's value is dim perm[d] of `value`. This is used where the data decide the size of
  /// a dim that is not the first in the model: a bounded dim must be the first of `value`. Most converters cannot take
  /// such a value: in() refuses it.
  Ints perm;
  Tensor known;
  std::shared_ptr<const std::vector<Out>> list;

  [[nodiscard]] bool absent() const { return !value.defined() && !known.defined() && list == nullptr; }
  /// Error(file) names the value when it is a sequence, or an optional one without an element.
  void check_tensor(const std::string& name) const;
  /// The type of the model's value, which is a tensor, known or not.
  [[nodiscard]] Type type() const;
};

/// `value` with its dims in this order: transposed where that is possible, else with the order in Out::perm.
[[nodiscard]] Out arranged(const Value& value, const Ints& perm);

/// The results of a converter: the outputs of its node, in order; later ones that the node does not name may be
/// missing.
class Outs : public std::vector<Out> {
 public:
  Outs(const Value& value) { emplace_back(value); }                     // NOLINT
  Outs(Out out) { push_back(std::move(out)); }                          // NOLINT
  Outs(Tensor known) { emplace_back(std::move(known)); }                // NOLINT
  Outs(const Values& values) : vector(values.begin(), values.end()) {}  // NOLINT
  Outs(std::initializer_list<Out> outs) : vector(outs) {}
};

}  // namespace ferry::onnx
