#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/ranges.hpp"
#include "base/text.hpp"
#include "plan/text/plan_text.hpp"
#include "runner/pictures/in_xml.hpp"
#include "runner/pictures/pipeline_svg.hpp"
#include "runner/pictures/plan_colours.hpp"
#include "runner/pictures/plan_layout.hpp"
#include "runner/pictures/plan_pictures.hpp"

namespace ferry {
namespace {

constexpr int kTitleHeight = 52, kLegendHeight = 34, kLabel = 12;
constexpr std::string_view kColourOfValues = "#868e96", kColourOfFrames = "#ced4da", kColourOfLines = "#495057";

constexpr std::pair<std::string_view, std::string_view> kLegend[] = {
    {kColourOfKernels, "ops"},         {kColourOfPorts, "feeds, fetches, sends, receives"},
    {kColourOfVariables, "variables"}, {kColourOfReductions, "reductions"},
    {kColourOfGathers, "gathers"},     {kColourOfBroadcasts, "broadcasts and scatters"},
    {kColourOfExchanges, "exchanges"}, {kColourOfMessages, "from task to task"}};

std::string number(int value) {
  return std::to_string(value);
}

std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + std::string(value) + "\"";
}

std::string text_at(Point at, const std::string& text, std::string_view attributes = "") {
  return "<text" + attribute("x", number(at.x)) + attribute("y", number(at.y)) + std::string(attributes) + ">" +
         in_xml(text) + "</text>\n";
}

std::string rectangle(Point corner, int width, int height, std::string_view fill, std::string_view attributes = "") {
  return "<rect" + attribute("x", number(corner.x)) + attribute("y", number(corner.y)) +
         attribute("width", number(width)) + attribute("height", number(height)) + attribute("fill", fill) +
         std::string(attributes) + "/>\n";
}

std::string point(int x, int y) {
  return number(x) + " " + number(y);
}

/// The outline of a box: a cylinder for a variable, a hexagon for a collective, else a rectangle.
std::string shape_of(const PlacedBox& placed, const DrawnBox& box) {
  const int left = placed.middle.x - placed.width / 2, top = placed.middle.y - placed.height / 2;
  const int right = left + placed.width, bottom = top + placed.height, x = placed.middle.x, y = placed.middle.y;
  if (box.kind != DrawnBox::Kind::variable && box.kind != DrawnBox::Kind::collective)
    return rectangle({left, top}, placed.width, placed.height, colour_of(box), " rx=\"5\" stroke=\"#868e96\"");
  const std::string path =
      box.kind == DrawnBox::Kind::variable
          ? "M" + point(left, top + 3) + "Q" + point(x, top - 5) + " " + point(right, top + 3) + "V" +
                number(bottom - 3) + "Q" + point(x, bottom + 5) + " " + point(left, bottom - 3) + "Z"
          : "M" + point(left - 6, y) + "L" + point(left + 4, top) + "H" + number(right - 4) + "L" +
                point(right + 6, y) + "L" + point(right - 4, bottom) + "H" + number(left + 4) + "Z";
  return "<path" + attribute("d", path) + attribute("fill", colour_of(box)) + " stroke=\"#868e96\"/>\n";
}

std::string box_svg(const Plan& plan, const PlacedBox& placed, const ShownPlan& shown) {
  const DrawnBox& box = shown.drawing().boxes()[placed.box];
  const SourceLine line = plan.line(box.source);
  std::string about;
  for (const std::string& text : shown.lines(placed.box)) about += formatted("{}\n", text);
  if (line.known()) about += formatted("{}\n", line.str().substr(line.str().rfind('/') + 1));
  std::string svg =
      "<g" + attribute("id", box.id) + "><title>" + in_xml(trimmed(about)) + "</title>\n" + shape_of(placed, box);
  int y = placed.middle.y - placed.height / 2 + kTextLine + 1;
  for (const std::string& text : placed.text) {
    svg += text_at({placed.middle.x, y}, text, " text-anchor=\"middle\"");
    y += kTextLine;
  }
  return svg + "</g>\n";
}

/// The arrow as a path: curves between the points, which end vertically, or for an arrow up horizontally.
std::string path_of(const PlacedArrow& arrow) {
  const std::vector<Point>& points = arrow.points;
  std::string path = "M" + point(points[0].x, points[0].y);
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Point a = points[i - 1], b = points[i];
    const int middle = (a.y + b.y) / 2;
    if (arrow.up) {
      const int out = a.x < b.x && arrow.crosses ? 40 : -40, in = arrow.crosses ? -out : out;
      path += "C" + point(a.x + out, a.y) + " " + point(b.x + in, b.y) + " " + point(b.x, b.y);
    } else if (a.x == b.x) {
      path += "V" + number(b.y);
    } else {
      path += "C" + point(a.x, middle) + " " + point(b.x, middle) + " " + point(b.x, b.y);
    }
  }
  return path;
}

std::string arrow_svg(const PlacedArrow& arrow) {
  return "<path" + attribute("d", path_of(arrow)) + " fill=\"none\"" +
         attribute("stroke", arrow.crosses ? kColourOfMessages : kColourOfValues) +
         (arrow.crosses ? " stroke-width=\"2\"" : "") + (arrow.arrow.kept ? " stroke-dasharray=\"4 3\"" : "") +
         attribute("marker-end", arrow.crosses ? "url(#message)" : "url(#value)") + "/>\n";
}

