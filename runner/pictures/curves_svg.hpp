// Curves as a picture.
#pragma once

#include <span>
#include <string>

#include "runner/report/curves.hpp"

namespace ferry {

/// The curves of a run, and its name beside others.
struct NamedCurves {
  std::string name;
  Curves curves;
};

inline constexpr std::size_t kMostCurveRuns = 8;  ///< as many as there are colours

/// An SVG picture with a diagram for each scalar of an entry, in it a line for each run that has it. Values that are
/// not finite are gaps. Error(file) when no run has any value.
[[nodiscard]] std::string curves_svg(std::span<const NamedCurves> runs);

}  // namespace ferry
