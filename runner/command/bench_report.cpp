#include "runner/command/bench_report.hpp"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/number_text.hpp"
#include "runner/pictures/in_xml.hpp"

namespace ferry {
namespace {

// Sizes in the picture, in pixels.
constexpr double kNames = 190, kBars = 420, kValues = 330, kRow = 20, kTop = 56, kBottom = 16;

std::string number(double value) {
  return digits_text(value, 4);
}

std::string left_aligned(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string label(double x, double y, std::string_view text, std::string_view style = "") {
  return "<text x=\"" + number(x) + "\" y=\"" + number(y) + "\"" + std::string(style) + ">" + in_xml(text) +
         "</text>\n";
}

std::string line_at(double x, double bottom, const char* colour) {
  return "<line x1=\"" + number(x) + "\" x2=\"" + number(x) + "\" y1=\"" + number(kTop - 6) + "\" y2=\"" +
         number(bottom) + "\" stroke=\"" + colour + "\"/>\n";
}

/// The bars' scale: powers of two, as many as the figures need.
struct Scale {
  explicit Scale(std::span<const BenchLine> lines) {
    for (const BenchLine& line : lines)
      if (line.speed()) powers = std::max(powers, std::ceil(std::abs(std::log2(*line.speed()))));
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
    const std::string times = power < 0 ? "1/" + number(std::exp2(-power)) : number(std::exp2(power));
    text += label(x, kTop - 12, times + "x", " text-anchor=\"middle\" fill=\"#666666\"");
  }
  return text;
}

std::string bar(const BenchLine& line, const Scale& scale, double y) {
  const double from = std::min(scale.x(*line.speed()), scale.x(1)), to = std::max(scale.x(*line.speed()), scale.x(1));
  return "<rect x=\"" + number(from) + "\" y=\"" + number(y - 12) + "\" width=\"" + number(std::max(to - from, 1.0)) +
         "\" height=\"14\" fill=\"" + (*line.speed() >= 1 ? "#3b7dd8" : "#d8843b") + "\"/>\n";
}

std::string values_of(const BenchLine& line) {
  const std::string mine = number(line.ferry) + " " + line.unit;
  return line.peer_value ? mine + ", " + line.peer + " " + number(*line.peer_value) : mine;
}

}  // namespace

BenchLine::BenchLine(const bench::Benchmark& benchmark, const bench::Figure& figure)
    : name(figure.part.empty() ? benchmark.name : benchmark.name + "." + figure.part),
      unit(figure.unit.empty() ? benchmark.unit : figure.unit),
      ferry(figure.ferry),
      lower_is_better(benchmark.better == bench::Benchmark::Better::lower) {
  if (!figure.peer_value) return;
  peer = figure.peer.empty() ? benchmark.peer : figure.peer;
  peer_value = figure.peer_value;
  ratio = figure.ratio ? *figure.ratio : ferry / *peer_value;
}

std::optional<double> BenchLine::speed() const {
  if (!ratio || !(*ratio > 0)) return std::nullopt;
  return lower_is_better ? 1 / *ratio : *ratio;
}

std::string text_line(const BenchLine& line) {
  const std::string unit = " " + left_aligned(line.unit, 8);
  std::string result = left_aligned(line.name, 24) + " " + right_aligned(number(line.ferry), 10) + unit;
  if (line.peer_value)
    result += " " + right_aligned(number(*line.peer_value), 10) + unit + " ratio " + decimals_text(*line.ratio, 3) +
              "  (" + line.peer + ")";
  return result.substr(0, result.find_last_not_of(' ') + 1) + "\n";
}

std::string json_line(const BenchLine& line) {
  nlohmann::ordered_json json = {{"name", line.name},
                                 {"unit", line.unit},
                                 {"ferry", line.ferry},
                                 {"peer", nullptr},
                                 {"peer_value", nullptr},
                                 {"ratio", nullptr},
                                 {"better", line.lower_is_better ? "lower" : "higher"}};
  if (line.peer_value) {
    json["peer"] = line.peer;
    json["peer_value"] = *line.peer_value;
    json["ratio"] = *line.ratio;
  }
  return json.dump() + "\n";
}

std::string bench_svg(std::span<const BenchLine> lines) {
  const Scale scale(lines);
  const double bottom = kTop + kRow * static_cast<double>(lines.size());
  const double width = kNames + kBars + kValues;
  std::string text =
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + number(width) + "\" height=\"" + number(bottom + kBottom) +
      "\" font-family=\"sans-serif\" font-size=\"12\">\n" +
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n" +
      label(8, 18, "How many times as fast as its peer ferry is: right of 1x faster, left of it slower") +
      scale_lines(scale, bottom);
  double y = kTop + 12;
  for (const BenchLine& line : lines) {
    text += label(8, y, line.name);
    if (line.speed()) text += bar(line, scale, y);
    text += label(kNames + kBars + 8, y, values_of(line), " fill=\"#444444\"");
    y += kRow;
  }
  return text + "</svg>\n";
}

}  // namespace ferry
