#include "runner/pictures/speed_bars.hpp"

#include <algorithm>
#include <cmath>

#include "base/number_text.hpp"
#include "runner/pictures/in_xml.hpp"

namespace ferry {
namespace {

// Sizes in the picture, in pixels.
constexpr double kNames = 190, kBars = 420, kValues = 330, kRowHeight = 20, kTop = 56, kBottom = 16;

std::string coordinate(double value) {
  return digits_text(value, 4);
}

std::string label(double x, double y, std::string_view text, std::string_view style = "") {
  return "<text x=\"" + coordinate(x) + "\" y=\"" + coordinate(y) + "\"" + std::string(style) + ">" + in_xml(text) +
         "</text>\n";
}

std::string line_at(double x, double bottom, const char* colour) {
  return "<line x1=\"" + coordinate(x) + "\" x2=\"" + coordinate(x) + "\" y1=\"" + coordinate(kTop - 6) + "\" y2=\"" +
         coordinate(bottom) + "\" stroke=\"" + colour + "\"/>\n";
}

/// The scale of the bars: as many powers of two as the speeds need, at most 10.
struct Scale {
  explicit Scale(std::span<const SpeedBar> bars) {
    for (const SpeedBar& bar : bars)
      if (bar.speed) powers = std::max(powers, std::ceil(std::abs(std::log2(*bar.speed))));
    powers = std::min(powers, 10.0);
  }
  [[nodiscard]] double x(double speed) const {
    return kNames + kBars / 2 * (1 + std::clamp(std::log2(speed) / powers, -1.0, 1.0));
  }
  double powers = 1;
};

std::string scale_lines(const Scale& scale, double bottom) {
  std::string text;
  const double every = std::max(1.0, std::ceil(scale.powers / 4));
  for (double power = -std::floor(scale.powers / every) * every; power <= scale.powers; power += every) {
    const double x = scale.x(std::exp2(power));
    text += line_at(x, bottom, power == 0 ? "#444444" : "#dddddd");
    const std::string times = power < 0 ? "1/" + coordinate(std::exp2(-power)) : coordinate(std::exp2(power));
    text += label(x, kTop - 12, times + "x", " text-anchor=\"middle\" fill=\"#666666\"");
  }
  return text;
}

std::string bar_at(double speed, const Scale& scale, double y) {
  const double from = std::min(scale.x(speed), scale.x(1)), to = std::max(scale.x(speed), scale.x(1));
  return "<rect x=\"" + coordinate(from) + "\" y=\"" + coordinate(y - 12) + "\" width=\"" +
         coordinate(std::max(to - from, 1.0)) + "\" height=\"14\" fill=\"" + (speed >= 1 ? "#3b7dd8" : "#d8843b") +
         "\"/>\n";
}

}  // namespace

std::string speed_bars_svg(std::string_view title, std::span<const SpeedBar> bars) {
  const Scale scale(bars);
  const double bottom = kTop + kRowHeight * static_cast<double>(bars.size());
  const double width = kNames + kBars + kValues;
  std::string text = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + coordinate(width) + "\" height=\"" +
                     coordinate(bottom + kBottom) + "\" font-family=\"sans-serif\" font-size=\"12\">\n" +
                     "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n" + label(8, 18, title) +
                     scale_lines(scale, bottom);
  double y = kTop + 12;
  for (const SpeedBar& bar : bars) {
    text += label(8, y, bar.name);
    if (bar.speed) text += bar_at(*bar.speed, scale, y);
    text += label(kNames + kBars + 8, y, bar.values, " fill=\"#444444\"");
    y += kRowHeight;
  }
  return text + "</svg>\n";
}

}  // namespace ferry
