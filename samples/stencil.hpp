// A stencil of five points, for samples: heat on a plate.
#pragma once

#include <ferry/ferry.hpp>

/// The element before (by = 1) or after (by = -1) each one along a dim; `outside` where there is none.
inline ferry::Value neighbour(const ferry::Value& x, int dim, int by, double outside = 0) {
  std::vector<std::int64_t> low(static_cast<std::size_t>(x.rank())), high = low;
  (by > 0 ? low : high)[static_cast<std::size_t>(dim)] = 1;
  const ferry::Value wide = ferry::pad(x, low, high, outside);
  return by > 0 ? ferry::slice(wide, dim, 0, -1) : ferry::slice(wide, dim, 1);
}

/// The plate after so many steps: each point becomes the mean of its four neighbours; 1 lies along the upper edge, 0
/// along the others.
inline ferry::Value heated(const ferry::Value& plate, double steps) {
  return ferry::while_loop(
      {plate.graph().constant(0.0), plate}, [&](const ferry::Values& s) { return s[0] < steps; },
      [](const ferry::Values& s) {
        const ferry::Value sides = neighbour(s[1], 1, 1) + neighbour(s[1], 1, -1);
        return ferry::Values{s[0] + 1.0, (neighbour(s[1], 0, 1, 1) + neighbour(s[1], 0, -1) + sides) * 0.25};
      })[1];
}
