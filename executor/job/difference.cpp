#include "executor/job/difference.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <optional>
#include <span>

#include "base/format.hpp"
#include "base/hash.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

using Hash = std::uint64_t;

constexpr std::size_t kLongest = 4;  // bytes of text for one escaped byte

/// Index of the first text that differs from texts[0]; texts.size() if none does.
std::size_t first_other(const std::vector<std::string>& texts) {
  const auto other =
      std::find_if(texts.begin(), texts.end(), [&](const std::string& text) { return text != texts[0]; });
  return static_cast<std::size_t>(other - texts.begin());
}

std::string hashes_of(const std::vector<std::string>& lines) {
  std::string bytes(lines.size() * sizeof(Hash), '\0');
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Hash hash = hash64(lines[i]);
    std::memcpy(bytes.data() + i * sizeof hash, &hash, sizeof hash);
  }
  return bytes;
}

/// The number of the first line in which two tasks differ, given the hashes of their lines.
std::size_t first_difference(std::string_view a, std::string_view b) {
  const auto [at, other] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return static_cast<std::size_t>(at - a.begin()) / sizeof(Hash);
}

std::string digest_text(std::span<const std::byte> bytes) {
  return " #" + hex_digest(bytes).substr(0, 8);
}

/// The digest of a value that str() may show only in part; nothing for any other value.
std::string digest_text(const AttrValue& value) {
  if (const auto* tensor = std::get_if<Tensor>(&value)) return digest_text(tensor->bytes());
  if (const auto* text = std::get_if<std::string>(&value); text != nullptr && text->size() > 80 / kLongest)
    return digest_text(std::as_bytes(std::span(*text)));
  if (const auto* ints = std::get_if<Ints>(&value); ints != nullptr && ints->size() > 5)
    return digest_text(std::as_bytes(std::span(*ints)));
  if (const auto* floats = std::get_if<Floats>(&value); floats != nullptr && floats->size() > 4)
    return digest_text(std::as_bytes(std::span(*floats)));
  return {};
}

std::string attrs_text(const Attrs& attrs) {
  std::vector<std::string> items;
  for (const auto& [name, value] : attrs)
    items.push_back(formatted("{}={:.120}{}", name, str(value), as_is(digest_text(value))));
  return items.empty() ? "" : " {" + join(items, ", ") + "}";
}

std::string op_text(const Graph& graph, const Op& op) {
  std::vector<std::string> inputs;
  for (const ValueId input : op.inputs()) inputs.push_back(graph.value_name(input));
  for (const OpId earlier : op.after()) inputs.push_back("after " + std::string(graph.op(earlier).name()));
  const std::string all = join(inputs, ", ");
  std::string text = formatted("{} '{}' ({:.400}{}){}", op.def().name, op.name(), all,
                               as_is(all.size() > 400 / kLongest ? digest_text(std::as_bytes(std::span(all))) : ""),
                               as_is(attrs_text(op.attrs())));
  for (int i = 0; i < op.outputs(); ++i) text += " " + graph.type(op.output(i)).str();
  const Annotation& where = op.annotation();
  if (!where.device.empty()) text += " on " + where.device.str();
  if (where.mesh != kNoMesh) text += " on mesh " + std::to_string(where.mesh);
  for (const Layout& layout : where.layouts) text += " " + str(layout);
  return op.line().known() ? formatted("{} at {}", as_is(text), op.line().str()) : text;
}

/// Calls f with a text for each mesh and each op of the graph and its subgraphs.
void each_line(const Graph& graph, const std::function<void(std::string)>& f) {
  if (graph.is_auto_placed()) f("auto_place()");
  for (const Mesh& mesh : graph.meshes()) f("mesh " + mesh.str());
  for (OpId id = 0; id < graph.size(); ++id) f(op_text(graph, graph.op(id)));
  for (std::uint32_t i = 0; i < graph.subgraphs(); ++i) each_line(graph.subgraph({i}), f);
}

}  // namespace

void reject_difference(std::string_view what, const std::vector<std::string>& lines, Transport& transport,
                       const Deadline& deadline) {
  const std::vector<std::string> hashes = transport.exchange(hashes_of(lines), deadline);
  const std::size_t other = first_other(hashes);
  const std::size_t line = other == hashes.size() ? lines.size() : first_difference(hashes[0], hashes[other]);
  const std::vector<std::string> texts =
      transport.exchange(line < lines.size() ? lines[line] : "nothing more", deadline);
  Error error(Code::plan, "the tasks have different " + std::string(what));
  if (other < hashes.size())
    error.note("first difference, in task {}:", other)
        .note("task 0 has " + texts[0])
        .note("task " + std::to_string(other) + " has " + texts[other]);
  throw error.hint("give all tasks the same graph, the same options and the same build of ferry");
}

void require_same_library(std::string_view library, Transport& transport, const Deadline& deadline) {
  const std::vector<std::string> all = transport.exchange(library, deadline);
  const std::size_t other = first_other(all);
  if (other == all.size()) return;
  throw Error(Code::plan, "the tasks multiply matrices by different code, which rounds differently")
      .note("task 0 has " + all[0])
      .note("task " + std::to_string(other) + " has " + all[other])
      .hint(
          "give all tasks the same OPENBLAS_CORETYPE (mpirun -x OPENBLAS_CORETYPE=Haswell), or processors of one kind");
}

void require_same_graph(const Graph& graph, Transport& transport, const Deadline& deadline) {
  Hasher hasher;
  each_line(graph, [&](const std::string& line) { hasher.add(line); });
  const std::vector<std::string> all = transport.exchange(hasher.hex(), deadline);
  if (first_other(all) == all.size()) return;
  std::vector<std::string> lines;
  each_line(graph, [&](std::string line) { lines.push_back(std::move(line)); });
  reject_difference("graphs", lines, transport, deadline);
}

}  // namespace ferry
