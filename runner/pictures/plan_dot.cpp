#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "placement/plan/plan_text.hpp"
#include "runner/pictures/plan_pictures.hpp"

namespace ferry {
namespace {

std::string label(const std::vector<std::string>& lines) {
  std::string safe;
  for (const std::string& line : lines) {
    if (!safe.empty()) safe += "\\n";
    for (const char c : escaped(line, 60)) safe += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return "\"" + safe + "\"";
}

/// "2,880 B".
std::string bytes_text(std::uint64_t bytes) {
  std::string digits = std::to_string(bytes);
  for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
    digits.insert(static_cast<std::size_t>(at), ",");
  return digits + " B";
}

/// The colour of a collective, by what it does with values: it reduces, gathers, distributes or exchanges them.
std::string_view colour_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce:
    case CollectiveKind::reduce:
    case CollectiveKind::reduce_scatter:
      return "#ffc078";
    case CollectiveKind::all_gather:
    case CollectiveKind::gather:
      return "#74c0fc";
    case CollectiveKind::broadcast:
    case CollectiveKind::scatter:
      return "#8ce99a";
    case CollectiveKind::all_to_all:
      return "#d0bfff";
  }
  return "#ffffff";
}

std::string_view words_for(Region::Kind kind) {
  switch (kind) {
    case Region::Kind::condition:
      return "before each iteration";
    case Region::Kind::body:
      return "in each iteration";
    default:
      return "when this branch is taken";
  }
}

bool is_wait(Opcode what) {
  return what == Opcode::send_wait || what == Opcode::receive_wait || what == Opcode::collective_wait;
}

constexpr std::string_view kOfKernels = "#e7f0ff", kOfPorts = "#f1f3f5", kOfVariables = "#fff3bf";
constexpr std::string_view kOfMessages = "#d9480f";

using Index = std::size_t;
constexpr Index kNothing = static_cast<Index>(-1);

struct Drawn {
  std::string id;
  std::vector<std::string> lines;
  std::string look;          ///< graphviz's attributes
  int task = -1;             ///< -1 for a collective
  std::uint32_t region = 1;  ///< 1: the step; bodies and branches get frames of their own
  bool kernel = false;       ///< may share a box with other kernels of a chain
  std::string what;          ///< its op or kind, which a folded box lists; empty: never folded
  std::string name;
  std::uint32_t source = kNone;  ///< the user's line
  std::uint64_t bytes = 0;       ///< of a variable or collective
};

/// With more boxes a picture is hardly legible, and graphviz takes more than a few seconds.
constexpr std::size_t kMostBoxes = 120;
/// The first tasks, this many, are always drawn; of the others one of each class, unless the whole plan is wanted.
constexpr int kMostTasks = 4;

constexpr std::string_view kOfGradients = "grad/";

/// "encoder/layer1" of "encoder/layer1/add_3" for a depth of 2 or more.
std::string scope_of(std::string_view name, std::size_t depth) {
  if (name.starts_with(kOfGradients)) name.remove_prefix(kOfGradients.size());
  std::size_t end = 0;
  for (; depth > 0; --depth) {
    const std::size_t slash = name.find('/', end == 0 ? 0 : end + 1);
    if (slash == std::string_view::npos) break;
    end = slash;
  }
  return std::string(name.substr(0, end));
}

struct Arrow {
  Index from, to;
  std::string look;
  std::uint64_t bytes = 0;  ///< of a message
  bool operator<(const Arrow& other) const {
    return std::tie(from, to, look) < std::tie(other.from, other.to, other.look);
  }
};

/// The boxes and arrows of a plan, task by task. Kernels that form a chain are one box. If there are too many boxes,
/// those from one line of the user's program become one; of many tasks that do the same only a few are drawn.
class Drawing {
 public:
  Drawing(const Plan& plan, bool whole) : plan_(plan) {
    const bool few = whole || plan.topology.size() <= kMostTasks;
    std::set<std::uint32_t> roles;
    for (int task = 0; task < plan_.topology.size(); ++task)
      if (roles.insert(plan_.class_of[static_cast<std::size_t>(task)]).second || few || task < kMostTasks) {
        tasks_.push_back(task);
        draw(task);
      }
    // Tasks that send or receive have classes of their own, so that both ends are drawn.
    for (const auto& [channel, from] : sent_) {
      const std::uint64_t bytes = plan_.channels[channel].bytes;
      arrows_.push_back({from, received_.at(channel), "label=" + label({bytes_text(bytes)}), bytes});
    }
    join_chains();
    if (!whole) fold();
  }

