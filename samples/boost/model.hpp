// A model of boosted trees: its predictions, and its file.
#pragma once

#include <ferry/base/files.hpp>
#include <ferry/base/libsvm.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace boost_sample {

/// A leaf, or a test: a row goes left if the feature's value is below the threshold. Children come after their parents.
struct Node {
  std::int32_t feature = -1;  ///< -1: a leaf
  float threshold = 0;
  bool missing_left = false;  ///< whether rows without the feature go left
  std::int32_t left = 0, right = 0;
  float value = 0;  ///< value of a leaf
};

using Tree = std::vector<Node>;

struct Model {
  float base_score = 0.5F;  ///< the probability without trees
  std::vector<Tree> trees;

  /// The margin to which the trees add: log(p / (1 - p)) of the base score p.
  [[nodiscard]] float base_margin() const;
};

/// 1 / (1 + exp(-margin)), in float32 as XGBoost does.
[[nodiscard]] float probability(float margin);

/// The margin of each row.
[[nodiscard]] std::vector<float> margins(const Model& model, const ferry::LibsvmRows& rows);

/// Writes a text with a line for each node. load() reads its numbers back bit for bit. The file is replaced as a whole.
void save(const Model& model, ferry::FileSystem& files, const std::string& path);
/// Error(file) names the line if the file is not one that save() would write.
[[nodiscard]] Model load(ferry::FileSystem& files, const std::string& path);

}  // namespace boost_sample
