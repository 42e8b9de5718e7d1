// ONNX models as plain data, read from a file and checked.
//
// A file may be malicious, so the reader checks everything: framing, nesting, names, counts, sizes of tensors against
// their bytes, paths of external data (only files below the model's own folder), cycles, names of values that no node
// defines.
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
#include "ops/onnx/dtypes.hpp"

#pragma GCC visibility push(default)
namespace ferry::onnx {

struct GraphDef;
using Strings = std::vector<std::string>;

/// A reference, in a node of a function, to the attribute `name` of the node that calls the function.
struct AttributeRef {
  std::string name;
};

/// An attribute of a node. An attribute with a tensor of a dtype that ferry does not support is left out, and is in
/// Model::refused.
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
  Strings outputs;  ///< names of values; empty: the output is not needed
  std::vector<Attribute> attributes;

  /// The attribute of that name, or null.
  [[nodiscard]] const Attribute* find(std::string_view attribute) const;
  /// The graphs among the node's attributes: bodies of control flow.
  [[nodiscard]] std::vector<const GraphDef*> bodies() const;
  /// The op with its domain: "com.microsoft.Gelu", but "Conv" for ONNX's own domain.
  [[nodiscard]] std::string full_op() const;
  /// "node 'c1' (Conv)"; a node without a name has the name of its first output here.
  [[nodiscard]] std::string str() const;
};

/// An input or output of a graph.
struct ValueDef {
  std::string name;
  std::optional<DType> dtype;  ///< absent if the file does not declare it, or `refused` is set
  std::optional<Shape> shape;  ///< absent: any rank. Dims are known, symbolic or unknown
  bool optional = false;       ///< an input that may be absent
  std::string refused;         ///< why ferry cannot import it ("a sequence"); empty: it can
};

struct GraphDef {
  std::string name;
  std::vector<ModelNode> nodes;  ///< each after the nodes that produce its inputs
  std::vector<std::pair<std::string, Tensor>> initializers;
  std::vector<ValueDef> inputs, outputs;
  /// The file's declarations of values by name, including the graph's outputs.
  std::map<std::string, ValueDef, std::less<>> declared = {};
};

/// Versions of operator sets by domain; "" is ONNX's own.
using Opsets = std::map<std::string, std::int64_t, std::less<>>;

/// An op that the model itself defines by nodes.
struct Function {
  std::string domain, name, overload;
  Strings inputs, outputs;
  Strings attributes;               ///< names of the attributes without a default
  std::vector<Attribute> defaults;  ///< attributes that a call may leave out, with their defaults
  std::vector<ModelNode> nodes;
  Opsets opsets;
};

/// Something in a model that ferry cannot import, and a place where it occurs.
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

  /// The inputs that must be fed: all inputs that are not initializers.
  [[nodiscard]] std::vector<const ValueDef*> feeds() const;
  /// The inputs that have a default: an input that is not fed has the value of the initializer with its name. Before
  /// version 4 of the format there are none, because it required that all initializers are inputs.
  [[nodiscard]] std::vector<const ValueDef*> defaulted() const;
};

/// The newest operator set of ONNX's own domain that ferry supports. Reading a model of a newer set is an error that
/// has both versions.
inline constexpr std::int64_t kNewestOpset = 28;

/// The most inputs, and the most outputs, of a node. The time to plan a node grows with the square of their number.
inline constexpr std::int64_t kMostValues = 1 << 14;

/// The most nodes that calls of functions and iterations of loops may add to a model. Their numbers multiply when calls
/// and loops are nested.
inline constexpr std::int64_t kMostAgain = 200'000;

/// Reads a model. Throws Error(file), which names the file, the node or tensor, and the fault. Reads external data only
/// from files below the model's folder. Follows links only to files below the folder of the model's real file.
[[nodiscard]] Model read_model(const std::string& path, FileSystem& files = local_files());

/// The model in `content`; `source` names it in messages; `folder` holds its external data. Throws the errors of
/// read_model().
[[nodiscard]] Model decode_model(std::span<const std::byte> content, std::string_view source, const std::string& folder,
                                 FileSystem& files = local_files());

/// Reads a file that is one tensor (TensorProto), like the data of ONNX's tests. Throws Error(file) like read_model(),
/// and for a dtype that ferry does not support.
[[nodiscard]] Tensor read_tensor(const std::string& path, FileSystem& files = local_files());

/// Reads a file that is one optional tensor (OptionalProto), like the data of ONNX's tests. Returns nothing if it has
/// no element.
[[nodiscard]] std::optional<Tensor> read_optional(const std::string& path, FileSystem& files = local_files());

}  // namespace ferry::onnx
#pragma GCC visibility pop
