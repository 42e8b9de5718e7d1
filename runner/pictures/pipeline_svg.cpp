#include "runner/pictures/pipeline_svg.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include "runner/pictures/in_xml.hpp"

namespace ferry {
namespace {

constexpr int kLeft = 90, kWidth = kChartWidth - kLeft - 90, kRow = 24, kTitle = 30, kBelow = 16;
constexpr int kCharacter = 7;  // pixels
constexpr std::string_view kFont = "font-family=\"sans-serif\" font-size=\"11\"";

std::string_view fill_of(char pass) {
  return pass == 'F' ? "#9ecae1" : pass == 'B' ? "#a1d99b" : "#fdd0a2";
}

std::string text_at(int x, int y, std::string_view anchor, const std::string& text) {
  return "<text x=\"" + std::to_string(x) + "\" y=\"" + std::to_string(y) + "\" text-anchor=\"" + std::string(anchor) +
         "\" " + std::string(kFont) + ">" + in_xml(text) + "</text>\n";
}

/// The position of a time in pixels. The time `length` is at kLeft + kWidth.
int x_of(std::int64_t time, std::int64_t length) {
  return kLeft +
         static_cast<int>(static_cast<double>(time) / static_cast<double>(std::max<std::int64_t>(length, 1)) * kWidth);
}

std::string chart_svg(const PipelineChart& chart, int top) {
  std::string svg = text_at(4, top + kTitle - 12, "start", chart.title);
  int y = top + kTitle;
  for (const PipelineChart::Row& row : chart.rows) {
    svg += text_at(kLeft - 8, y + kRow - 8, "end", row.who);
    svg += "<rect x=\"" + std::to_string(kLeft) + "\" y=\"" + std::to_string(y + 2) + "\" width=\"" +
           std::to_string(kWidth) + "\" height=\"" + std::to_string(kRow - 4) + "\" fill=\"#f2f2f2\"/>\n";
    for (const PipelineChart::Work& work : row.work) {
      const int begin = x_of(work.begin, chart.length), end = x_of(work.begin + work.time, chart.length);
      svg += "<g><title>" + in_xml(work.name()) + "</title><rect x=\"" + std::to_string(begin) + "\" y=\"" +
             std::to_string(y + 2) + "\" width=\"" + std::to_string(std::max(end - begin, 1)) + "\" height=\"" +
             std::to_string(kRow - 4) + "\" fill=\"" + std::string(fill_of(work.pass)) +
             "\" stroke=\"white\" stroke-width=\"0.5\"/>";
      if (end - begin >= kCharacter * static_cast<int>(work.name().size()) + 4)
        svg += text_at((begin + end) / 2, y + kRow - 8, "middle", work.name());
      svg += "</g>\n";
    }
    svg += text_at(kLeft + kWidth + 8, y + kRow - 8, "start", "waits " + std::to_string(chart.waits(row)) + " %");
    y += kRow;
  }
  return svg;
}

int height_of(const PipelineChart& chart) {
  return kTitle + static_cast<int>(chart.rows.size()) * kRow + kBelow;
}

}  // namespace

int height_of_charts(std::span<const PipelineChart> charts) {
  int height = 0;
  for (const PipelineChart& chart : charts) height += height_of(chart);
  return height;
}

std::string charts_svg(std::span<const PipelineChart> charts, int top) {
  std::string svg;
  for (const PipelineChart& chart : charts) {
    svg += chart_svg(chart, top);
    top += height_of(chart);
  }
  return svg;
}

}  // namespace ferry
