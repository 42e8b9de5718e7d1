// Checks buckets: buffers that are made up of parts, and the sums and transfers of several values that use them. A sum
// adds the elements at the same position on all members. So all members must have the same values at these positions,
// and read the sums there. Elements that are sent from a position must be received at the same position.
#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

/// Bytes [begin, end) of a buffer, which another buffer has as a part.
struct Part {
  std::uint64_t begin = 0, end = 0;
  BufferId buffer = 0;
  std::vector<std::uint32_t> views;  ///< other buffers with the same bytes
  [[nodiscard]] auto bytes() const { return std::tuple(begin, end); }
};
using Parts = std::vector<Part>;

bool is_part(const PlanClass& c, const Buffer& b) {
  return b.view_of != kNone && b.space != Buffer::Space::none && b.bytes > 0 && b.bytes < c.buffers[b.view_of].bytes;
}

class Buckets {
 public:
  Buckets(const Plan& plan, const Tables& tables) : plan_(plan), tables_(tables), parts_(plan.classes.size()) {}

  void check() {
    bool any = false;
    for (std::uint32_t c = 0; c < plan_.classes.size(); ++c) {
      find_parts(c);
      names_.push_back(names_of_whole(plan_.classes[c]));
      for (auto& [whole, parts] : parts_[c]) check_parts(c, whole, parts);
      any = any || !parts_[c].empty();
    }
    if (!any) return;
    sums_.resize(plan_.collectives.size());
    ends_.resize(plan_.channels.size());
    for (std::uint32_t c = 0; c < plan_.classes.size(); ++c)
      for (const Instruction& i : plan_.classes[c].instructions) {
        if (i.what == Opcode::collective) check_sum(c, i);
        if (i.what == Opcode::send) ends_[i.channel()].sent = parts_in(c, i.inputs);
        if (i.what == Opcode::receive) ends_[i.channel()].received = parts_in(c, i.outputs);
      }
    for (std::uint32_t k = 0; k < sums_.size(); ++k)
      if (!sums_[k].empty()) check_members(k);
    for (std::uint32_t k = 0; k < ends_.size(); ++k) check_ends(k);
  }

 private:
  /// The parts of the buffers that a class gives to a collective and gets from it; null: no buffer, or a single value.
  /// Chunks of one value do not count as parts.
  struct Sum {
    const Instruction* instruction = nullptr;
    const Parts *given = nullptr, *got = nullptr;
  };

  /// The parts of the buffers at both ends of a channel; null: a single value.
  struct Ends {
    const Parts *sent = nullptr, *received = nullptr;
  };

  [[nodiscard]] std::string named(std::uint32_t c, BufferId buffer) const {
    return "buffer " + std::to_string(buffer) + " (" +
           std::string(plan_.string(plan_.classes[c].buffers[buffer].name)) + ") of task " +
           std::to_string(tables_.tasks_of[c][0]);
  }

  void find_parts(std::uint32_t c) {
    const PlanClass& plan_class = plan_.classes[c];
    for (std::uint32_t b = 0; b < plan_class.buffers.size(); ++b) {
      const Buffer& part = plan_class.buffers[b];
      if (!is_part(plan_class, part)) continue;
      const Buffer& whole = plan_class.buffers[part.view_of];
      if (part.dtype != whole.dtype || part.bounded || whole.bounded)
        reject(named(c, b) + " is a part of " + named(c, part.view_of) + ", which has another dtype or is bounded");
      const std::uint64_t begin = part.offset - whole.offset;
      parts_[c][part.view_of].push_back({begin, begin + part.bytes, b, {}});
    }
  }

