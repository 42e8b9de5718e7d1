// Importer: one import of a model. Only ops/onnx uses it; other code calls import_model() (ops/onnx/import.hpp).
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
#include "ops/onnx/importer/import_services.hpp"
#include "ops/onnx/sizes/ranges.hpp"

namespace ferry::onnx {

/// Numbers for the open (not known) dims of a node's inputs, with which the importer tries to convert the node.
struct TriedSizes {
  std::int64_t size = 1;
  const Dim* other = nullptr;  ///< the dim with size `others`; null: all open dims have `size`
  std::int64_t others = 1;
  std::vector<Dim> kept = {};  ///< dims that remain open
};

/// Converts the nodes of a model in order. A node with known inputs is computed at once, in a graph of its own
/// (fold.hpp). For all other nodes, converters make ops in the import's graph, or in the body that is being built. The
/// nodes of functions are converted at each call; converters convert the nodes of bodies (Context::build).
class Importer final : public ImportServices {
 public:
  /// `by_value`: inputs that become constants, with the values in `options`. All arguments must outlive the importer.
  Importer(const Model& model, const ImportOptions& options, const std::set<std::string>& by_value)
      : model_(model), options_(options), by_value_(by_value), graph_(std::make_unique<Graph>()) {}

  /// Makes the graph. Call it once. Throws the errors of import_model() without the model's name, or NeedsValues
  /// (by_value.hpp) if more inputs must be taken by value.
  [[nodiscard]] std::unique_ptr<Graph> import();
  /// Imported::warnings, after import().
  [[nodiscard]] const std::vector<std::string>& warnings() const { return warnings_; }

  void convert_nested(const std::vector<ModelNode>& nodes, Frame& frame) override;
  [[nodiscard]] Value value_in(Graph& graph, const std::string& name, const Out& item) override;
  void forget(const Graph& body) override;
  [[nodiscard]] std::optional<std::int64_t> given_size(const std::string& name) const override;
  [[nodiscard]] IntegerRanges& ranges() override { return ranges_; }
  [[nodiscard]] const ImportOptions& options() const override { return options_; }
  [[nodiscard]] Graph& graph() override { return *graph_; }

 private:
  void add_input(const ValueDef& input, Frame& frame);
  void add_output(const ValueDef& output, const Frame& frame);
  void convert(const std::vector<ModelNode>& nodes, Frame& frame);
  void convert(const ModelNode& node, Frame& frame);
  void call(const Function& function, const ModelNode& node, Frame& frame);
  /// Sets the outputs of a node in the frame, by their names. Throws Error(file) if the model declares another dtype
  /// for an output.
  void name_outputs(const ModelNode& node, const std::vector<Out>& outs, Frame& frame);
  /// Throws Error(file) if the declared dtype differs. A contradicting shape is only a warning, because editors of
  /// models often leave old shapes behind.
  void check_declared(const ModelNode& node, const ValueDef& declared, const Out& out, const Frame& frame);
  /// Computes the node's outputs if its inputs are known. Returns whether it did.
  bool fold(const ConvertOp& converter, const ModelNode& node, Frame& frame);
  /// Makes the ops of a node that fold() did not compute, and returns the node's outputs.
  [[nodiscard]] std::vector<Out> make_ops(const ConvertOp& converter, const ModelNode& node, const Frame& frame);
  /// Called after the conversion of a node failed. Throws NeedsValues if an input of the node has a data-dependent
  /// size, and taking inputs of the model by value makes it known; else returns.
  void take_by_value(const ModelNode& node, const Frame& frame) const;
  /// Called after the conversion of a node failed with the error `why`. If the node can be converted with numbers for
  /// open dims of its inputs, throws Error(usage) with the text of `why` and a hint of options to add; else returns.
  void ask_for_sizes(const ConvertOp& converter, const ModelNode& node, const Frame& frame, const Error& why);
  /// Numbers for the open dims of the node's inputs with which the node can be converted, if any are found.
  [[nodiscard]] std::optional<TriedSizes> sizes_that_convert(const ConvertOp& converter, const ModelNode& node,
                                                             const Frame& frame,
                                                             const std::vector<std::pair<Value, Dim>>& open);
  /// Whether the node can be converted with these sizes.
  [[nodiscard]] bool converts_with(const TriedSizes& sizes, const ConvertOp& converter, const ModelNode& node,
                                   const Frame& frame);
  /// The source line of the current node's ops.
  [[nodiscard]] SourceLine line_of_node() const;

  const Model& model_;
  const ImportOptions& options_;
  const std::set<std::string>& by_value_;
  std::unique_ptr<Graph> graph_;
  BodyConstants constants_;
  IntegerRanges ranges_;
  FoldedNodes folded_;
  std::vector<std::string> warnings_;
  std::int64_t nodes_ = 0;         ///< number of nodes converted so far
  std::int64_t nested_nodes_ = 0;  ///< number of nodes converted by convert_nested(), plus 1 for each call of it
};

}  // namespace ferry::onnx
