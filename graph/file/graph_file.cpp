#include "graph/file/graph_file.hpp"

#include <algorithm>
#include <optional>

#include "graph/file/graph_frame.hpp"
#include "graph/file/tensor_file.hpp"

namespace ferry {
namespace {

GraphFormat format_of(std::string_view path) {
  return path.ends_with(".pbtxt") ? GraphFormat::text : GraphFormat::binary;
}

std::string beside(const std::string& path) {
  return path + ".safetensors";
}

/// Of what does not begin as a graph no more than that: decode_graph() says what it is not.
FileBytes content_of(FileSystem& files, const std::string& path) {
  if (format_of(path) == GraphFormat::binary) {
    const auto file = files.open(path);
    FileBytes head(std::min<std::uint64_t>(file->size(), kGraphHeadBytes));
    file->read(0, head.span());
    if (!begins_as_graph(head.span())) return head;
  }
  return files.read(path, kMaxGraphBytes);
}

}  // namespace

void save_graph(const Graph& graph, const std::string& path, FileSystem& files) {
  const GraphContent saved = encode_graph(graph, format_of(path));
  if (!saved.beside.empty()) write_tensors(files, beside(path), saved.beside);
  files.write(path, saved.content);
}

std::unique_ptr<Graph> load_graph(const std::string& path, const OpSet& ops, FileSystem& files) {
  std::optional<NamedTensors> tensors;  // read when the first is asked for
  const TensorBeside find = [&](std::string_view name) {
    if (!tensors) tensors = read_tensors(files, beside(path));
    const auto found = tensors->find(name);
    return found == tensors->end() ? Tensor() : found->second;
  };
  const FileBytes content = content_of(files, path);
  return decode_graph(content.span(), format_of(path), path, ops, find);
}

}  // namespace ferry
