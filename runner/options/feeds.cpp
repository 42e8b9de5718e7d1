#include "runner/options/feeds.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include "base/files/files.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "graph/file/tensor_file.hpp"
#include "graph/op/core_ops.hpp"
#include "graph/types/element_text.hpp"

namespace ferry {
namespace {

/// Checks the type in a file's header against the input. An unknown dim fits any size, and a bounded dim any size up to
/// the bound.
void check_type(const FeedInput& input, const std::string& option, const Type& given, bool part = false) {
  if (!input.shape) return;
  const Type wanted{input.dtype, *input.shape};
  bool fits = given.dtype == wanted.dtype && given.shape.rank() == wanted.shape.rank();
  for (int d = part ? 1 : 0; fits && d < given.shape.rank(); ++d) {
    const Dim& dim = wanted.shape[d];
    fits = !dim.known() || (dim.bounded() ? given.shape[d].size() <= dim.size() : given.shape[d].size() == dim.size());
  }
  if (!fits)
    throw Error(Code::usage, "{}: the file is {}, the input {}", option, as_is(given.str()), as_is(wanted.str()))
        .at(input.line)
        .hint("give a file with " + wanted.str());
}

/// A feed as the user gave it: NAME=VALUE.
struct GivenFeed {
  std::string name, value;
};

GivenFeed given_feed(const std::string& feed, const std::string& option, const char* wanted) {
  const std::size_t equals = feed.find('=');
  if (equals == 0 || equals == std::string::npos || equals + 1 == feed.size())
    throw Error(Code::usage, "{} {}: expected {}", option, feed, as_is(wanted))
        .hint("for example " + option + " x=x.npy");
  return {feed.substr(0, equals), feed.substr(equals + 1)};
}

/// The path with the task's number in place of each "{task}".
std::string path_of_task(std::string path, int task) {
  for (std::size_t at = 0; (at = path.find(kTaskInName, at)) != std::string::npos;)
    path.replace(at, kTaskInName.size(), std::to_string(task));
  return path;
}

constexpr const char* kParts = "--feed-part";

/// The text as a scalar of the input's dtype; none if the text is not a number. Error(usage) if the dtype cannot hold
/// the number.
std::optional<Tensor> scalar(const FeedInput& input, const std::string& text) {
  Tensor tensor(input.dtype, {});
  if (input.dtype == DType::boolean && (text == "true" || text == "false")) {
    tensor.mutable_bytes()[0] = std::byte{text == "true"};
    return tensor;
  }
  const NumberFault fault = parse_element(text, input.dtype, tensor.mutable_bytes().data());
  if (fault == NumberFault::no_number) return std::nullopt;
  if (fault != NumberFault::none)
    throw Error(Code::usage, "--feed {}={}: not a value of {}", input.name, text, name_of(input.dtype))
        .at(input.line)
        .hint("give a number that fits, or an npy file");
  return tensor;
}

}  // namespace

std::vector<FeedInput> inputs_of(const Graph& graph) {
  std::vector<FeedInput> inputs;
  for (OpId id = 0; id < graph.size(); ++id)
    if (const Op op = graph.op(id); op.def().role == OpRole::input)
      inputs.push_back(
          {std::string(op.name()), graph.type(op.output(0)).dtype, op.line(), graph.type(op.output(0)).shape});
  return inputs;
}

const FeedInput& input_named(const std::vector<FeedInput>& inputs, const std::string& name, std::string_view option) {
  std::vector<std::string> names;
  for (const FeedInput& input : inputs) {
    if (input.name == name) return input;
    names.push_back(input.name);
  }
  Error error(Code::usage, "{} {}: there is no such input", option, name);
  if (const std::string like = nearest(name, names); !like.empty()) throw error.hint("{}?", like);
  throw error.hint(names.empty() ? "leave " + std::string(option) + " out: there are no inputs"
                                 : formatted("one of {:.300}", join(names, ", ")));
}

std::string hint_of_names(const std::string& name) {
  return "write " + std::string(kTaskInName) + " where the names of the files have the task's number: " + name +
         "=rows-" + std::string(kTaskInName) + ".npy";
}

namespace {

/// Error(usage) if the feed names an input with '=' in its name, which no feed can name.
void require_name_without_equals(const std::vector<FeedInput>& inputs, const std::string& feed, const char* option) {
  for (const FeedInput& input : inputs)
    if (input.name.find('=') != std::string::npos && feed.starts_with(input.name + "="))
      throw Error(Code::usage, "{} {}: the input '{}' has '=' in its name, and a feed's name ends at the first '='",
                  option, feed, input.name)
          .at(input.line)
          .hint("rename the input in the graph or model");
}

}  // namespace

void require_inputs(const std::vector<FeedInput>& inputs, const FeedOptions& options) {
  std::set<std::string> names;
  const auto require = [&](const std::string& feed, const std::string& name, const char* option) {
    if (std::ranges::none_of(inputs, [&](const FeedInput& input) { return input.name == name; }))
      require_name_without_equals(inputs, feed, option);
    const FeedInput& input = input_named(inputs, name, option);
    if (!names.insert(input.name).second)
      throw Error(Code::usage, "{} {}: given twice", option, input.name).hint("feed it once");
  };
  for (const std::string& feed : options.whole)
    require(feed, given_feed(feed, "--feed", "NAME=FILE.npy or NAME=NUMBER").name, "--feed");
  for (const std::string& feed : options.parts) require(feed, given_feed(feed, kParts, "NAME=FILE.npy").name, kParts);
}

TensorMap parse_feeds(const std::vector<FeedInput>& inputs, const std::vector<std::string>& feeds) {
  require_inputs(inputs, {feeds, {}});
  TensorMap tensors;
  for (const std::string& feed : feeds) {
    const auto [name, text] = given_feed(feed, "--feed", "NAME=FILE.npy or NAME=NUMBER");
    const FeedInput& input = input_named(inputs, name, "--feed");
    const std::optional<Tensor> number = scalar(input, text);
    if (!number && input.shape && input.shape->rank() == 0 && !text.ends_with(".npy") && !local_files().exists(text))
      throw Error(Code::usage, "--feed {}: is no number, and there is no such file", feed)
          .at(input.line)
          .hint("give a value of " + std::string(name_of(input.dtype)) + ", or the name of an npy file");
    tensors[name] =
        number ? *number : read_tensor(text, [&](const Type& type) { check_type(input, "--feed " + feed, type); });
  }
  return tensors;
}

FeedMap parse_feeds(const std::vector<FeedInput>& inputs, const FeedOptions& options, std::span<const int> tasks) {
  require_inputs(inputs, options);
  FeedMap feeds = parse_feeds(inputs, options.whole);
  for (const std::string& feed : options.parts) {
    const auto [name, file] = given_feed(feed, kParts, "NAME=FILE.npy");
    const FeedInput& input = input_named(inputs, name, kParts);
    if (tasks.size() > 1 && path_of_task(file, 0) == file)
      throw Error(Code::usage, "{} {}: all {} tasks of this process would feed the same rows", as_is(kParts), feed,
                  tasks.size())
          .hint(hint_of_names(formatted("{}", name)));
    std::vector<Tensor> rows;
    for (const int task : tasks)
      rows.push_back(read_tensor(path_of_task(file, task), [&, &name = name, &file = file](const Type& type) {
        check_type(input, std::string(kParts) + " " + name + "=" + path_of_task(file, task), type, true);
      }));
    feeds[name] = parts(std::move(rows));
  }
  return feeds;
}

}  // namespace ferry
