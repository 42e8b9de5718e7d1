// The interface through which a converter reads an ONNX node and makes ops. For ops/onnx alone; docs/guide/import.md
// says how to add a converter.
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

/// An input or output of a body: its type, and its value where that is known. An output that is a
/// sequence has neither.
struct Tried {
  Type type = {};
  Tensor known = {};
  std::shared_ptr<const std::vector<Out>> list = {};  ///< of an input that is a sequence
};

/// One node, as its converter sees it.
///
///     Outs to_leaky_relu(Context& c) {
///       const Value x = c.in(0);
///       const Value below = x * c.real("alpha", 0.01);
///       return select(less(x, 0), below, x);
///     }
///
/// The importer puts the model's file and the node's name in front of errors that a converter throws. Axes may be
/// negative, as ferry's functions take them.
class Context {
 public:
  virtual ~Context() = default;

  [[nodiscard]] const ModelNode& node() const { return node_; }
  /// The version of the node's operator set.
  [[nodiscard]] std::int64_t opset() const { return opset_; }
  /// The graph in which ops without inputs are made; if a body is being built, they go into that body.
  [[nodiscard]] Graph& graph() const { return graph_; }

  // ---- Inputs ----

  /// The number of inputs, or outputs, that the node lists, absent ones (of an empty name) included.
  [[nodiscard]] int inputs() const { return static_cast<int>(node_.inputs.size()); }
  [[nodiscard]] int outputs() const { return static_cast<int>(node_.outputs.size()); }
  /// has(i): input i is given, and if it is an optional value it has an element. wants(i): output i is used.
  [[nodiscard]] virtual bool has(int i) const = 0;
  [[nodiscard]] bool wants(int output) const;
  /// Input i as a value of the graph. Error(file) when it is not given, or when the data decide the size of a dim that
  /// is not the first.
  [[nodiscard]] virtual Value in(int i) = 0;
  /// All inputs.
  [[nodiscard]] Values all();
  /// Input i, a scale or zero point: a scalar if it is a list of one; undefined if it is absent.
  [[nodiscard]] Value scalar_if_one(int i);
  /// The type of input i, which may be a known tensor.
  [[nodiscard]] virtual Type type(int i) = 0;
  /// The number of dims of input i.
  [[nodiscard]] int rank(int i) { return type(i).shape.rank(); }
  /// The shape of input i as numbers. Error(usage) names a dim that is not known and suggests --dim; Error(file) when
  /// the data decide its size.
  [[nodiscard]] Ints sizes(int i);
  [[nodiscard]] std::int64_t size(int i, std::int64_t axis);
  /// The window of the filter, input i: its dims after the first two. Error(file) when kernel_shape, if given, differs.
  [[nodiscard]] Ints window_of(int i);
  /// `axis` counted from the front, for input i. Error(file) when it is out of range.
  [[nodiscard]] int axis(int i, std::int64_t axis);

  /// The elements of input i, which must be known while the model is imported: an initializer, or computed from
  /// initializers, sizes, and inputs that were given by value. For what ferry keeps in attributes: sizes, axes, bounds.
  [[nodiscard]] virtual Tensor constant(int i) = 0;
  /// The elements of input i if they are known already; else undefined.
  [[nodiscard]] virtual Tensor constant_if(int i) = 0;
  /// The elements of input i, which are integers. Those that are not known are scalars of the graph with known bounds;
  /// where there are no bounds either, errors as constant(i).
  [[nodiscard]] virtual std::vector<Number> numbers(int i) = 0;
  /// The only element of numbers(i).
  [[nodiscard]] Number number_of(int i);
  /// A vector with as many elements as symbolic dims of that name have: a slice of an input of the model.
  [[nodiscard]] virtual Value of_size(const std::string& symbol) = 0;
  /// What a user can type so that `dim`, of input i, is known: "--dim batch=4, or give the sizes of the inputs".
  [[nodiscard]] virtual std::string sizes_hint(int i, const Dim& dim) = 0;
  /// Throws an error that nothing bounds `number`: Error(usage), with what to type, if it is computed from open sizes.
  [[noreturn]] virtual void fail_unbounded(const Number& number) = 0;
  /// Restarts the import, by an exception, if input i would be known with inputs of the model taken by their values;
  /// else returns.
  virtual void take_by_value(int i) = 0;
  /// constant(i) as integers.
  [[nodiscard]] Ints ints(int i);
  /// The only element of constant(i); as an integer, towards zero.
  [[nodiscard]] double number(int i);
  [[nodiscard]] std::int64_t whole_number(int i);

