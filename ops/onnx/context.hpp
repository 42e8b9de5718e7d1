// Context: the interface with which a converter reads an ONNX node and makes ops. It is only for ops/onnx;
// docs/guide/import.md describes how to add a converter.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.hpp"
#include "ops/onnx/model.hpp"
#include "ops/onnx/out.hpp"
#include "ops/onnx/sizes/number.hpp"

namespace ferry::onnx {

/// An input or output of a body: its type and, if known, its value. An output that is a sequence has neither.
struct BodyValue {
  Type type = {};
  Tensor known = {};
  std::shared_ptr<const std::vector<Out>> list = {};  ///< for an input that is a sequence
};

/// One node, as its converter sees it.
///
///     Outs to_leaky_relu(Context& c) {
///       const Value x = c.in(0);
///       const Value below = x * c.real("alpha", 0.01);
///       return select(less(x, 0), below, x);
///     }
///
/// If a converter throws an error, the importer prepends the model's file and the node's name. Axes may be negative, as
/// in ferry's functions.
class Context {
 public:
  virtual ~Context() = default;

  [[nodiscard]] const ModelNode& node() const { return node_; }
  /// The version of the node's operator set.
  [[nodiscard]] std::int64_t opset() const { return opset_; }
  /// The graph in which ops without inputs are made. While a body is being built, the ops become a part of the body.
  [[nodiscard]] Graph& graph() const { return graph_; }

  // ---- Inputs ----

  /// The number of inputs (outputs) that the node lists, including absent ones, which have an empty name.
  [[nodiscard]] int inputs() const { return static_cast<int>(node_.inputs.size()); }
  [[nodiscard]] int outputs() const { return static_cast<int>(node_.outputs.size()); }
  /// has(i): whether input i is given; if it is an optional value, it must also have an element. is_used(i): whether
  /// output i is used.
  [[nodiscard]] virtual bool has(int i) const = 0;
  [[nodiscard]] bool is_used(int output) const;
  /// Input i as a value of the graph. Error(file) if it is not given, or if the data decide the size of a dim other
  /// than the first.
  [[nodiscard]] virtual Value in(int i) = 0;
  /// All inputs.
  [[nodiscard]] Values all();
  /// Input i, a scale or zero point, as a scalar if it has one element. Undefined if it is absent.
  [[nodiscard]] Value scalar_if_one(int i);
  /// The type of input i, which may also be a known tensor.
  [[nodiscard]] virtual Type type(int i) = 0;
  /// The number of dims of input i.
  [[nodiscard]] int rank(int i) { return type(i).shape.rank(); }
  /// The shape of input i as numbers. If a dim is not known, Error(usage) names it and suggests --dim. Error(file) if
  /// the data decide its size.
  [[nodiscard]] Ints sizes(int i);
  [[nodiscard]] std::int64_t size(int i, std::int64_t axis);
  /// The window of the filter, input i: its dims after the first two. Error(file) if kernel_shape is given and differs.
  [[nodiscard]] Ints window_of(int i);
  /// `axis` of input i, counted from the front. Error(file) if it is out of range.
  [[nodiscard]] int axis(int i, std::int64_t axis);

  /// The elements of input i, for sizes, axes, bounds and other data that ferry keeps in attributes. They must be known
  /// while the model is imported: input i is an initializer, or computed from initializers, sizes, and inputs that were
  /// given by value.
  [[nodiscard]] virtual Tensor constant(int i) = 0;
  /// The elements of input i if they are already known; otherwise undefined.
  [[nodiscard]] virtual Tensor constant_if(int i) = 0;
  /// The elements of input i, which are integers. Elements that are not known are scalars of the graph with known
  /// bounds. If they also have no bounds, throws the errors of constant(i).
  [[nodiscard]] virtual std::vector<Number> numbers(int i) = 0;
  /// The only element of numbers(i).
  [[nodiscard]] Number number_of(int i);
  /// A vector with as many elements as the symbolic dims named `symbol` have: a slice of an input of the model.
  [[nodiscard]] virtual Value of_size(const std::string& symbol) = 0;
  /// The options that a user can add to make `dim` of input i known: "--dim batch=4, or give the sizes of the inputs".
  [[nodiscard]] virtual std::string sizes_hint(int i, const Dim& dim) = 0;
  /// Throws an error for a `number` that has no bounds. If it is computed from open sizes, Error(usage) says what to
  /// type.
  [[noreturn]] virtual void fail_unbounded(const Number& number) = 0;
  /// Restarts the import, by an exception, if input i would be known after taking some inputs of the model by value.
  /// Otherwise it returns.
  virtual void take_by_value(int i) = 0;
  /// constant(i) as integers.
  [[nodiscard]] Ints ints(int i);
  /// The only element of constant(i). whole_number() rounds it toward zero.
  [[nodiscard]] double number(int i);
  [[nodiscard]] std::int64_t whole_number(int i);