/// The labels of messages. Moves a label down if there is another one in its place.
std::string labels_svg(const std::vector<PlacedArrow>& arrows) {
  std::string svg;
  std::vector<std::pair<Point, int>> labels;  // middle and width
  for (const PlacedArrow& arrow : arrows) {
    const std::string text = arrow.arrow.label();
    if (text.empty()) continue;
    const Point a = arrow.points[arrow.points.size() - 2], b = arrow.points.back();
    Point at{(a.x + b.x) / 2, (a.y + b.y) / 2 + 4};
    const int width = width_of_text(text.size()) + 4;
    const auto taken = [&](const std::pair<Point, int>& other) {
      return std::abs(other.first.x - at.x) < (other.second + width) / 2 && std::abs(other.first.y - at.y) < kLabel;
    };
    while (std::ranges::any_of(labels, taken)) at.y += kLabel;
    labels.emplace_back(at, width);
    svg += rectangle({at.x - width / 2, at.y - kLabel + 2}, width, kLabel + 1, "white", " opacity=\"0.8\"") +
           text_at(at, text, " text-anchor=\"middle\" font-size=\"11\"" + attribute("fill", kColourOfMessages));
  }
  return svg;
}

std::string frame_svg(const Plan& plan, const PlacedFrame& frame) {
  const Point middle{frame.at.x + frame.width / 2, frame.at.y + 17};
  if (frame.task < 0) return text_at(middle, "between tasks", " text-anchor=\"middle\" fill=\"#495057\"");
  std::string title;
  if (frame.region == 1) {
    const std::vector<int> equal = tasks_of_class(plan, plan.class_of[frame.task]);
    title = equal.size() > 1 ? "tasks " + ranges(equal) + ": each of " + std::to_string(equal.size())
                             : "task " + std::to_string(frame.task);
  } else {
    title = frame_label(plan.class_for(frame.task).regions[frame.region].kind);
  }
  return rectangle(frame.at, frame.width, frame.height, frame.region == 1 ? "#f8f9fa" : "#ffffff",
                   " rx=\"6\"" + attribute("stroke", kColourOfFrames) +
                       (frame.region == 1 ? "" : " stroke-dasharray=\"4 3\"")) +
         text_at(middle, title, " text-anchor=\"middle\" font-weight=\"bold\"");
}

struct LegendEntry {
  std::string_view colour, text;
};

/// The entries for colours that the picture has.
std::vector<LegendEntry> legend_of(const PlanLayout& layout, const ShownPlan& shown) {
  std::vector<LegendEntry> entries;
  for (const auto& [colour, text] : kLegend) {
    const bool boxes = std::ranges::any_of(layout.boxes, [&, wanted = colour](const PlacedBox& box) {
      return colour_of(shown.drawing().boxes()[box.box]) == wanted;
    });
    const bool arrows = colour == kColourOfMessages && std::ranges::any_of(layout.arrows, &PlacedArrow::crosses);
    if (boxes || arrows) entries.push_back({colour, text});
  }
  return entries;
}

int width_of(const LegendEntry& entry) {
  return width_of_text(entry.text.size()) + 36;
}

std::string legend_svg(const std::vector<LegendEntry>& entries, int y) {
  std::string svg;
  int x = kTextLine;
  for (const LegendEntry& entry : entries) {
    svg += rectangle({x, y}, 12, 12, entry.colour, " stroke=\"#868e96\"") +
           text_at({x + 18, y + 11}, std::string(entry.text), attribute("fill", kColourOfLines));
    x += width_of(entry);
  }
  return svg;
}

constexpr std::string_view kTips =
    "<defs>\n"
    "<marker id=\"value\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" markerHeight=\"8\" "
    "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 4L0 8Z\" fill=\"#868e96\"/></marker>\n"
    "<marker id=\"message\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"10\" markerHeight=\"10\" "
    "markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 4L0 8Z\" fill=\"#d9480f\"/></marker>\n"
    "</defs>\n";

}  // namespace

std::string plan_svg(const PlanResult& result, const std::string& title, bool whole) {
  const Plan& plan = result.plan;
  const ShownPlan shown(plan, whole ? DrawnTasks::all : DrawnTasks::roles, whole);
  const int charts = height_of_charts(result.pipelines);
  const PlanLayout layout = layout_of(shown, kTitleHeight + charts);
  std::string totals(split(totals_text_of(plan), '\n').front());
  if (!whole && plan.classes.size() > PlanDrawing::kMostRoles)
    totals += "; the first " + std::to_string(PlanDrawing::kMostRoles) + " classes are drawn";
  const std::vector<LegendEntry> legend = legend_of(layout, shown);
  int width = std::max({layout.width, width_of_text(title.size()) * 4 / 3 + 2 * kTextLine, charts > 0 ? kChartWidth : 0,
                        width_of_text(totals.size()) + 2 * kTextLine}),
      of_legend = kTextLine;
  for (const LegendEntry& entry : legend) of_legend += width_of(entry);
  width = std::max(width, of_legend);
  const int height = layout.height + kLegendHeight;
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", number(width)) +
                    attribute("height", number(height)) + attribute("viewBox", "0 0 " + point(width, height)) +
                    " font-family=\"sans-serif\" font-size=\"12\">\n<title>" + in_xml(title) + "</title>\n" +
                    std::string(kTips) + "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n" +
                    text_at({kTextLine, 24}, title, " font-size=\"15\" font-weight=\"bold\"") +
                    text_at({kTextLine, 43}, totals, attribute("fill", kColourOfLines)) +
                    charts_svg(result.pipelines, kTitleHeight);
  for (const PlacedFrame& frame : layout.frames) svg += frame_svg(plan, frame);
  for (const PlacedArrow& arrow : layout.arrows) svg += arrow_svg(arrow);
  for (const PlacedBox& box : layout.boxes) svg += box_svg(plan, box, shown);
  return svg + labels_svg(layout.arrows) + legend_svg(legend, layout.height + 8) + "</svg>\n";
}

}  // namespace ferry
