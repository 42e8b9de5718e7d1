#include "placement/program/merge.hpp"

#include <algorithm>
#include <bit>
#include <span>
#include <variant>

#include "base/hash.hpp"
#include "placement/program/replacements.hpp"

namespace ferry {
namespace {

constexpr std::size_t kComparedBytes = 65536;

std::uint64_t mix_hash(std::uint64_t hash, std::uint64_t more) {
  return std::rotl((hash ^ more) * 0x9e3779b97f4a7c15ULL, 29);
}

template <class T>
std::uint64_t hash_of(const std::vector<T>& list) {
  return hash64(std::as_bytes(std::span(list)));
}

std::uint64_t hash_of(const AttrValue& value) {
  if (const auto* ints = std::get_if<Ints>(&value)) return hash_of(*ints);
  if (const auto* tensor = std::get_if<Tensor>(&value))
    return hash64(tensor->bytes(), mix_hash(static_cast<std::uint64_t>(tensor->dtype()), hash_of(tensor->sizes())));
  return hash64(str(value), value.index());
}

bool is_small(const Attrs& attrs) {
  for (const auto& [name, value] : attrs)
    if (const auto* tensor = std::get_if<Tensor>(&value); tensor != nullptr && tensor->bytes().size() > kComparedBytes)
      return false;
  return true;
}

class Merger {
 public:
  explicit Merger(Program& program) : program_(program), replacements_(program) {}

  void run() {
    for (const ProgramRegion& region : program_.regions) {
      table_.assign(std::bit_ceil(2 * region.order.size() + 1), kNone);
      for (const NodeId id : region.order) visit(id);
    }
    replacements_.finish();
  }

 private:
  void visit(NodeId id) {
    replacements_.update(id);
    const Node& node = program_.nodes[id];
    if (!is_pure(node) || !is_small(*node.attrs)) return;
    const NodeId first = find_equal(id);
    if (first == id) return;
    const Node& kept = program_.nodes[first];
    for (std::uint32_t k = 0; k < node.outputs.count; ++k) replacements_.replace(id, k, kept.outputs[k]);
    replacements_.take_out(id, [&] {
      return "computed once, with " + program_.name(kept) + replacements_.at_line(kept) +
             ": the same op on the same inputs";
    });
  }

  /// The first visited node that is equal to this node, or this node itself if there is none.
  NodeId find_equal(NodeId id) {
    const std::size_t mask = table_.size() - 1;
    for (std::size_t at = hash(program_.nodes[id]) & mask;; at = (at + 1) & mask) {
      if (table_[at] == kNone) return table_[at] = id;
      if (equal(program_.nodes[table_[at]], program_.nodes[id])) return table_[at];
    }
  }

  [[nodiscard]] std::uint64_t hash(const Node& node) const {
    std::uint64_t hash = mix_hash(hash64(node.def->name), node.where);
    for (const PValueId input : program_.inputs(node)) hash = mix_hash(hash, input);
    for (const auto& item : *node.attrs) hash = mix_hash(hash, hash_of(item.second));
    return hash;
  }

  [[nodiscard]] bool equal(const Node& a, const Node& b) const {
    return a.def == b.def && a.where == b.where && std::ranges::equal(program_.inputs(a), program_.inputs(b)) &&
           a.graph->op(a.op).annotation() == b.graph->op(b.op).annotation() &&
           program_.annotation_layouts(a) == program_.annotation_layouts(b) &&
           (a.attrs == b.attrs || a.attrs->same(*b.attrs));
  }

  Program& program_;
  Replacements replacements_;
  std::vector<NodeId> table_;  // by hash, with linear probing; kNone: free
};

}  // namespace

void merge(Program& program) {
  Merger(program).run();
}

}  // namespace ferry
