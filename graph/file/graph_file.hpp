// Graph files: `.pb` (protobuf) and `.pbtxt` (the same as text), with large tensors in a `.safetensors` file beside
// them. The format is described in docs/reference/graph_format.md.
//
// No file is trusted: reading checks head and hash, all counts, names, references, cycles and bodies, compares types
// with those that inference gives, and ends with check_legal. Reading and writing take time linear in the file, up to
// the sort of its ops. Recursion is limited: protobuf's own, and that over nested bodies (kMaxNesting).
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

/// The newest version that this ferry reads. It writes version 1 where a graph has nothing that came later, so that
/// older ones read it.
inline constexpr std::uint32_t kGraphVersion = 3;
/// protobuf's own limit.
inline constexpr std::uint64_t kMaxGraphBytes = 0x7fffffff;
/// Tensors of more bytes go to the .safetensors file beside the graph file.
inline constexpr std::size_t kInlineTensorBytes = 1 << 20;

enum class GraphFormat { binary, text };

/// Gives the tensor of that name from the file beside a graph file; undefined when there is none.
using TensorBeside = std::function<Tensor(std::string_view name)>;

/// A graph as the content of a file, and the tensors that lie beside it.
struct GraphContent {
  std::string content;
  std::map<std::string, Tensor, std::less<>> beside;
};

/// Error(plan) when the graph is not legal (check_legal), Error(resource) when it takes more than kMaxGraphBytes.
/// Equal graphs give equal content. Thread-safe.
[[nodiscard]] GraphContent encode_graph(const Graph& graph, GraphFormat format);

/// The graph in `content`; `source` names it in messages. Ops may come in any order; the graph has them in the
/// topological order that is nearest to the file's. Its tensors share bytes with the tensors of `beside`, and none with
/// `content`. Error(file) names the fault and its place: newer versions of the format or of an op (names both), unknown
/// ops (names the nearest known op), cycles, types that differ from inference, and everything that check_legal refuses;
/// Error(usage) points at a malformed device. Thread-safe.
[[nodiscard]] std::unique_ptr<Graph> decode_graph(std::span<const std::byte> content, GraphFormat format,
                                                  std::string_view source, const OpSet& ops,
                                                  const TensorBeside& beside = {});

/// Writes `path` (`.pbtxt`: text, else binary), and `path`.safetensors when there are large tensors; each whole or not
/// at all. Errors as encode_graph and FileSystem::write.
void save_graph(const Graph& graph, const std::string& path, FileSystem& files = local_files());

/// Reads `path` (`.pbtxt`: text, else binary), and `path`.safetensors when it names tensors there. Errors as
/// decode_graph and FileSystem::read.
///
///     std::unique_ptr<Graph> graph = load_graph("add.pb", default_ops());
[[nodiscard]] std::unique_ptr<Graph> load_graph(const std::string& path, const OpSet& ops,
                                                FileSystem& files = local_files());

}  // namespace ferry
#pragma GCC visibility pop
