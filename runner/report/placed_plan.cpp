#include "runner/report/placed_plan.hpp"

#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/ranges.hpp"
#include "plan/text/plan_text.hpp"
#include "runner/pictures/plan_drawing.hpp"

namespace ferry {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> kKinds = {"kernel", "port", "variable", "collective"};
/// Most folds of a task: a column with more is hardly readable.
constexpr std::size_t kMostFolds = 50;

class PlacedPlan {
 public:
  PlacedPlan(const Plan& plan, std::size_t most_opened)
      : plan_(plan), drawing_(plan, DrawnTasks::roles), folds_(drawing_.folds(kMostFolds * drawing_.tasks().size())) {
    const std::size_t all = drawing_.boxes().size();
    std::vector<std::size_t> fold_of(all);
    for (std::size_t fold = 0; fold < folds_.size(); ++fold)
      for (const std::size_t i : folds_[fold].boxes) fold_of[i] = fold;
    box_of_.resize(all);
    for (std::size_t i = 0; i < all; ++i) {
      const std::size_t first = folds_[fold_of[i]].boxes[0];
      if (all > most_opened && i != first) {
        box_of_[i] = box_of_[first];
        continue;
      }
      box_of_[i] = boxes_.size();
      boxes_.push_back({i, fold_of[i]});
    }
  }

  [[nodiscard]] Json json() {
    Json boxes = Json::array();  // first, because box_json() adds the columns
    for (const auto& [i, fold] : boxes_) boxes.push_back(box_json(drawing_.boxes()[i], fold));
    Json folds = Json::array();
    for (const DrawnFold& fold : folds_) folds.push_back(fold.lines);
    Json json = {{"roles", plan_.classes.size()}, {"columns", columns_json()}};
    json["kinds"] = kKinds;
    json["folds"] = std::move(folds);
    json["boxes"] = std::move(boxes);
    json["arrows"] = arrows_json();
    return json;
  }

 private:
  struct Shown {
    std::size_t box = 0, fold = 0;
  };
  using Column = std::pair<int, std::uint32_t>;  ///< task and region

  Json box_json(const DrawnBox& box, std::size_t fold) {
    const Column column{box.task, box.task < 0 ? 1 : std::max(box.region.number(), 1U)};
    const auto number = columns_.try_emplace(column, columns_.size()).first->second;
    const SourceLine line = plan_.line(box.source);
    return {number, fold, static_cast<int>(box.kind), box.lines, line.known() ? line.str() : ""};
  }

  [[nodiscard]] Json columns_json() const {
    std::vector<Json> columns(columns_.size());
    for (const auto& [column, number] : columns_) {
      const auto& [task, region] = column;
      if (task < 0) {
        columns[number] = {-1, "", ""};
        continue;
      }
      const std::vector<int> equal = tasks_of_class(plan_, plan_.class_of[task]);
      const auto title = region == 1 ? std::string_view() : frame_label(plan_.class_for(task).regions[region].kind);
      columns[number] = {task, (equal.size() > 1 ? "tasks " : "task ") + ranges(equal), title};
    }
    return columns;
  }

  [[nodiscard]] Json arrows_json() const {
    std::map<std::tuple<std::size_t, std::size_t, bool>, std::pair<std::int64_t, std::uint64_t>> arrows;
    for (const DrawnArrow& arrow : drawing_.arrows()) {
      const std::size_t from = box_of_[arrow.from], to = box_of_[arrow.to];
      if (from == to) continue;
      auto& [messages, bytes] = arrows[{from, to, arrow.kept}];
      messages += arrow.message ? 1 : 0;
      bytes += arrow.bytes;
    }
    Json json = Json::array();
    for (const auto& [ends, sums] : arrows)
      json.push_back({std::get<0>(ends), std::get<1>(ends), sums.first, sums.second, std::get<2>(ends) ? 1 : 0});
    return json;
  }

  const Plan& plan_;
  PlanDrawing drawing_;
  std::vector<DrawnFold> folds_;
  std::vector<Shown> boxes_;
  std::vector<std::size_t> box_of_;  ///< for each drawn box: the index in boxes_ of the box that shows it
  std::map<Column, std::size_t> columns_;
};

}  // namespace

std::string placed_plan_json(const Plan& plan, std::size_t most_opened) {
  return PlacedPlan(plan, most_opened).json().dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace ferry
