#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/format.hpp"
#include "runner/pictures/plan_drawing.hpp"
#include "runner/pictures/plan_pictures.hpp"

namespace ferry {
namespace {

std::string label(const std::vector<std::string>& lines) {
  std::string safe;
  for (const std::string& line : lines) {
    if (!safe.empty()) safe += "\\n";
    for (const char c : formatted("{:.60}", line))
      safe += c == '"' || c == '\\' ? std::string("\\") + c : std::string(1, c);
  }
  return "\"" + safe + "\"";
}

/// The colour of a collective, by its kind: it reduces, gathers, distributes or exchanges values.
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

std::string look_of(const DrawnBox& box) {
  switch (box.kind) {
    case DrawnBox::Kind::kernel:
      return "fillcolor=\"#e7f0ff\"";
    case DrawnBox::Kind::port:
      return "fillcolor=\"#f1f3f5\"";
    case DrawnBox::Kind::variable:
      return "shape=cylinder, fillcolor=\"#fff3bf\"";
    case DrawnBox::Kind::collective:
      return "shape=hexagon, style=filled, fillcolor=\"" + std::string(colour_of(box.collective)) + "\"";
  }
  return "";
}

std::string look_of(const DrawnArrow& arrow) {
  if (arrow.message) return "label=" + label({bytes_text(arrow.bytes)});
  return arrow.kept ? "style=dashed, constraint=false" : "";
}

constexpr std::string_view kOfMessages = "#d9480f";

/// With more boxes, a picture is hardly readable, and graphviz takes more than a few seconds.
constexpr std::size_t kMostBoxes = 120;

/// Draws kernels that form a chain as one box. If there are too many boxes, draws each fold of the drawing as one box.
class DotText {
  using Index = std::size_t;

 public:
  DotText(const Plan& plan, bool whole)
      : plan_(plan), drawing_(plan, whole ? DrawnTasks::all : DrawnTasks::some), shown_in_(drawing_.boxes().size()) {
    for (const DrawnBox& box : drawing_.boxes()) lines_.push_back(box.lines);
    join_chains();
    if (!whole && boxes() > kMostBoxes) fold();
  }

  std::string text() const {
    const std::vector<DrawnBox>& boxes = drawing_.boxes();
    std::string out =
        "digraph plan {\n  newrank=true;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", "
        "fontsize=12];\n"
        "  edge [color=\"#868e96\", fontname=\"sans-serif\", fontsize=11];\n";
    for (const int task : drawing_.tasks()) out += frame_of(task);
    for (Index i = 0; i < boxes.size(); ++i)
      if (boxes[i].task < 0 && shown_in_[i] == i) out += "  " + line(i);
    std::set<std::string> once;
    for (const auto& [arrow, arrow_look] : folded_ ? joined_arrows() : all_arrows()) {
      const Index from = shown_in_[arrow.from], to = shown_in_[arrow.to];
      if (from == to && (folded_ || boxes[from].kind == DrawnBox::Kind::kernel)) continue;
      const bool crosses = boxes[from].task != boxes[to].task;
      std::string look = crosses ? "penwidth=2, color=\"" + std::string(kOfMessages) + "\"" : "";
      if (!arrow_look.empty()) look += (look.empty() ? "" : ", ") + arrow_look;
      const std::string text =
          "  " + boxes[from].id + " -> " + boxes[to].id + (look.empty() ? "" : " [" + look + "]") + ";\n";
      if (once.insert(text).second) out += text;
    }
    return out + "}\n";
  }

 private:
  struct LookedArrow {
    DrawnArrow arrow;
    std::string look;
  };

