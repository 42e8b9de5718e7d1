// One import of a model. For ops/onnx alone: import_model() (ops/onnx/import.hpp) is what others call.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "ops/onnx/context.hpp"
#include "ops/onnx/import.hpp"
#include "ops/onnx/importer/body_constants.hpp"
#include "ops/onnx/importer/fold.hpp"
#include "ops/onnx/importer/frame.hpp"
#include "ops/onnx/sizes/ranges.hpp"

namespace ferry::onnx {

/// Numbers for the open sizes of a node's inputs, to try a conversion with.
struct TriedSizes {
  std::int64_t size = 1;
  const Dim* other = nullptr;  ///< has the size `others`; null: all have `size`
  std::int64_t others = 1;
  std::vector<Dim> kept = {};  ///< remain open
};

/// Converts the nodes of a model in order. A node with known inputs is computed at once, in a graph of its own
/// (fold.hpp). For all other nodes, converters make ops in the import's graph, or in the body that is being built. The
/// nodes of functions are converted at each call; converters convert the nodes of bodies (Context::build).
class Importer {
 public:
  /// `by_value`: inputs that become constants, with the values in `options`. All three must outlive the importer.
  Importer(const Model& model, const ImportOptions& options, const std::set<std::string>& by_value)
      : model_(model), options_(options), by_value_(by_value), graph_(std::make_unique<Graph>()) {}

  /// Makes the graph; to be called once. Errors as import_model(), but without the model's name; throws NeedsValues
  /// (by_value.hpp) where more inputs must be taken by value.
  [[nodiscard]] std::unique_ptr<Graph> import();
  /// As in Imported, after import().
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  // ---- For NodeContext ----

  /// Converts nodes of a body or function; their values are in `frame`. Error(file) when these are too many in all.
  void convert_again(const std::vector<ModelNode>& nodes, Frame& frame);
  /// The item as a value of `graph`, where ops are made now; `name` is its name in the model.
  [[nodiscard]] Value value_in(Graph& graph, const std::string& name, const Out& item);
  /// Forgets the facts about a body that is dropped, and about bodies in it.
  void forget(const Graph& body);
  /// The number that the user gave for the first dim of a value of that name.
  [[nodiscard]] std::optional<std::int64_t> given_size(const std::string& name) const;
  [[nodiscard]] IntegerRanges& ranges() { return ranges_; }
  [[nodiscard]] const ImportOptions& options() const { return options_; }
  [[nodiscard]] Graph& graph() { return *graph_; }

 private:
  void add_input(const ValueDef& input, Frame& frame);
  void add_output(const ValueDef& output, const Frame& frame);
  void convert(const std::vector<ModelNode>& nodes, Frame& frame);
  void convert(const ModelNode& node, Frame& frame);
  void call(const Function& function, const ModelNode& node, Frame& frame);
  /// Gives the outputs of a node their names. Error(file) where the model declares another dtype for one.
  void name_outputs(const ModelNode& node, const std::vector<Out>& outs, Frame& frame);
  /// Error(file) where the dtypes differ. Shapes that contradict each other are a warning, since editors of models
  /// often leave the old ones behind.
  void check_declared(const ModelNode& node, const ValueDef& declared, const Out& out, const Frame& frame);
  /// Computes the node's outputs if its inputs are known. Returns whether it did.
  bool fold(const ConvertOp& converter, const ModelNode& node, Frame& frame);
  /// Makes the ops of a node that is not computed, and returns their results.
  [[nodiscard]] std::vector<Out> made(const ConvertOp& converter, const ModelNode& node, const Frame& frame);
  /// For a node that cannot be converted because the data decide sizes: throws NeedsValues if inputs taken by value
  /// would help.
  void take_by_value(const ModelNode& node, const Frame& frame) const;
  /// For a node that cannot be converted: throws Error(usage) with what to type, and `why`, if it could be with numbers
  /// for open sizes of its inputs; else returns.
  void ask_for_sizes(const ConvertOp& converter, const ModelNode& node, const Frame& frame, const Error& why);
  /// Numbers for the open sizes of the node's inputs with which the node can be converted, if any are found.
  [[nodiscard]] std::optional<TriedSizes> sizes_that_convert(const ConvertOp& converter, const ModelNode& node,
                                                             const Frame& frame,
                                                             const std::vector<std::pair<Value, Dim>>& open);
  /// Whether the node can be converted with these sizes.
  [[nodiscard]] bool converts_with(const TriedSizes& sizes, const ConvertOp& converter, const ModelNode& node,
                                   const Frame& frame);
  /// The line of the ops that are made for the current node.
  [[nodiscard]] SourceLine line_of_node() const;

  const Model& model_;
  const ImportOptions& options_;
  const std::set<std::string>& by_value_;
  std::unique_ptr<Graph> graph_;
  BodyConstants constants_;
  IntegerRanges ranges_;
  FoldedNodes folded_;
  std::vector<std::string> warnings_;
  std::int64_t nodes_ = 0;        ///< converted by now
  std::int64_t nodes_again_ = 0;  ///< converted by convert_again(), plus 1 for each call of it
};

}  // namespace ferry::onnx
