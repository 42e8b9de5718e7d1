#include "graph/file/graph_file.hpp"

#include <algorithm>
#include <optional>

#include "base/format.hpp"
#include "graph/file/graph_frame.hpp"
#include "graph/file/protobuf_read.hpp"
#include "graph/file/tensor_file.hpp"

namespace ferry {
namespace {

GraphFormat format_of(std::string_view path) {
  return path.ends_with(".pbtxt") ? GraphFormat::text : GraphFormat::binary;
}

std::string beside(const std::string& path) {
  return path + ".safetensors";
}

FileBytes part_of(const FileReader& file, std::uint64_t begin, std::uint64_t most) {
  FileBytes part(std::min<std::uint64_t>(file.size() - begin, most));
  file.read(begin, part.span());
  return part;
}

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(Code::file, "{:.300}: {}", path, as_is(why));
}

/// Checks a large text before it is read whole: its first MiB must be the beginning of a graph, and no byte may be 0.
void check_text(const FileReader& file, const std::string& path) {
  constexpr std::uint64_t kPart = std::uint64_t{1} << 20;
  for (std::uint64_t begin = 0; begin < file.size(); begin += kPart) {
    const FileBytes part = part_of(file, begin, kPart);
    const std::span<const std::byte> bytes = part.span();
    if (const auto zero = std::find(bytes.begin(), bytes.end(), std::byte{0}); zero != bytes.end())
      refuse(path, "it is no graph as text: byte " + std::to_string(begin + (zero - bytes.begin())) + " is 0");
    if (begin > 0) continue;
    try {
      check_text_head(bytes);
    } catch (const Error& error) {
      refuse(path, error.text());
    }
  }
}

/// Reads a whole file. Reads only its beginning if that shows that it is no graph, so that a large wrong file is not
/// read into memory. If the head of a .pb file is wrong, returns only the head, and decode_graph() reports the error.
FileBytes content_of(FileSystem& files, const std::string& path) {
  const auto file = files.open(path);
  if (format_of(path) == GraphFormat::binary) {
    FileBytes head = part_of(*file, 0, kGraphHeadBytes);
    if (!begins_as_graph(head.span())) return head;
    if (!may_be_message(*file)) refuse(path, "it is no protobuf message of a graph: damaged or cut short");
  } else if (file->size() > kLargeFileBytes && file->size() <= kMaxGraphBytes) {
    check_text(*file, path);
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
  std::optional<NamedTensors> tensors;  // read when decode_graph() asks for the first one
  const TensorBeside find = [&](std::string_view name) {
    if (!tensors) tensors = read_tensors(files, beside(path));
    const auto found = tensors->find(name);
    return found == tensors->end() ? Tensor() : found->second;
  };
  const FileBytes content = content_of(files, path);
  return decode_graph(content.span(), format_of(path), path, ops, find);
}

}  // namespace ferry
