// Checks chunks: parts of one value that are sent in separate messages, and copied between hosts and GPUs. Elements
// that are received at a position of the value must have been sent from this position.
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

/// Bytes [begin, end) of a value of `whole` bytes.
struct Chunk {
  std::uint64_t begin = 0, end = 0, whole = 0;
  std::string_view name;
  std::set<std::string_view> names;  ///< names of the value under all shapes

  [[nodiscard]] bool brings(const Chunk& received) const {
    return begin == received.begin && end == received.end && whole == received.whole && names.contains(received.name);
  }
};

class Chunks {
 public:
  explicit Chunks(const Plan& plan) : plan_(plan), sent_(plan.channels.size()), received_(plan.channels.size()) {}

  void check() {
    for (const PlanClass& role : plan_.classes) trace(role);
    for (std::uint32_t c = 0; c < plan_.channels.size(); ++c) {
      const Channel& channel = plan_.channels[c];
      if (received_[c] && (!sent_[c] || !sent_[c]->brings(*received_[c])))
        reject(described(plan_, "channel", c, channel.name, channel.line) + ", task " + std::to_string(channel.from) +
               " -> " + std::to_string(channel.to) + ": a chunk is received at another place of its value than sent");
    }
  }

 private:
  using ByBuffer = std::map<std::uint32_t, Chunk>;

  /// The chunk that a buffer is, if it is a part of another buffer with the same name. nullopt for other parts, which
  /// are separate values.
  [[nodiscard]] std::optional<Chunk> chunk(const PlanClass& role, const NamesOfWhole& names, std::uint32_t b) const {
    const Buffer& part = role.buffers[b];
    if (part.view_of == kNone || !names.contains({part.view_of, part.name})) return std::nullopt;
    const Buffer& whole = role.buffers[part.view_of];
    if (part.bytes >= whole.bytes) return std::nullopt;
    const std::uint64_t begin = part.offset - whole.offset;
    Chunk chunk{begin, begin + part.bytes, whole.bytes, plan_.string(part.name), {}};
    for (auto name = names.lower_bound({part.view_of, 0}); name != names.end() && name->first == part.view_of; ++name)
      chunk.names.insert(plan_.string(name->second));
    return chunk;
  }

  void trace(const PlanClass& role) {
    const NamesOfWhole names = names_of_whole(role);
    ByBuffer copied_from, copied_to;  // by the other end of the copy
    for (const Instruction& i : role.instructions) {
      if (i.what != Opcode::copy) continue;
      const std::uint32_t from = role.inputs(i)[0], to = role.outputs(i)[0];
      if (const auto of = chunk(role, names, from)) copied_from.emplace(to, *of);
      if (const auto of = chunk(role, names, to)) copied_to.emplace(from, *of);
    }
    const auto find = [&](std::uint32_t b, const ByBuffer& copies) {
      if (const auto found = copies.find(b); found != copies.end()) return std::optional(found->second);
      return chunk(role, names, b);
    };
    for (const Instruction& i : role.instructions) {
      if (i.what == Opcode::send) sent_[i.channel()] = find(role.inputs(i)[0], copied_from);
      if (i.what == Opcode::receive) received_[i.channel()] = find(role.outputs(i)[0], copied_to);
    }
  }

  const Plan& plan_;
  std::vector<std::optional<Chunk>> sent_, received_;  // for each channel
};

}  // namespace

NamesOfWhole names_of_whole(const PlanClass& role) {
  NamesOfWhole names;
  for (std::uint32_t b = 0; b < role.buffers.size(); ++b) {
    const Buffer& buffer = role.buffers[b];
    const BufferId whole = buffer.view_of == kNone ? BufferId(b) : buffer.view_of;
    if (buffer.name != kNone && buffer.bytes == role.buffers[whole].bytes) names.emplace(whole, buffer.name);
  }
  return names;
}

void check_chunks(const Plan& plan) {
  Chunks(plan).check();
}

}  // namespace ferry::verifier