  /// Draws a kernel and its only user as one box if the user is a kernel without other inputs.
  void join_chains() {
    const std::vector<DrawnBox>& boxes = drawing_.boxes();
    std::vector<std::set<Index>> from(boxes.size()), to(boxes.size());
    for (const DrawnArrow& arrow : drawing_.arrows()) {
      to[arrow.from].insert(arrow.to);
      from[arrow.to].insert(arrow.from);
    }
    for (Index i = 0; i < boxes.size(); ++i) {
      shown_in_[i] = i;
      if (boxes[i].kind != DrawnBox::Kind::kernel || from[i].size() != 1) continue;
      const Index before = *from[i].begin();
      const DrawnBox& other = boxes[before];
      if (other.kind != DrawnBox::Kind::kernel || to[before].size() != 1 || other.task != boxes[i].task ||
          other.region != boxes[i].region)
        continue;
      shown_in_[i] = shown_in_[before];
      std::vector<std::string>& lines = lines_[shown_in_[i]];
      lines.insert(lines.end(), lines_[i].begin(), lines_[i].end());
    }
  }

  [[nodiscard]] std::size_t boxes() const {
    std::size_t count = 0;
    for (Index i = 0; i < shown_in_.size(); ++i) count += shown_in_[i] == i ? 1 : 0;
    return count;
  }

  void fold() {
    folded_ = true;
    for (const DrawnFold& fold : drawing_.folds(kMostBoxes)) {
      for (const Index i : fold.boxes) shown_in_[i] = fold.boxes[0];
      if (fold.boxes.size() > 1) lines_[fold.boxes[0]] = fold.lines;
    }
  }

  [[nodiscard]] std::vector<LookedArrow> all_arrows() const {
    std::vector<LookedArrow> all;
    for (const DrawnArrow& arrow : drawing_.arrows()) all.push_back({arrow, look_of(arrow)});
    return all;
  }

  /// The arrows to draw between two boxes: one for all messages, and one for all other values.
  [[nodiscard]] std::vector<LookedArrow> joined_arrows() const {
    std::map<std::tuple<Index, Index, bool>, std::pair<DrawnArrow, std::size_t>> joined;  // sum and number of arrows
    for (const DrawnArrow& arrow : drawing_.arrows()) {
      auto& [sum, count] =
          joined.try_emplace({shown_in_[arrow.from], shown_in_[arrow.to], arrow.message}, arrow, 0).first->second;
      if (count++ > 0) sum.bytes += arrow.bytes;
    }
    std::vector<LookedArrow> all;
    for (const auto& [key, entry] : joined) {
      const auto& [arrow, count] = entry;
      const bool several = count > 1 && arrow.message;
      all.push_back({arrow, several
                                ? "label=" + label({std::to_string(count) + " messages, " + bytes_text(arrow.bytes)})
                                : look_of(arrow)});
    }
    return all;
  }

  std::string line(Index i) const {
    return drawing_.boxes()[i].id + " [label=" + label(lines_[i]) + ", " + look_of(drawing_.boxes()[i]) + "];\n";
  }

  /// The frame of a task, with a frame inside for each body and branch.
  std::string frame_of(int task) const {
    std::map<std::uint32_t, std::string> inside;
    for (Index i = 0; i < shown_in_.size(); ++i)
      if (drawing_.boxes()[i].task == task && shown_in_[i] == i)
        inside[std::max(drawing_.boxes()[i].region, 1U)] += "    " + line(i);
    const std::string name = "cluster_" + std::to_string(task);
    std::string out = "  subgraph " + name + " {\n    label=\"task " + std::to_string(task) +
                      "\"; fontname=\"sans-serif\"; style=filled; color=\"#ced4da\"; fillcolor=\"#f8f9fa\";\n";
    for (const auto& [region, lines] : inside) {
      if (region == 1)
        out += lines;
      else
        out += "    subgraph " + name + "_" + std::to_string(region) + " {\n    label=\"" +
               std::string(frame_label(plan_.class_for(task).regions[region].kind)) + "\"; fillcolor=\"#ffffff\";\n" +
               lines + "    }\n";
    }
    return out + "  }\n";
  }

  const Plan& plan_;
  PlanDrawing drawing_;
  std::vector<std::vector<std::string>> lines_;  ///< of each box
  std::vector<Index> shown_in_;                  ///< for each box: the index of the box that shows it
  bool folded_ = false;
};

}  // namespace

std::string plan_dot(const Plan& plan, bool whole) {
  return DotText(plan, whole).text();
}

}  // namespace ferry
