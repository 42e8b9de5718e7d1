// Sparse rows with labels, as trees are grown from them: each value as the number of a bin of its feature.
#pragma once

#include <ferry/base/libsvm.hpp>
#include <ferry/executor/cluster.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace boost_sample {

/// A file's rows, of which this task has a part.
struct Rows {
  ferry::LibsvmRows part;
  std::int64_t first = 0;  ///< of the part
  std::int64_t all = 0;    ///< of the file
};

/// The rows of a LibSVM file that are this task's, whose labels must be 0 or 1. Error(file) names the place.
[[nodiscard]] Rows read_rows(const std::string& path, const ferry::Cluster& cluster);

/// Where the values of each feature are cut into bins: bin b holds the values from the cut before it to below cuts[b].
/// At most 256 a feature; with fewer different values each has a bin of its own, as in XGBoost's histograms.
struct Cuts {
  std::vector<float> cuts;            ///< of all features, one after another
  std::vector<std::uint32_t> begins;  ///< of each feature's, and the end of the last one's
  std::vector<float> below;           ///< of each feature: below its first bin

  [[nodiscard]] std::uint32_t bins() const { return begins.back(); }
  [[nodiscard]] std::int32_t features() const { return static_cast<std::int32_t>(below.size()); }
  [[nodiscard]] std::uint32_t bin_of(std::int32_t feature, float value) const;
};

/// Cuts from the values of all tasks: the same on every task, for any number of them.
[[nodiscard]] Cuts make_cuts(const ferry::LibsvmRows& part, const ferry::Cluster& cluster);

}  // namespace boost_sample
