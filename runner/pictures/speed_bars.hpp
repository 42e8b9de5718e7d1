// Draws the speeds of ferry relative to its peers as a picture.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ferry {

/// A row of the picture.
struct SpeedBar {
  std::string name, values;
  std::optional<double> speed;  ///< ferry's speed divided by the peer's; none without a peer
};

/// An SVG picture with a row for each figure: its name, its values and, if it has a peer, a bar. The bar shows the
/// speed relative to the peer on a logarithmic scale: to the right if it is faster, to the left if it is slower.
[[nodiscard]] std::string speed_bars_svg(std::string_view title, std::span<const SpeedBar> bars);

}  // namespace ferry
