#include "runner/command/bench_report.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/number_text.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

std::string number(double value) {
  return digits_text(value, 4);
}

std::string left_aligned(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

/// The names; names of one family are joined: "hop.{4B,4KB}, start".
std::string joined_families(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::vector<std::string>>> families;  // the part up to the first dot, and the rest
  for (const std::string& name : names) {
    const std::string family = name.substr(0, name.find('.') + 1);
    if (family.empty() || families.empty() || families.back().first != family) families.push_back({family, {}});
    families.back().second.push_back(name.substr(family.size()));
  }
  std::vector<std::string> texts;
  for (const auto& [family, members] : families)
    texts.push_back(members.size() == 1 ? family + members[0] : family + "{" + join(members, ",") + "}");
  return join(texts, ", ");
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
  pairs = figure.pairs;
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
                                 {"better", line.lower_is_better ? "lower" : "higher"},
                                 {"pairs", nlohmann::ordered_json::array()}};
  if (line.peer_value) {
    json["peer"] = line.peer;
    json["peer_value"] = *line.peer_value;
    json["ratio"] = *line.ratio;
    for (const bench::Pair& pair : line.pairs) json["pairs"].push_back({pair.ferry, pair.peer});
  }
  return json.dump() + "\n";
}

std::string skipped_lines(const std::vector<std::pair<std::string, std::string>>& skipped) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const auto& [name, reason] : skipped) {
    auto at = std::ranges::find(reasons, reason, &std::pair<std::string, std::vector<std::string>>::first);
    if (at == reasons.end()) at = reasons.insert(at, {reason, {}});
    at->second.push_back(name);
  }
  std::string text;
  for (const auto& [reason, names] : reasons) text += "skipped: " + joined_families(names) + ": " + reason + "\n";
  return text;
}

std::string json_line(const std::string& name, std::string_view state, std::string_view reason) {
  const nlohmann::ordered_json json = {{"name", name}, {state, reason}};
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace ferry
