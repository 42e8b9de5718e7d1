// The figures of benchmarks as text and as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/benchmark.hpp"

namespace ferry {

/// One figure of a benchmark, with the attributes that all its figures share.
struct BenchLine {
  BenchLine(const bench::Benchmark& benchmark, const bench::Figure& figure);

  std::string name, unit;
  double ferry = 0;
  std::string peer;                         ///< "" without a peer
  std::optional<double> peer_value, ratio;  ///< ratio: ferry ÷ peer
  std::vector<bench::Pair> pairs;
  bool lower_is_better = true;
};

/// The figure as one line of text or of JSON, with a line feed.
[[nodiscard]] std::string text_line(const BenchLine& line);
[[nodiscard]] std::string json_line(const BenchLine& line);

/// One line for each reason: "skipped: hop.{4B,4KB}, start: REASON". `skipped` has a name and the reason for each
/// skipped benchmark.
[[nodiscard]] std::string skipped_lines(const std::vector<std::pair<std::string, std::string>>& skipped);

/// A benchmark without figures as one line of JSON, with a line feed: `state` is "skipped" or "failed".
[[nodiscard]] std::string json_line(const std::string& name, std::string_view state, std::string_view reason);

}  // namespace ferry