  std::string text() const {
    std::string out =
        "digraph plan {\n  newrank=true;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", "
        "fontsize=12];\n"
        "  edge [color=\"#868e96\", fontname=\"sans-serif\", fontsize=11];\n";
    for (const int task : tasks_) out += box_of(task);
    for (Index i = 0; i < drawn_.size(); ++i)
      if (drawn_[i].task < 0 && box_[i] == i) out += "  " + line(i);
    std::set<std::string> once;
    for (const Arrow& arrow : folded_ ? joined_arrows() : arrows_) {
      const Index from = box_[arrow.from], to = box_[arrow.to];
      if (from == to && (folded_ || drawn_[from].kernel)) continue;
      const bool message = drawn_[from].task != drawn_[to].task;
      std::string look = message ? "penwidth=2, color=\"" + std::string(kOfMessages) + "\"" : "";
      if (!arrow.look.empty()) look += (look.empty() ? "" : ", ") + arrow.look;
      const std::string text =
          "  " + drawn_[from].id + " -> " + drawn_[to].id + (look.empty() ? "" : " [" + look + "]") + ";\n";
      if (once.insert(text).second) out += text;
    }
    return out + "}\n";
  }

 private:
  // ---- Boxes and arrows ----

  void draw(int task) {
    const PlanClass& role = plan_.class_for(task);
    makers_.assign(role.buffers.size(), kNothing);
    parts_.clear();
    kept_.clear();
    for (const PlanVariable& variable : role.variables) {
      const Buffer& buffer = role.buffers[variable.buffer];
      makers_[variable.buffer] = kept_[variable.buffer] =
          add("v" + std::to_string(variable.buffer), task, 1,
              {std::string(plan_.string(variable.name)), sizes_text(buffer)}, "shape=cylinder", kOfVariables);
      drawn_.back().what = "variable";
      drawn_.back().bytes = buffer.bytes;
    }
    for (std::uint32_t region = 0; region < role.regions.size(); ++region) {
      if (role.regions[region].kind == Region::Kind::tile) continue;  // its `tiles` instruction is drawn as one box
      const Range range = role.regions[region].instructions;
      for (std::uint32_t i = range.begin; i < range.begin + range.count; ++i)
        draw(task, role, region, i, role.instructions[i]);
    }
  }

  void draw(int task, const PlanClass& role, std::uint32_t region, std::uint32_t number, const Instruction& what) {
    if (is_wait(what.what) || is_number(role, what)) return;
    if (what.what == Opcode::send && !parts_.contains(role.operands[what.inputs.begin])) {
      const Index from = maker(role, role.operands[what.inputs.begin]);
      if (from != kNothing) {
        sent_[what.target] = from;
        return;
      }
    }
    const Index box =
        what.what == Opcode::collective ? collective(task, what.target) : instruction(role, task, region, number, what);
    if (what.what == Opcode::send) sent_[what.target] = box;
    if (what.what == Opcode::receive) received_[what.target] = box;
    for (std::uint32_t i = 0; i < what.inputs.count; ++i) arrows_from(role, role.operands[what.inputs.begin + i], box);
    for (std::uint32_t i = 0; i < what.outputs.count; ++i) {
      const std::uint32_t buffer = role.operands[what.outputs.begin + i];
      if (what.what == Opcode::loop) carried(role, buffer, box);
      made(role, buffer, box);
    }
  }

  /// Whether it is a scalar constant: a number in a formula, which is drawn only if it is sent.
  bool is_number(const PlanClass& role, const Instruction& what) const {
    return what.what == Opcode::kernel && plan_.string(what.op) == "Constant" &&
           role.buffers[role.operands[what.outputs.begin]].sizes.empty();
  }

