#include "runner/pictures/curves_svg.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/number_text.hpp"
#include "runner/pictures/in_xml.hpp"

namespace ferry {
namespace {

constexpr double kDiagramWidth = 420, kDiagramHeight = 240, kPlotLeft = 64, kPlotRight = 16, kPlotTop = 34,
                 kPlotBottom = 30, kLegendRow = 20;
constexpr double kPlotWidth = kDiagramWidth - kPlotLeft - kPlotRight,
                 kPlotHeight = kDiagramHeight - kPlotTop - kPlotBottom;
constexpr std::array<std::string_view, kMostCurveRuns> kRunColours = {"#3b78b5", "#c8503f", "#4f9a4f", "#8a63b0",
                                                                      "#e0962f", "#4aa3a2", "#7a6a5a", "#d36ba6"};

/// Pixels with one decimal, which is exact enough.
std::string in_tenths(double value) {
  return digits_text(std::round(value * 10) / 10, 6);
}

struct Span {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void add(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  /// The position of a value in the span, from 0 to 1.
  [[nodiscard]] double part(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

/// About `count` round numbers within the span.
std::vector<double> round_values(const Span& span, int count, double smallest) {
  if (!(span.high > span.low)) return {span.low};
  const double rough = std::max((span.high - span.low) / count, smallest);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  double step = power;
  for (const double factor : {2.0, 5.0, 10.0})
    if (step < rough * (1 - 1e-9)) step = factor * power;
  std::vector<double> all;
  for (double k = std::ceil(span.low / step - 1e-9); k * step <= span.high + 1e-9 * step; ++k) all.push_back(k * step);
  return all;
}

std::string diagram_text(double x, double y, std::string_view more, const std::string& text) {
  return "<text x=\"" + in_tenths(x) + "\" y=\"" + in_tenths(y) + "\"" + std::string(more) + ">" + in_xml(text) +
         "</text>\n";
}

std::string grid_line(double x1, double y1, double x2, double y2) {
  return "<line x1=\"" + in_tenths(x1) + "\" y1=\"" + in_tenths(y1) + "\" x2=\"" + in_tenths(x2) + "\" y2=\"" +
         in_tenths(y2) + "\" stroke=\"#dfe3e6\"/>\n";
}

using Drawn = std::pair<std::size_t, const Curves::Curve*>;  ///< a run's number, and its curve

/// The diagram of one scalar of one entry.
class Diagram {
 public:
  Diagram(std::string title, std::vector<Drawn> curves) : title_(std::move(title)), curves_(std::move(curves)) {
    for (const auto& [run, curve] : curves_)
      for (std::size_t i = 0; i < curve->steps.size(); ++i)
        if (std::isfinite(curve->values[i])) {
          steps_.add(static_cast<double>(curve->steps[i]));
          values_.add(curve->values[i]);
        }
  }

  [[nodiscard]] bool empty() const { return steps_.low > steps_.high; }

  [[nodiscard]] std::string svg(double left, double top) const {
    std::string text = "<g transform=\"translate(" + in_tenths(left) + " " + in_tenths(top) + ")\">\n";
    text += diagram_text(kPlotLeft, 20, " font-weight=\"bold\"", title_);
    for (const double value : round_values(values_, 5, 0)) {
      text += grid_line(kPlotLeft, y(value), kDiagramWidth - kPlotRight, y(value));
      text += diagram_text(kPlotLeft - 6, y(value) + 4, " text-anchor=\"end\" fill=\"#68737d\"", digits_text(value, 4));
    }
    for (const double step : round_values(steps_, 5, 1)) {
      text += grid_line(x(step), kDiagramHeight - kPlotBottom, x(step), kDiagramHeight - kPlotBottom + 4);
      text += diagram_text(x(step), kDiagramHeight - kPlotBottom + 17, " text-anchor=\"middle\" fill=\"#68737d\"",
                           digits_text(step, 7));
    }
    for (const auto& [run, curve] : curves_) text += line_of(*curve, kRunColours[run]);
    return text + "</g>\n";
  }

 private:
  [[nodiscard]] double x(double step) const { return kPlotLeft + steps_.part(step) * kPlotWidth; }
  [[nodiscard]] double y(double value) const { return kPlotTop + (1 - values_.part(value)) * kPlotHeight; }

  [[nodiscard]] std::string line_of(const Curves::Curve& curve, std::string_view colour) const {
    std::string path;
    bool drawing = false;
    for (std::size_t i = 0; i < curve.steps.size(); ++i) {
      const bool finite = std::isfinite(curve.values[i]);
      if (finite)
        path += (drawing ? "L" : "M") + in_tenths(x(static_cast<double>(curve.steps[i]))) + " " +
                in_tenths(y(curve.values[i]));
      if (finite && !drawing) path += "h0";  // makes a single point visible, too
      drawing = finite;
    }
    return "<path d=\"" + path + "\" fill=\"none\" stroke=\"" + std::string(colour) +
           "\" stroke-width=\"1.6\" stroke-linecap=\"round\" stroke-linejoin=\"round\"/>\n";
  }

  std::string title_;
  std::vector<Drawn> curves_;
  Span steps_, values_;
};

std::vector<Diagram> diagrams_of(std::span<const NamedCurves> runs) {
  std::map<std::pair<std::string, std::string>, std::vector<Drawn>> by_name;
  for (std::size_t run = 0; run < runs.size(); ++run)
    for (const auto& [name, curve] : runs[run].curves.all()) by_name[name].emplace_back(run, &curve);
  std::vector<Diagram> diagrams;
  for (auto& [name, curves] : by_name) {
    const auto& [entry, scalar] = name;
    Diagram diagram((entry.empty() ? "" : entry + ": ") + scalar, std::move(curves));
    if (!diagram.empty()) diagrams.push_back(std::move(diagram));
  }
  return diagrams;
}

}  // namespace

std::string curves_svg(std::span<const NamedCurves> runs) {
  const std::vector<Diagram> diagrams = diagrams_of(runs);
  if (diagrams.empty())
    throw Error(Code::file, "there are no values to draw")
        .hint("a run has curves of the scalars that its entry fetches");
  const std::size_t columns = std::min<std::size_t>(diagrams.size(), 2);
  const double legend = runs.size() > 1 ? kLegendRow * static_cast<double>(runs.size()) + 8 : 0;
  const double width = kDiagramWidth * static_cast<double>(columns);
  const double height = legend + kDiagramHeight * static_cast<double>((diagrams.size() + columns - 1) / columns);
  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + in_tenths(width) + "\" height=\"" +
                     in_tenths(height) + "\" font-family=\"sans-serif\" font-size=\"12\">\n" +
                     "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n";
  for (std::size_t run = 0; legend > 0 && run < runs.size(); ++run) {
    const double y = kLegendRow * static_cast<double>(run) + 12;
    text += "<rect x=\"" + in_tenths(kPlotLeft) + "\" y=\"" + in_tenths(y) + "\" width=\"18\" height=\"4\" fill=\"" +
            std::string(kRunColours[run]) + "\"/>\n" + diagram_text(kPlotLeft + 26, y + 6, "", runs[run].name);
  }
  for (std::size_t i = 0; i < diagrams.size(); ++i)
    text += diagrams[i].svg(kDiagramWidth * static_cast<double>(i % columns),
                            legend + kDiagramHeight * static_cast<double>(i / columns));
  return text + "</svg>\n";
}

}  // namespace ferry
