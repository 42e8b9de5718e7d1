#include <algorithm>
#include <map>
#include <string>

#include "base/format.hpp"
#include "runner/pictures/plan_colours.hpp"
#include "runner/pictures/plan_pictures.hpp"
#include "runner/pictures/shown_plan.hpp"

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

std::string look_of(const DrawnBox& box) {
  const std::string fill = "fillcolor=\"" + std::string(colour_of(box)) + "\"";
  switch (box.kind) {
    case DrawnBox::Kind::variable:
      return "shape=cylinder, " + fill;
    case DrawnBox::Kind::collective:
      return "shape=hexagon, style=filled, " + fill;
    default:
      return fill;
  }
}

std::string look_of(const ShownArrow& arrow, bool crosses) {
  std::string look = crosses ? "penwidth=2, color=\"" + std::string(kColourOfMessages) + "\"" : "";
  const std::string more = arrow.message ? "label=" + label({arrow.label()})
                           : arrow.kept  ? "style=dashed, constraint=false"
                                         : "";
  return look + (look.empty() || more.empty() ? "" : ", ") + more;
}

class DotText {
  using Index = std::size_t;

 public:
  DotText(const Plan& plan, bool whole)
      : plan_(plan), shown_(plan, whole ? DrawnTasks::all : DrawnTasks::some, whole) {}

  std::string text() const {
    const std::vector<DrawnBox>& boxes = shown_.drawing().boxes();
    std::string out =
        "digraph plan {\n  newrank=true;\n  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", "
        "fontsize=12];\n"
        "  edge [color=\"#868e96\", fontname=\"sans-serif\", fontsize=11];\n";
    for (const int task : shown_.drawing().tasks()) out += frame_of(task);
    for (const Index i : shown_.boxes())
      if (boxes[i].task < 0) out += "  " + line(i);
    for (const ShownArrow& arrow : shown_.arrows()) {
      const std::string look = look_of(arrow, boxes[arrow.from].task != boxes[arrow.to].task);
      out +=
          "  " + boxes[arrow.from].id + " -> " + boxes[arrow.to].id + (look.empty() ? "" : " [" + look + "]") + ";\n";
    }
    return out + "}\n";
  }

 private:
  std::string line(Index i) const {
    const DrawnBox& box = shown_.drawing().boxes()[i];
    return box.id + " [label=" + label(shown_.lines(i)) + ", " + look_of(box) + "];\n";
  }

  /// The frame of a task, with a frame inside for each body and branch.
  std::string frame_of(int task) const {
    const std::vector<DrawnBox>& boxes = shown_.drawing().boxes();
    std::map<std::uint32_t, std::string> inside;
    for (const Index i : shown_.boxes())
      if (boxes[i].task == task) inside[std::max(boxes[i].region.number(), 1U)] += "    " + line(i);
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
  ShownPlan shown_;
};

}  // namespace

std::string plan_dot(const Plan& plan, bool whole) {
  return DotText(plan, whole).text();
}

}  // namespace ferry