  Index add(const std::string& id, int task, std::uint32_t region, std::vector<std::string> lines,
            const std::string& look, std::string_view colour) {
    const std::string whole = task < 0 ? id : "t" + std::to_string(task) + "_" + id;
    Drawn& drawn = drawn_.emplace_back();
    drawn.id = whole;
    drawn.lines = std::move(lines);
    drawn.look = (look.empty() ? "" : look + ", ") + "fillcolor=\"" + std::string(colour) + "\"";
    drawn.task = task;
    drawn.region = region;
    return drawn_.size() - 1;
  }

  Index instruction(const PlanClass& role, int task, std::uint32_t region, std::uint32_t number,
                    const Instruction& what) {
    const bool kernel = what.what == Opcode::kernel || what.what == Opcode::tiles;
    std::vector<std::string> lines{title(what)};
    if (what.what == Opcode::tiles) lines = titles(role, role.regions[what.target].instructions);
    const Index box = add(std::to_string(number), task, region, lines, "", kernel ? kOfKernels : kOfPorts);
    drawn_[box].kernel = kernel;
    drawn_[box].source = what.line;
    drawn_[box].name = plan_.string(what.name);
    if (what.what != Opcode::loop && what.what != Opcode::branch)
      drawn_[box].what = what.what == Opcode::kernel ? plan_.string(what.op) : name_of(what.what);
    return box;
  }

  /// The box of a collective, of which each group of tasks has one.
  Index collective(int task, std::uint32_t number) {
    const Collective& collective = plan_.collectives[number];
    const Grouping& grouping = plan_.groupings[collective.grouping];
    const Index group = static_cast<Index>(membership(grouping, task).group - grouping.data());
    const auto [at, fresh] = collectives_.try_emplace({number, group});
    if (!fresh) return at->second;
    const Schedule& schedule = plan_.schedules[collective.schedule];
    const auto elements = std::accumulate(collective.parts.begin(), collective.parts.end(), std::int64_t{0});
    const auto bytes = static_cast<std::uint64_t>(elements) * size_of(collective.dtype);
    const Index box = add(
        "c" + std::to_string(number) + "_" + std::to_string(group), -1, 1,
        {std::string(name_of(schedule.kind)) + ", " + bytes_text(bytes), std::string(plan_.string(collective.name))},
        "shape=hexagon, style=filled", colour_of(schedule.kind));
    drawn_[box].what = name_of(schedule.kind);
    drawn_[box].name = std::to_string(collective.grouping) + "." + std::to_string(group) + "/" +
                       std::string(plan_.string(collective.name));
    drawn_[box].source = collective.line;
    drawn_[box].bytes = bytes;
    return at->second = box;
  }

  Index maker(const PlanClass& role, std::uint32_t buffer) const {
    if (makers_[buffer] != kNothing) return makers_[buffer];
    const std::uint32_t storage = storage_of(role, buffer);
    if (const auto parts = parts_.find(storage); parts != parts_.end())
      if (const auto part = parts->second.find(role.buffers[buffer].offset); part != parts->second.end())
        return part->second;
    return makers_[storage];
  }

  /// Adds arrows from all boxes that made the buffer: several if it was made in parts.
  void arrows_from(const PlanClass& role, std::uint32_t buffer, Index box) {
    if (const auto parts = parts_.find(buffer); parts != parts_.end()) {
      for (const auto& part : parts->second) arrows_.push_back({part.second, box, ""});
    } else if (const Index from = maker(role, buffer); from != kNothing) {
      arrows_.push_back({from, box, ""});
    }
  }

  void made(const PlanClass& role, std::uint32_t buffer, Index box) {
    const std::uint32_t storage = storage_of(role, buffer);
    makers_[buffer] = box;
    if (role.buffers[buffer].bytes < role.buffers[storage].bytes) {
      parts_[storage][role.buffers[buffer].offset] = box;
      return;
    }
    parts_.erase(storage);
    makers_[storage] = box;
    if (const auto kept = kept_.find(storage); kept != kept_.end() && kept->second != box)
      arrows_.push_back({box, kept->second, "style=dashed, constraint=false"});
  }

  /// For a buffer that a loop carries: adds the arrow from the box that made it, and notes that writes in the body go
  /// back to the loop.
  void carried(const PlanClass& role, std::uint32_t buffer, Index loop) {
    if (const Index from = maker(role, buffer); from != kNothing) arrows_.push_back({from, loop, ""});
    kept_[storage_of(role, buffer)] = loop;
  }

