// Draws curves as a picture.
#pragma once

#include <span>
#include <string>

#include "runner/report/curves.hpp"

namespace ferry {

/// The curves of a run, and the run's name in the picture.
struct NamedCurves {
  std::string name;
  Curves curves;
};

inline constexpr std::size_t kMostCurveRuns = 8;  ///< as many as there are colours

/// An SVG picture with a diagram for each scalar of an entry. A diagram has a line for each run that has the scalar.
/// Values that are not finite are gaps. Error(file) if no run has any value.
[[nodiscard]] std::string curves_svg(std::span<const NamedCurves> runs);

}  // namespace ferry