  // ---- Attributes: the given value, or `otherwise`. Error(file) when it has another kind. A converter must ask for
  // every attribute that its op may have: attributes of a node that it did not ask for are refused. ----

  [[nodiscard]] bool has_attr(std::string_view name) const { return asked(name) != nullptr; }
  /// Names attributes that the op may have and that do not affect the import.
  void no_effect(std::initializer_list<std::string_view> names) const;
  [[nodiscard]] std::int64_t integer(std::string_view name, std::int64_t otherwise) const;
  [[nodiscard]] double real(std::string_view name, double otherwise) const;
  [[nodiscard]] std::string text(std::string_view name, std::string_view otherwise) const;
  [[nodiscard]] Ints integers(std::string_view name, const Ints& otherwise = {}) const;
  [[nodiscard]] Floats reals(std::string_view name, const Floats& otherwise = {}) const;
  [[nodiscard]] Strings texts(std::string_view name, const Strings& otherwise = {}) const;
  /// These have no `otherwise`: Error(file) when the attribute is missing.
  [[nodiscard]] std::int64_t integer(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] std::string text(std::string_view name) const;
  [[nodiscard]] Tensor tensor(std::string_view name) const;
  /// The dtype with the attribute as its number in ONNX.
  [[nodiscard]] DType dtype(std::string_view name, DType otherwise) const;
  [[nodiscard]] DType dtype(std::string_view name) const;
  /// Lists that were attributes once and are inputs now (axes, sizes …): from input i where the node has it, else from
  /// the attribute; absent when neither is there.
  [[nodiscard]] std::optional<Ints> ints_of(int i, std::string_view name);

  // ---- Bodies ----

  [[nodiscard]] const GraphDef& body(std::string_view name) const;
  /// Converts the nodes of a body, with these inputs, into ops here. Returns the body's outputs.
  [[nodiscard]] virtual std::vector<Out> build(const GraphDef& body, std::span<const Out> inputs) = 0;
  /// The types, and known values, of a body's outputs for such inputs. The ops that are made to find them are dropped.
  [[nodiscard]] virtual std::vector<Tried> tried(const GraphDef& body, std::span<const Tried> inputs) = 0;
  /// The number that the user gave for the first dim of output i, by its symbol in the model or by the output's name.
  [[nodiscard]] virtual std::optional<std::int64_t> given_size(int i) = 0;
  /// Input i as it is: known or not.
  [[nodiscard]] virtual Out out(int i) = 0;
  /// The elements of input i. Error(file) when it is no sequence.
  [[nodiscard]] const std::vector<Out>& list(int i);
  /// `out` as a value of the graph.
  [[nodiscard]] virtual Value value(const Out& out) = 0;

  /// A scalar of that dtype.
  [[nodiscard]] Value scalar(double number, DType dtype);

  /// An element as an integer, towards zero. Error(file) when it is too large for one.
  [[nodiscard]] static std::int64_t integer_at(const Tensor& tensor, std::int64_t i);
  /// `tensor`, known input i, which must have one element.
  [[nodiscard]] static Tensor only(int i, Tensor tensor);

  /// Error(file) names an attribute of the node that the converter did not ask for, and those that it did.
  void check_attributes() const;
  [[noreturn]] static void refuse_attribute(const std::string& name, const std::string& of, Strings known);

  /// Throws an error: `why` is the reason.
  [[noreturn]] static void fail(const std::string& why);

 protected:
  Context(Graph& graph, const ModelNode& node, std::int64_t opset) : graph_(graph), node_(node), opset_(opset) {}
  /// The attribute, or if it refers to an attribute of a function's call, that one; null when there is none.
  [[nodiscard]] virtual const Attribute* attribute(std::string_view name) const = 0;

 private:
  [[nodiscard]] const Attribute* asked(std::string_view name) const;
  template <class T>
  [[nodiscard]] const T* get(std::string_view name) const;
  template <class T>
  [[nodiscard]] const T& must(std::string_view name) const;

  Graph& graph_;
  const ModelNode& node_;
  std::int64_t opset_;
  mutable std::set<std::string, std::less<>> asked_;  ///< names of attributes
};

/// How nodes of one op become ferry's ops, from version `since` of its operator set to the next one in the tables.
struct ConvertOp {
  std::string_view op;     ///< ModelNode::full_op()
  std::int64_t since = 1;  ///< version of the operator set
  Outs (*convert)(Context&) = nullptr;
  unsigned typed = 0;  ///< mask of the inputs from which it reads only the type
};

}  // namespace ferry::onnx
