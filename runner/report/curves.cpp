#include "runner/report/curves.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

/// The number in `json`; NaN for null, which stands for numbers that are not finite.
double number_in(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

}  // namespace

void Curves::add(std::int64_t step, std::string_view entry, const Metrics& metrics) {
  for (const auto& [name, value] : metrics) {
    Curve& curve = curves_[{std::string(entry), name}];
    if (curve.added++ % curve.stride != 0) continue;
    if (curve.steps.size() == kMostPoints) {
      for (std::size_t i = 0; 2 * i < kMostPoints; ++i) {
        curve.steps[i] = curve.steps[2 * i];
        curve.values[i] = curve.values[2 * i];
      }
      curve.steps.resize(kMostPoints / 2);
      curve.values.resize(kMostPoints / 2);
      curve.stride *= 2;
    }
    curve.steps.push_back(step);
    curve.values.push_back(value);
  }
}

Curves curves_in_metrics(std::string_view text, const std::string& file) {
  Curves curves;
  std::size_t number = 0;
  for (const std::string_view line : split(text.substr(0, text.rfind('\n') + 1), '\n')) {
    ++number;
    if (line.empty()) continue;
    try {
      const Json fields = Json::parse(line);
      Metrics values;
      for (const auto& [name, value] : fields.at("values").items()) values.emplace_back(name, number_in(value));
      curves.add(fields.at("step").get<std::int64_t>(), fields.at("entry").get<std::string>(), values);
    } catch (const Json::exception&) {
      throw Error(Code::file, "{:?}:{}: this is no line of --metrics", file, number)
          .hint("give a file that ferry run --metrics wrote");
    }
  }
  return curves;
}

Curves curves_in_run(std::string_view json) {
  Curves curves;
  const Json run = Json::parse(json);
  for (const Json& curve : run.at("curves"))
    for (std::size_t i = 0; i < curve.at("steps").size(); ++i)
      curves.add(curve["steps"][i].get<std::int64_t>(), curve.at("entry").get<std::string>(),
                 {{curve.at("name").get<std::string>(), number_in(curve.at("values").at(i))}});
  return curves;
}

}  // namespace ferry
