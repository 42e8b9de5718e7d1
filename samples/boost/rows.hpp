// Sparse rows with labels, and the cuts that map each value to a bin of its feature; trees are grown from the bins.
#pragma once

#include <ferry/base/libsvm.hpp>
#include <ferry/executor/cluster.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace boost_sample {

/// The rows of a file; `part` has this task's rows.
struct Rows {
  ferry::LibsvmRows part;
  std::int64_t first = 0;  ///< the number of the part's first row
  std::int64_t all = 0;    ///< the number of rows in the file
};

/// This task's rows of a LibSVM file. Labels must be 0 or 1, values finite. Error(file) names the row.
[[nodiscard]] Rows read_rows(const std::string& path, const ferry::Cluster& cluster);

/// The bins of the values of each feature: bin b has the values from the previous cut up to, but without, cuts[b]. A
/// feature has at most 256 bins. If it has at most 256 distinct values, each has its own bin, as in XGBoost's
/// histograms.
struct Cuts {
  std::vector<float> cuts;            ///< of all features, one after another
  std::vector<std::uint32_t> begins;  ///< the begin of each feature's cuts, and the end of the last one's
  std::vector<float> below;           ///< for each feature a value below all values in its first bin

  [[nodiscard]] std::uint32_t bins() const { return begins.back(); }
  [[nodiscard]] std::int32_t features() const { return static_cast<std::int32_t>(below.size()); }
  [[nodiscard]] std::uint32_t bin_of(std::int32_t feature, float value) const;
};

/// Makes cuts from the values of all tasks: the same cuts on every task, and for any number of tasks.
[[nodiscard]] Cuts make_cuts(const ferry::LibsvmRows& part, const ferry::Cluster& cluster);

}  // namespace boost_sample