  // ---- Attributes: the given value, or `otherwise`. Error(file) if it has another kind. A converter must read every
  // attribute that its op may have: attributes of a node that it did not read are an error. ----

  [[nodiscard]] bool has_attr(std::string_view name) const { return read_attribute(name) != nullptr; }
  /// Lists attributes that the op may have and that do not affect the import.
  void no_effect(std::initializer_list<std::string_view> names) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] double real(std::string_view name, double otherwise) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] Ints integers(std::string_view name, const Ints& otherwise = {}) const;
  [[nodiscard]] Floats reals(std::string_view name, const Floats& otherwise = {}) const;
  [[nodiscard]] Strings texts(std::string_view name, const Strings& otherwise = {}) const;
  /// These functions have no `otherwise`: Error(file) if the attribute is missing.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] Tensor tensor(std::string_view name) const;
  /// The dtype for the attribute, which is the dtype's number in ONNX.
  [[nodiscard]] DType dtype(std::string_view name, DType otherwise) const;
  [[nodiscard]] DType dtype(std::string_view name) const;
  /// A list (axes, sizes, …) that is an attribute in old operator sets and an input in newer ones: input i if the node
  /// has it, else the attribute. Absent if there is neither.
  [[nodiscard]] std::optional<Ints> ints_of(int i, std::string_view name);

  // ---- Bodies ----

  [[nodiscard]] const GraphDef& body(std::string_view name) const;
  /// Converts the nodes of a body, with these inputs, into ops here. Returns the body's outputs.
  [[nodiscard]] virtual std::vector<Out> build(const GraphDef& body, std::span<const Out> inputs) = 0;
  /// The types, and known values, of a body's outputs for such inputs. Ops that are made to find them are removed.
  [[nodiscard]] virtual std::vector<BodyValue> infer_outputs(const GraphDef& body,
                                                             std::span<const BodyValue> inputs) = 0;
  /// The number that the user gave for the first dim of output i, under its symbol in the model or the output's name.
  [[nodiscard]] virtual std::optional<std::int64_t> given_size(int i) = 0;
  /// Input i as it is: a known tensor, a value of the graph, or a sequence.
  [[nodiscard]] virtual Out out(int i) = 0;
  /// The elements of input i. Error(file) if it is not a sequence.
  [[nodiscard]] const std::vector<Out>& list(int i);
  /// `out` as a value of the graph.
  [[nodiscard]] virtual Value value(const Out& out) = 0;

  /// A scalar of dtype `dtype`.
  [[nodiscard]] Value scalar(double number, DType dtype);

  /// An element as an integer, rounded toward zero. Error(file) if it is too large for an integer.
  [[nodiscard]] static std::int64_t integer_at(const Tensor& tensor, std::int64_t i);
  /// Returns `tensor`, the known input i, which must have one element.
  [[nodiscard]] static Tensor only(int i, Tensor tensor);

  /// Throws Error(file) for an attribute of the node that the converter did not read. The message lists the attributes
  /// that it read.
  void check_attributes() const;
  [[noreturn]] static void refuse_attribute(const std::string& name, const std::string& of, Strings known);

  /// Throws an error: `why` is the reason.
  [[noreturn]] static void fail(const std::string& why);

 protected:
  Context(Graph& graph, const ModelNode& node, std::int64_t opset) : graph_(graph), node_(node), opset_(opset) {}
  /// The attribute. If it refers to an attribute of a function's call, returns that attribute. Null if there is none.
  [[nodiscard]] virtual const Attribute* attribute(std::string_view name) const = 0;

 private:
  [[nodiscard]] const Attribute* read_attribute(std::string_view name) const;
  template <class T>
  [[nodiscard]] const T* get(std::string_view name) const;
  template <class T>
  [[nodiscard]] const T& require(std::string_view name) const;

  Graph& graph_;
  const ModelNode& node_;
  std::int64_t opset_;
  /// The attributes that the converter has read, or listed in no_effect().
  mutable std::set<std::string, std::less<>> attributes_read_;
};

/// How nodes of one op become ferry's ops, from version `since` of the operator set to the op's next version in the
/// tables.
struct ConvertOp {
  std::string_view op;     ///< ModelNode::full_op()
  std::int64_t since = 1;  ///< version of the operator set
  Outs (*convert)(Context&) = nullptr;
  unsigned typed = 0;  ///< mask of the inputs that give only their types
};

}  // namespace ferry::onnx
