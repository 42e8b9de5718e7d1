// The figures of benchmarks as text, as JSON and as rows of a picture.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/benchmark.hpp"
#include "runner/pictures/speed_bars.hpp"

namespace ferry {

/// One figure of a benchmark, with the attributes that all its figures share.
struct BenchLine {
  BenchLine(const bench::Benchmark& benchmark, const bench::Figure& figure);

  std::string name, unit;
  double ferry = 0;
  std::string peer;                         ///< "" without a peer
  std::optional<double> peer_value, ratio;  ///< ratio: ferry ÷ peer
  bool lower_is_better = true;

  /// The speed of ferry relative to its peer: 2 if ferry is twice as fast. None without a peer.
  [[nodiscard]] std::optional<double> speed() const;
};

/// The figure as one line of text or of JSON, with a line feed.
[[nodiscard]] std::string text_line(const BenchLine& line);
[[nodiscard]] std::string json_line(const BenchLine& line);

/// One line for each reason: "skipped: hop.{4B,4KB}, start: REASON". `skipped` has a name and the reason for each
/// skipped benchmark.
[[nodiscard]] std::string skipped_lines(const std::vector<std::pair<std::string, std::string>>& skipped);

/// The figure as a row of the picture.
[[nodiscard]] SpeedBar bar_of(const BenchLine& line);

}  // namespace ferry
