// ShownPlan: the boxes and arrows of a PlanDrawing, simplified for a picture of a few screens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runner/pictures/plan_drawing.hpp"

namespace ferry {

/// All arrows of one kind between two boxes.
struct ShownArrow {
  std::size_t from = 0, to = 0;  ///< indices into PlanDrawing::boxes()
  bool message = false;          ///< the values are sent over channels
  bool kept = false;             ///< leads back to the variable or loop that keeps the value
  std::size_t count = 0;         ///< values
  std::uint64_t bytes = 0;       ///< of messages

  /// "12 B", "3 messages, 36 B"; empty for arrows that are no messages.
  [[nodiscard]] std::string label() const;
};

/// Shows kernels that form a chain as one box. If there are more than kMostBoxes boxes and `whole` is not set, shows
/// each fold of the drawing as one box. The plan must outlive this.
class ShownPlan {
 public:
  static constexpr std::size_t kMostBoxes = 120;  ///< with more boxes, a picture is hardly readable

  ShownPlan(const Plan& plan, DrawnTasks which, bool whole);

  [[nodiscard]] const PlanDrawing& drawing() const { return drawing_; }
  /// The boxes to show, as ascending indices into PlanDrawing::boxes().
  [[nodiscard]] const std::vector<std::size_t>& boxes() const { return boxes_; }
  /// Whether boxes are folds of the drawing. Then arrows can lead back to earlier boxes.
  [[nodiscard]] bool folded() const { return folded_; }
  /// The lines of text in such a box.
  [[nodiscard]] const std::vector<std::string>& lines(std::size_t box) const { return lines_[box]; }
  /// The arrows between different boxes.
  [[nodiscard]] std::vector<ShownArrow> arrows() const;

 private:
  using Index = std::size_t;

  void join_chains();
  void fold();
  void find_boxes();

  PlanDrawing drawing_;
  std::vector<std::vector<std::string>> lines_;  ///< of each box of the drawing
  std::vector<Index> shown_in_;                  ///< for each box of the drawing: the box that shows it
  std::vector<Index> boxes_;
  bool folded_ = false;
};

}  // namespace ferry
