// Reads feeds from the command line.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "executor/session/session.hpp"
#include "graph/graph.hpp"

namespace ferry {

/// An input that can be fed.
struct FeedInput {
  std::string name;
  DType dtype = DType::float32;
  SourceLine line;
  std::optional<Shape> shape = {};  ///< none: any dtype and shape is accepted
};

[[nodiscard]] std::vector<FeedInput> inputs_of(const Graph& graph);

/// The input that `option` names. If there is none, Error(usage) names the most similar input.
[[nodiscard]] const FeedInput& input_named(const std::vector<FeedInput>& inputs, const std::string& name,
                                           std::string_view option);

/// In the name of a file with a task's part of an input, this text is replaced by the task's number.
inline constexpr std::string_view kTaskInName = "{task}";

/// The hint of the error that several tasks would feed the same file as their part of the input.
[[nodiscard]] std::string hint_of_names(const std::string& name);

/// Feeds as the user gives them on the command line.
struct FeedOptions {
  std::vector<std::string> whole;  ///< --feed: NAME=FILE.npy, NAME=NUMBER
  std::vector<std::string> parts;  ///< --feed-part: NAME=FILE.npy
};

/// Error(usage) for a feed that is not NAME=VALUE, is given twice, or names no input. The error names the most similar
/// input.
void require_inputs(const std::vector<FeedInput>& inputs, const FeedOptions& options);

/// NAME=NUMBER is a scalar of the input's dtype, and NAME=FILE.npy is the file's array. Error(usage) if the graph has
/// no such input (names the most similar one), if an input is given twice, if the dtype cannot hold the number, or if
/// the file has another dtype or shape (its header is checked before its data is read). Error(file) if a file cannot be
/// read.
[[nodiscard]] TensorMap parse_feeds(const std::vector<FeedInput>& inputs, const std::vector<std::string>& feeds);
/// The same, with feeds by parts, for a process with these tasks. The file of a task has the task's rows; "{task}" in
/// its name is replaced by the task's number.
[[nodiscard]] FeedMap parse_feeds(const std::vector<FeedInput>& inputs, const FeedOptions& options,
                                  std::span<const int> tasks);

}  // namespace ferry
