// Reads graphs from files of any kind that the commands accept.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "graph/graph.hpp"
#include "ops/onnx/import.hpp"
#include "runner/options/run_options.hpp"

namespace ferry {

/// Sizes of inputs, by name.
using InputSizes = std::map<std::string, std::vector<std::int64_t>, std::less<>>;

/// Reads texts such as "batch=4": the size of each dim, by name. Error(usage) for malformed or repeated arguments.
[[nodiscard]] std::map<std::string, std::int64_t, std::less<>> parse_dims(const std::vector<std::string>& dims);

/// A graph, and the --feed options that it still needs when it runs: the import of an ONNX model may have turned some
/// of them into constants.
struct LoadedGraph {
  std::unique_ptr<Graph> graph;
  std::vector<std::string> feeds;
};

/// Reads a graph file (.pb, .pbtxt), or imports an ONNX model (.onnx) with the input sizes from --feed, `sizes` and
/// --dim. Errors as load_graph and onnx::import_model. Error(usage) if `sizes` has a name that is no input, or if --dim
/// is given for a graph file.
[[nodiscard]] LoadedGraph load_any_graph(const std::string& file, const JobOptions& options,
                                         const InputSizes& sizes = {});

/// Whether the path ends in ".onnx".
[[nodiscard]] bool is_onnx_file(const std::string& path);

/// Evaluates constant parts of an ONNX model with the CPU's kernels, on one thread of this process.
[[nodiscard]] onnx::Evaluate constant_evaluator();

}  // namespace ferry
