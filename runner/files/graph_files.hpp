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

/// "batch=4": a number for each. Error(usage) for what is malformed or given twice.
[[nodiscard]] std::map<std::string, std::int64_t, std::less<>> parse_dims(const std::vector<std::string>& dims);

/// A graph, and the feeds (as --feed gives them) that are still to be fed: an ONNX model may have taken some by value.
struct LoadedGraph {
  std::unique_ptr<Graph> graph;
  std::vector<std::string> feeds;
};

/// Reads a graph file (.pb, .pbtxt), or imports an ONNX model (.onnx) for the sizes of its feeds and those in `sizes`,
/// and the dims that --dim gives. Errors as load_graph and onnx::import_model; Error(usage) where `sizes` names no
/// input.
[[nodiscard]] LoadedGraph load_any_graph(const std::string& file, const JobOptions& options,
                                         const InputSizes& sizes = {});

/// True for the name of an ONNX model.
[[nodiscard]] bool is_onnx_file(const std::string& path);

/// Computes constants with the CPU's kernels, on one thread of this process.
[[nodiscard]] onnx::Evaluate constant_evaluator();

}  // namespace ferry
