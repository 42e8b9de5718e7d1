// PlanLayout: the places of boxes and arrows in a picture of a plan.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runner/pictures/shown_plan.hpp"

namespace ferry {

/// The distance between two lines of text, in pixels.
inline constexpr int kTextLine = 15;

struct Point {
  int x = 0, y = 0;
};

struct PlacedBox {
  std::size_t box = 0;            ///< index into PlanDrawing::boxes()
  std::vector<std::string> text;  ///< lines, cut to the width of a box
  Point middle;
  int width = 0, height = 0;
};

struct PlacedArrow {
  ShownArrow arrow;
  bool crosses = false;       ///< from task to task, or to or from a collective
  bool up = false;            ///< from the side of a box to the side of a box above it
  std::vector<Point> points;  ///< from the first to the last box, between boxes that are in the way
};

/// The frame of a task, or of the boxes of a loop or branch in it.
struct PlacedFrame {
  int task = -1;        ///< -1: the collectives, which have no frame
  RegionId region = 1;  ///< 1: the whole task
  Point at;             ///< its upper left corner
  int width = 0, height = 0;
};

/// Boxes are below the boxes whose values they read. A task has a column of boxes, and one more for each loop or
/// branch. Collectives are in a column in the middle.
struct PlanLayout {
  int width = 0, height = 0;  ///< pixels
  std::vector<PlacedFrame> frames;
  std::vector<PlacedBox> boxes;
  std::vector<PlacedArrow> arrows;
};

/// The number of pixels that `letters` letters need in a picture of a plan.
[[nodiscard]] int width_of_text(std::size_t letters);

/// The layout, with its upper edge at `top`. Takes time linear in the arrows, apart from sorting.
[[nodiscard]] PlanLayout layout_of(const ShownPlan& plan, int top);

}  // namespace ferry