  std::vector<std::string> titles(const PlanClass& role, Range instructions) const {
    std::vector<std::string> all;
    for (std::uint32_t i = 0; i < instructions.count; ++i)
      all.push_back(title(role.instructions[instructions.begin + i]));
    return all;
  }

  std::string title(const Instruction& what) const {
    switch (what.what) {
      case Opcode::kernel:
        return std::string(plan_.string(what.op)) + " " + std::string(plan_.string(what.name));
      case Opcode::feed:
        return "feed " + std::string(plan_.string(plan_.feeds[what.target].name));
      case Opcode::fetch:
        return "fetch " + std::string(plan_.string(plan_.fetches[what.target].name));
      case Opcode::receive:
      case Opcode::send:
        return std::string(name_of(what.what)) + " " + std::string(plan_.string(plan_.channels[what.target].name));
      default:
        return std::string(name_of(what.what)) + " " + std::string(plan_.string(what.name));
    }
  }

  /// "[10,36] of [20,36]".
  std::string sizes_text(const Buffer& buffer) const {
    std::string own = Shape(std::span<const std::int64_t>(buffer.sizes.begin(), buffer.sizes.end())).str();
    if (buffer.window == kNone) return own;
    return own + " of " + Shape(std::span<const std::int64_t>(plan_.windows[buffer.window].sizes)).str();
  }

  // ---- Chains ----

  /// Draws a kernel and its only user as one box, if that is a kernel without other inputs.
  void join_chains() {
    std::vector<std::set<Index>> from(drawn_.size()), to(drawn_.size());
    for (const Arrow& arrow : arrows_) {
      to[arrow.from].insert(arrow.to);
      from[arrow.to].insert(arrow.from);
    }
    box_.resize(drawn_.size());
    for (Index i = 0; i < drawn_.size(); ++i) {
      box_[i] = i;
      if (!drawn_[i].kernel || from[i].size() != 1) continue;
      const Index before = *from[i].begin();
      const Drawn& other = drawn_[before];
      if (!other.kernel || to[before].size() != 1 || other.task != drawn_[i].task || other.region != drawn_[i].region)
        continue;
      box_[i] = box_[before];
      std::vector<std::string>& lines = drawn_[box_[i]].lines;
      lines.insert(lines.end(), drawn_[i].lines.begin(), drawn_[i].lines.end());
    }
  }

  // ---- Folds ----

  [[nodiscard]] std::size_t boxes() const {
    std::size_t count = 0;
    for (Index i = 0; i < drawn_.size(); ++i) count += box_[i] == i ? 1 : 0;
    return count;
  }

  /// Things with the same key are folded into one box: those of one task, region, source line and scope of names. Only
  /// the outermost `depth` levels of the scope count.
  [[nodiscard]] std::string key_of(const Drawn& drawn, std::size_t depth) const {
    const bool ports = !drawn.kernel || drawn.what == "variable";
    const bool backward = drawn.name.starts_with(kOfGradients);
    return std::to_string(drawn.task) + " " + std::to_string(drawn.region) + " " + std::to_string(drawn.source) +
           (backward ? " backward " : " ") + (ports ? drawn.what + " " : "") +
           scope_of(drawn.name, drawn.task < 0 ? 1 : depth);
  }

  void fold() {
    if (boxes() <= kMostBoxes) return;
    folded_ = true;
    std::map<std::string, std::vector<Index>> folds;
    for (std::size_t depth = 4; depth > 0 && (folds.empty() || folds.size() > kMostBoxes); --depth) {
      folds.clear();
      for (Index i = 0; i < drawn_.size(); ++i)
        folds[drawn_[i].what.empty() ? drawn_[i].id : key_of(drawn_[i], depth - 1)].push_back(i);
    }
    for (const auto& [key, members] : folds) {
      const std::vector<std::string> lines = folded_lines(members);
      for (const Index i : members) box_[i] = members[0];
      drawn_[members[0]].lines = lines;
    }
  }

