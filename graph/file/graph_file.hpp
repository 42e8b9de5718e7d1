// Graph files: `.pb` (protobuf) and `.pbtxt` (the same as text), with large tensors in a `.safetensors` file beside
// them. The format is described in docs/reference/graph_format.md.
//
// All files are validated. Reading checks head and hash, all counts, names, references, cycles and bodies. It compares
// types with the inferred types, and calls check_legal last. Reading and writing take time linear in the file, except
// for sorting its ops. Recursion is limited, both in protobuf and over nested bodies (kMaxNesting).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/files/files.hpp"
#include "graph/graph.hpp"
#include "graph/op/op_def.hpp"
#include "graph/types/tensor.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The newest version that this ferry reads. ferry writes the lowest version that has all features of the graph, so
/// that older versions of ferry can read the file.
inline constexpr std::uint32_t kGraphVersion = 3;
/// The most bytes of a graph file, which is protobuf's own limit.
inline constexpr std::uint64_t kMaxGraphBytes = 0x7fffffff;
/// Tensors with more bytes go to the .safetensors file beside the graph file.
inline constexpr std::size_t kInlineTensorBytes = 1 << 20;

enum class GraphFormat { binary, text };

/// Returns the tensor of that name from the file beside a graph file; undefined if there is none.
using TensorBeside = std::function<Tensor(std::string_view name)>;

/// A graph as the content of a file, and the tensors of the file beside it.
struct GraphContent {
  std::string content;
  std::map<std::string, Tensor, std::less<>> beside;
};

/// Throws Error(plan) if the graph is not legal (check_legal), and Error(resource) if it takes more than
/// kMaxGraphBytes. Equal graphs have equal content. Thread-safe.
[[nodiscard]] GraphContent encode_graph(const Graph& graph, GraphFormat format);

/// Returns the graph in `content`; `source` is the name of the content for messages. Ops may be in any order. The graph
/// has the topological order that is nearest to the order in the file. Its tensors may share bytes with the tensors of
/// `beside`, but not with `content`. Error(file) describes the fault and its place: newer versions of the format or of
/// an op (with both versions), unknown ops (with the nearest known op), cycles, types that differ from the inferred
/// types, and all errors of check_legal. Error(usage) points at a malformed device. Thread-safe.
[[nodiscard]] std::unique_ptr<Graph> decode_graph(std::span<const std::byte> content, GraphFormat format,
                                                  std::string_view source, const OpSet& ops,
                                                  const TensorBeside& beside = {});

/// Writes `path` (`.pbtxt`: text, else binary), and `path`.safetensors if there are large tensors. Writes each file
/// whole or not at all. Throws the errors of encode_graph and FileSystem::write.
void save_graph(const Graph& graph, const std::string& path, FileSystem& files = local_files());

/// Reads `path` (`.pbtxt`: text, else binary), and `path`.safetensors if the graph refers to tensors in it. Throws the
/// errors of decode_graph and FileSystem::read.
///
///     save_graph(g, "graph.pb");
///     load_graph("graph.pb", default_ops())->size() == g.size();  // true
[[nodiscard]] std::unique_ptr<Graph> load_graph(const std::string& path, const OpSet& ops,
                                                FileSystem& files = local_files());

}  // namespace ferry
#pragma GCC visibility pop
