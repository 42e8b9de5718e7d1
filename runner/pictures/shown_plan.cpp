#include "runner/pictures/shown_plan.hpp"

#include <map>
#include <set>
#include <tuple>

namespace ferry {

std::string ShownArrow::label() const {
  if (!message) return {};
  return (count > 1 ? std::to_string(count) + " messages, " : "") + bytes_text(bytes);
}

ShownPlan::ShownPlan(const Plan& plan, DrawnTasks which, bool whole)
    : drawing_(plan, which), shown_in_(drawing_.boxes().size()) {
  for (const DrawnBox& box : drawing_.boxes()) lines_.push_back(box.lines);
  join_chains();
  find_boxes();
  if (whole || boxes_.size() <= kMostBoxes) return;
  fold();
  find_boxes();
}

/// Shows a kernel and its only user as one box if the user is a kernel without other inputs.
void ShownPlan::join_chains() {
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

void ShownPlan::fold() {
  folded_ = true;
  for (const DrawnFold& fold : drawing_.folds(kMostBoxes)) {
    for (const Index i : fold.boxes) shown_in_[i] = fold.boxes[0];
    if (fold.boxes.size() > 1) lines_[fold.boxes[0]] = fold.lines;
  }
}

void ShownPlan::find_boxes() {
  boxes_.clear();
  for (Index i = 0; i < shown_in_.size(); ++i)
    if (shown_in_[i] == i) boxes_.push_back(i);
}

std::vector<ShownArrow> ShownPlan::arrows() const {
  std::map<std::tuple<Index, Index, bool, bool>, ShownArrow> joined;
  for (const DrawnArrow& arrow : drawing_.arrows()) {
    const Index from = shown_in_[arrow.from], to = shown_in_[arrow.to];
    if (from == to) continue;
    ShownArrow& sum =
        joined.try_emplace({from, to, arrow.message, arrow.kept}, ShownArrow{from, to, arrow.message, arrow.kept})
            .first->second;
    ++sum.count;
    sum.bytes += arrow.bytes;
  }
  std::vector<ShownArrow> all;
  for (const auto& [key, arrow] : joined) all.push_back(arrow);
  return all;
}

}  // namespace ferry
