// Charts of pipelines for the picture of a plan.
#pragma once

#include <span>
#include <string>

#include "placement/planner.hpp"

namespace ferry {

inline constexpr int kChartWidth = 1080;  ///< pixels

/// The height of all charts in pixels; 0 without charts.
[[nodiscard]] int height_of_charts(std::span<const PipelineChart> charts);

/// The charts as elements of SVG, one below the other, from the height `top` on. A chart has a row for each device with
/// its planned work over time.
[[nodiscard]] std::string charts_svg(std::span<const PipelineChart> charts, int top);

}  // namespace ferry
