// Graphs from files of any kind that the command reads.
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

/// Reads "batch=4" and the like: the size of each dim, by name. Error(usage) for malformed or repeated arguments.
[[nodiscard]] std::map<std::string, std::int64_t, std::less<>> parse_dims(const std::vector<std::string>& dims);

/// A graph, and the --feed options that still have to be fed when it runs: the import of an ONNX model may have made
/// constants of some.
struct LoadedGraph {
  std::unique_ptr<Graph> graph;
  std::vector<std::string> feeds;
};

/// Reads a graph file (.pb, .pbtxt), or imports an ONNX model (.onnx) with the input sizes that --feed, `sizes` and
/// --dim give. Errors as load_graph and onnx::import_model; Error(usage) when `sizes` names no input, or --dim is given
/// for a graph file.
[[nodiscard]] LoadedGraph load_any_graph(const std::string& file, const JobOptions& options,
                                         const InputSizes& sizes = {});

/// Whether the path ends in ".onnx".
[[nodiscard]] bool is_onnx_file(const std::string& path);

/// Evaluates constant parts of an ONNX model with the CPU's kernels, on one thread of this process.
[[nodiscard]] onnx::Evaluate constant_evaluator();

}  // namespace ferry
