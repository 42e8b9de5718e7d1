// ONNX models as they lie in a file: read, checked, and taken apart into plain data.
//
// A file may be hostile, so everything is checked: framing, nesting, names, the number of everything, sizes against
// bytes, paths of external data (only files below the model's own folder), cycles, names of values that no
// node gives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/files/files.hpp"
#include "graph/op/attrs.hpp"
#include "graph/types/shape.hpp"
#include "graph/types/tensor.hpp"

#pragma GCC visibility push(default)
namespace ferry::onnx {

struct GraphDef;
using Strings = std::vector<std::string>;

/// Stands in a function's body for the attribute of that name of the node that calls the function.
struct AttributeRef {
  std::string name;
};

/// An attribute of a node. One with a tensor of a dtype that ferry does not have is left out, and is in Model::refused.
struct Attribute {
  std::string name;
  std::variant<std::int64_t, double, std::string, Ints, Floats, Strings, Tensor, std::shared_ptr<const GraphDef>,
               AttributeRef>
      value;
};

struct ModelNode {
  std::string name;    ///< may be empty
  std::string op;      ///< "Conv"
  std::string domain;  ///< empty: ONNX's own
  std::string overload;
  Strings inputs;   ///< names of values; empty: the input is absent
  Strings outputs;  ///< the same
  std::vector<Attribute> attributes;

  /// The attribute of that name, or null.
  [[nodiscard]] const Attribute* find(std::string_view attribute) const;
  /// The graphs among its attributes: bodies of control flow.
  [[nodiscard]] std::vector<const GraphDef*> bodies() const;
  /// "Conv", or "com.microsoft.Gelu" of another domain.
  [[nodiscard]] std::string full_op() const;
  /// "node 'c1' (Conv)"; a node without a name is called by its first output.
  [[nodiscard]] std::string str() const;
};

/// An input or output of a graph.
struct ValueDef {
  std::string name;
  std::optional<DType> dtype;  ///< absent where the file leaves it open, or it is in Model::refused
  std::optional<Shape> shape;  ///< absent: of any rank. Dims are known, symbolic or unknown
  bool optional = false;       ///< an input that may be absent
  std::string refused;         ///< why ferry cannot take it ("a sequence"); empty: it can
};

struct GraphDef {
  std::string name;
  std::vector<ModelNode> nodes;  ///< each after the nodes that produce its inputs
  std::vector<std::pair<std::string, Tensor>> initializers;
  std::vector<ValueDef> inputs, outputs;
  /// What the file says of the values of its nodes, by their names; the outputs are among them.
  std::map<std::string, ValueDef, std::less<>> declared = {};
};

/// Versions of operator sets by domain; "" is ONNX's own.
using Opsets = std::map<std::string, std::int64_t, std::less<>>;

/// An op made of nodes, defined by the model itself.
struct Function {
  std::string domain, name, overload;
  Strings inputs, outputs;
  Strings attributes;               ///< names of those that a call gives
  std::vector<Attribute> defaults;  ///< of attributes that a call may leave out
  std::vector<ModelNode> nodes;
  Opsets opsets;
};

/// Something in a model that ferry cannot take, and where it first occurs.
struct Refused {
  std::string what;   ///< "dtype complex64", "a sequence"
  std::string where;  ///< "initializer 'w'"
};

struct Model {
  std::string source;  ///< the file's name, for messages
  std::int64_t ir_version = 0;
  Opsets opsets;
  GraphDef graph;
  std::vector<Function> functions;
  std::vector<Refused> refused;

  /// The inputs that must be fed: those that are no initializers.
  [[nodiscard]] std::vector<const ValueDef*> feeds() const;
  /// The inputs that have a default: they may be fed, and otherwise have the value of the initializer of their name.
  /// Before version 4 of the format there are none, since there all initializers had to be inputs.
  [[nodiscard]] std::vector<const ValueDef*> defaulted() const;
};

/// The newest operator set of ONNX's own domain that ferry knows. Newer models are refused; the message names both
/// versions.
inline constexpr std::int64_t kNewestOpset = 28;

/// A limit of the inputs, and of the outputs, of a node: the time to plan a node grows with the square of their number.
inline constexpr std::int64_t kMostValues = 1 << 14;

/// A limit of the nodes that calls of functions and rounds of loops add to a model: their numbers multiply when nested.
inline constexpr std::int64_t kMostAgain = 200'000;

/// Reads a model. Error(file) names the file, the node or tensor, and the fault. External data are read from files
/// beneath the model's folder only, by links only where they lie beneath the folder of the model's real file.
[[nodiscard]] Model read_model(const std::string& path, FileSystem& files = local_files());

/// The model in `content`; `source` names it in messages; `folder` holds its external data. Errors as read_model.
[[nodiscard]] Model decode_model(std::span<const std::byte> content, std::string_view source, const std::string& folder,
                                 FileSystem& files = local_files());

/// A tensor in a file of its own, as ONNX's tests have them. Error(file) as read_model, and for a dtype that ferry does
/// not have.
[[nodiscard]] Tensor read_tensor(const std::string& path, FileSystem& files = local_files());

/// An optional tensor in a file of its own (OptionalProto), as ONNX's tests have them; absent: it has no element.
[[nodiscard]] std::optional<Tensor> read_optional(const std::string& path, FileSystem& files = local_files());

/// The dtype of that number in ONNX's files; absent when ferry does not have it.
[[nodiscard]] std::optional<DType> dtype_of_number(std::int64_t number);

}  // namespace ferry::onnx
#pragma GCC visibility pop