  /// "MatMul", "Add x 3", "and 8 more", "charlm.cpp:48, backward".
  [[nodiscard]] std::vector<std::string> folded_lines(const std::vector<Index>& members) const {
    constexpr std::size_t kNamed = 3;
    const Drawn& first = drawn_[members[0]];
    if (members.size() == 1) return first.lines;
    std::uint64_t bytes = 0;
    std::map<std::string, std::size_t> counts;
    for (const Index i : members) {
      ++counts[drawn_[i].what];
      bytes += drawn_[i].bytes;
    }
    std::vector<std::pair<std::string, std::size_t>> most(counts.begin(), counts.end());
    std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
    std::vector<std::string> lines;
    std::size_t left = members.size();
    for (std::size_t k = 0; k < std::min(most.size(), kNamed); ++k) {
      left -= most[k].second;
      lines.push_back(most[k].first + (most[k].second > 1 ? " x " + std::to_string(most[k].second) : ""));
    }
    if (left > 0) lines.push_back("and " + std::to_string(left) + " more");
    if (bytes > 0) lines.push_back(bytes_text(bytes));
    const SourceLine source = plan_.line(first.source);
    if (first.source != kNone && source.known())
      lines.push_back(source.str().substr(source.str().find_last_of('/') + 1) +
                      (first.name.starts_with(kOfGradients) ? ", backward" : ""));
    return lines;
  }

  /// The arrows to draw between two boxes: one for all messages, and one for all other values.
  [[nodiscard]] std::vector<Arrow> joined_arrows() const {
    std::map<std::tuple<Index, Index, bool>, Arrow> joined;
    std::map<std::tuple<Index, Index, bool>, std::size_t> counts;
    for (const Arrow& arrow : arrows_) {
      const std::tuple key(box_[arrow.from], box_[arrow.to], arrow.bytes > 0);
      const auto at = joined.try_emplace(key, arrow).first;
      if (counts[key]++ > 0) at->second.bytes += arrow.bytes;
    }
    std::vector<Arrow> all;
    for (auto& [key, arrow] : joined) {
      if (counts[key] > 1 && arrow.bytes > 0)
        arrow.look = "label=" + label({std::to_string(counts[key]) + " messages, " + bytes_text(arrow.bytes)});
      all.push_back(arrow);
    }
    return all;
  }

  // ---- Text ----

  std::string line(Index i) const {
    return drawn_[i].id + " [label=" + label(drawn_[i].lines) + ", " + drawn_[i].look + "];\n";
  }

  /// The frame of a task, with a frame inside for each body and branch.
  std::string box_of(int task) const {
    std::map<std::uint32_t, std::string> inside;
    for (Index i = 0; i < drawn_.size(); ++i)
      if (drawn_[i].task == task && box_[i] == i) inside[std::max(drawn_[i].region, 1U)] += "    " + line(i);
    const std::string name = "cluster_" + std::to_string(task);
    std::string out = "  subgraph " + name + " {\n    label=\"task " + std::to_string(task) +
                      "\"; fontname=\"sans-serif\"; style=filled; color=\"#ced4da\"; fillcolor=\"#f8f9fa\";\n";
    for (const auto& [region, lines] : inside) {
      if (region == 1)
        out += lines;
      else
        out += "    subgraph " + name + "_" + std::to_string(region) + " {\n    label=\"" +
               std::string(words_for(plan_.class_for(task).regions[region].kind)) + "\"; fillcolor=\"#ffffff\";\n" +
               lines + "    }\n";
    }
    return out + "  }\n";
  }

  const Plan& plan_;
  std::vector<Drawn> drawn_;
  std::vector<Arrow> arrows_;
  std::vector<Index> box_;  ///< for each of drawn_: the index of the one whose box shows it
  std::map<std::pair<std::uint32_t, Index>, Index> collectives_;
  std::map<std::uint32_t, Index> sent_;      ///< by channel: the box that makes the value
  std::map<std::uint32_t, Index> received_;  ///< by channel: the box where it arrives
  std::vector<int> tasks_;                   ///< those that are drawn
  bool folded_ = false;

  // For the task that is being drawn:
  std::vector<Index> makers_;  ///< by buffer: the box that made it
  /// For a buffer that is made in parts: the box that made each, by the part's offset.
  std::map<std::uint32_t, std::map<std::uint64_t, Index>> parts_;
  std::map<std::uint32_t, Index> kept_;  ///< by buffer: the variable that it is, or the loop that carries it
};

}  // namespace

std::string plan_dot(const Plan& plan, bool whole) {
  return Drawing(plan, whole).text();
}

}  // namespace ferry
