// Feeds from the command line.
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

/// The input that `option` names; Error(usage), which names the most similar input, if there is none.
[[nodiscard]] const FeedInput& input_named(const std::vector<FeedInput>& inputs, const std::string& name,
                                           std::string_view option);

/// Stands for the task's number in the name of a file with the task's part of an input.
inline constexpr std::string_view kTaskInName = "{task}";

/// What to do where several tasks would feed the same file as their part of the input.
[[nodiscard]] std::string hint_of_names(const std::string& name);

/// Feeds as the user gives them.
struct FeedOptions {
  std::vector<std::string> whole;  ///< --feed: NAME=FILE.npy, NAME=NUMBER
  std::vector<std::string> parts;  ///< --feed-part: NAME=FILE.npy
};

/// Error(usage) for a feed that is not NAME=VALUE, names no input (names the nearest), or is given twice.
void require_inputs(const std::vector<FeedInput>& inputs, const FeedOptions& options);

/// NAME=NUMBER gives a scalar of the input's dtype, NAME=FILE.npy the file's array. Error(usage): no such input (names
/// the nearest), one given twice, a number that the dtype cannot hold, a file of another dtype or shape (its
/// header is checked before the rest is read); Error(file): a file that cannot be read.
[[nodiscard]] TensorMap parse_feeds(const std::vector<FeedInput>& inputs, const std::vector<std::string>& feeds);
/// The same with feeds by parts, for a process with these tasks: the file of a task, whose name has the task's number
/// for "{task}", has the task's rows.
[[nodiscard]] FeedMap parse_feeds(const std::vector<FeedInput>& inputs, const FeedOptions& options,
                                  std::span<const int> tasks);

}  // namespace ferry
