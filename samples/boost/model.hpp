// A model of boosted trees: what it predicts, and its file.
#pragma once

#include <ferry/base/files.hpp>
#include <ferry/base/libsvm.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace boost_sample {

/// A node asks whether a feature's value is below a threshold, or is a leaf. Children come after it.
struct Node {
  std::int32_t feature = -1;  ///< -1: a leaf
  float threshold = 0;
  bool missing_left = false;  ///< where rows go that lack the feature
  std::int32_t left = 0, right = 0;
  float value = 0;  ///< of a leaf
};

using Tree = std::vector<Node>;

struct Model {
  float base_score = 0.5F;  ///< the probability without trees
  std::vector<Tree> trees;

  /// What a tree adds up from: log(p / (1 - p)) of the base score.
  [[nodiscard]] float base_margin() const;
};

/// 1 / (1 + exp(-margin)), in float32 as XGBoost does.
[[nodiscard]] float probability(float margin);

/// The margin of each row.
[[nodiscard]] std::vector<float> margins(const Model& model, const ferry::LibsvmRows& rows);

/// A text: a line for each node, numbers so that they are read as they were. The file is replaced whole.
void save(const Model& model, ferry::FileSystem& files, const std::string& path);
/// Error(file) with the line, for whatever save() has not written so.
[[nodiscard]] Model load(ferry::FileSystem& files, const std::string& path);

}  // namespace boost_sample