  /// Requires that the parts are consecutive and fill the buffer, so that a write to one part touches no other part.
  /// Merges buffers with the same bytes into one part, with the others as its views.
  void check_parts(std::uint32_t c, std::uint32_t whole, Parts& parts) const {
    std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.bytes() < b.bytes(); });
    Parts apart;
    for (Part& part : parts) {
      if (!apart.empty() && apart.back().bytes() == part.bytes())
        apart.back().views.push_back(part.buffer);
      else
        apart.push_back(std::move(part));
    }
    parts = std::move(apart);
    std::uint64_t end = 0;
    bool fit = true;
    for (const Part& part : parts) {
      fit = fit && part.begin == end;
      end = part.end;
    }
    if (!fit || end != plan_.classes[c].buffers[whole].bytes)
      reject(named(c, whole) + " is not made up of its parts: they overlap or leave bytes out");
  }

  [[nodiscard]] const Parts* parts_in(std::uint32_t c, Range operands) const {
    if (operands.count == 0) return nullptr;
    const std::uint32_t whole = plan_.classes[c].operands[operands[0]];
    const auto found = parts_[c].find(whole);
    if (found == parts_[c].end()) return nullptr;
    const auto is_chunk = [&](const Part& part) {
      return names_[c].contains({whole, plan_.classes[c].buffers[part.buffer].name});
    };
    return std::ranges::all_of(found->second, is_chunk) ? nullptr : &found->second;
  }

  void check_sum(std::uint32_t c, const Instruction& i) {
    const Sum sum{&i, parts_in(c, i.inputs), parts_in(c, i.outputs)};
    if (sum.given == nullptr && sum.got == nullptr) return;
    const CollectiveKind kind = plan_.schedules[plan_.collectives[i.collective()].schedule].kind;
    if (kind != CollectiveKind::all_reduce && kind != CollectiveKind::reduce) {
      if (sum.got == nullptr) return;  // sends one value, which kernels have made in parts
      reject(describe(plan_, i) + ": only sums may be of several values at once");
    }
    if (i.inputs.count > 0 && i.outputs.count > 0 && !same_places(sum.given, sum.got))
      reject(describe(plan_, i) + " on task " + std::to_string(tables_.tasks_of[c][0]) +
             " does not bring the sums of its values at their places");
    sums_[i.collective()].emplace(c, sum);
  }

  /// Requires that all members give the same values at the same positions, and get the sums there.
  void check_members(std::uint32_t number) {
    for (const auto& [a, b] : neighbours(plan_.collectives[number].grouping)) {
      const Sum one = of(number, a), other = of(number, b);
      const bool fit =
          one.instruction != nullptr && other.instruction != nullptr &&
          (one.given == nullptr || other.given == nullptr || same_values(a, *one.given, b, *other.given)) &&
          (one.got == nullptr || other.got == nullptr || same_values(a, *one.got, b, *other.got)) &&
          same_places(one.given != nullptr ? one.given : one.got, other.given != nullptr ? other.given : other.got);
      if (!fit)
        reject(described(plan_, number) + ": task " + std::to_string(tables_.tasks_of[a][0]) + " and task " +
               std::to_string(tables_.tasks_of[b][0]) + " have other values in the same places");
    }
  }

  /// Requires that each position of the receiver's buffer has the value that the sender's buffer has there, maybe under
  /// another shape.
  void check_ends(std::uint32_t number) const {
    const Ends& ends = ends_[number];
    const Channel& channel = plan_.channels[number];
    const auto is_there = [&](const Part& sent, const Part& received) {
      const std::string_view name = name_on(channel.to, received.buffer);
      return sent.bytes() == received.bytes() &&
             (name_on(channel.from, sent.buffer) == name ||
              std::any_of(sent.views.begin(), sent.views.end(),
                          [&](std::uint32_t view) { return name_on(channel.from, view) == name; }));
    };
    if (ends.sent == nullptr && ends.received == nullptr) return;
    if (ends.sent == nullptr || ends.received == nullptr ||
        !std::equal(ends.sent->begin(), ends.sent->end(), ends.received->begin(), ends.received->end(), is_there))
      reject(verifier::described(plan_, "channel", number, channel.name, channel.line) + ", task " +
             std::to_string(channel.from) + " -> " + std::to_string(channel.to) +
             ": other values are received than sent, or in other places");
  }

  [[nodiscard]] std::string_view name_on(std::int32_t task, BufferId buffer) const {
    return plan_.string(plan_.class_for(task).buffers[buffer].name);
  }

  [[nodiscard]] Sum of(std::uint32_t number, std::uint32_t c) const {
    const auto found = sums_[number].find(c);
    return found == sums_[number].end() ? Sum{} : found->second;
  }

  static bool same_places(const Parts* a, const Parts* b) {
    if (a == nullptr || b == nullptr) return a == b;
    return std::equal(a->begin(), a->end(), b->begin(), b->end(),
                      [](const Part& one, const Part& other) { return one.bytes() == other.bytes(); });
  }
  [[nodiscard]] bool same_values(std::uint32_t a, const Parts& of_a, std::uint32_t b, const Parts& of_b) const {
    return std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end(), [&](const Part& one, const Part& other) {
      return plan_.string(plan_.classes[a].buffers[one.buffer].name) ==
             plan_.string(plan_.classes[b].buffers[other.buffer].name);
    });
  }

  /// Pairs of classes that have tasks next to each other in some group.
  const std::set<std::pair<std::uint32_t, std::uint32_t>>& neighbours(std::uint32_t grouping) {
    const auto [at, fresh] = neighbours_.try_emplace(grouping);
    if (!fresh) return at->second;
    for (const auto& group : plan_.groupings[grouping])
      for (std::size_t m = 1; m < group.size(); ++m)
        at->second.emplace(plan_.class_of[group[m - 1]], plan_.class_of[group[m]]);
    return at->second;
  }

  const Plan& plan_;
  const Tables& tables_;
  std::vector<std::map<std::uint32_t, Parts>> parts_;  // for each class: by buffer with parts
  std::vector<NamesOfWhole> names_;                    // for each class
  std::vector<std::map<std::uint32_t, Sum>> sums_;     // for each collective: by class
  std::vector<Ends> ends_;                             // for each channel
  std::map<std::uint32_t, std::set<std::pair<std::uint32_t, std::uint32_t>>> neighbours_;  // for each grouping
};

}  // namespace

void check_buckets(const Plan& plan, const Tables& tables) {
  Buckets(plan, tables).check();
}

}  // namespace ferry::verifier
