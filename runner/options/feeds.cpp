#include "runner/options/feeds.hpp"

#include <charconv>
#include <cstdint>
#include <optional>

#include "base/text.hpp"
#include "graph/op/core_ops.hpp"
#include "runner/files/tensor_files.hpp"

namespace ferry {
namespace {

/// Checks the type in a file's header against the input. Dims that are not known fit any size, bounded ones any up to
/// the bound.
void check_type(const FeedInput& input, const std::string& file, const Type& given) {
  if (!input.shape) return;
  const Type wanted{input.dtype, *input.shape};
  bool fits = given.dtype == wanted.dtype && given.shape.rank() == wanted.shape.rank();
  for (int d = 0; fits && d < given.shape.rank(); ++d) {
    const Dim& dim = wanted.shape[d];
    fits = !dim.known() || (dim.bounded() ? given.shape[d].size() <= dim.size() : given.shape[d].size() == dim.size());
  }
  if (!fits)
    throw Error(Code::usage, "--feed " + escaped(input.name) + "=" + escaped(file) + ": the file is " + given.str() +
                                 ", the input " + wanted.str())
        .at(input.line);
}

/// The number that the whole text denotes, or nothing. For an integer input it is read as an integer if it is one that
/// int64 or uint64 holds, so that no bits are lost, else as a double.
std::optional<Literal> number_in(const std::string& text, DType dtype) {
  const auto whole = [&](auto number) -> std::optional<Literal> {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    return error == std::errc() && end == text.data() + text.size() ? std::optional<Literal>(number) : std::nullopt;
  };
  if (is_integer(dtype)) {
    if (const auto number = whole(std::int64_t{})) return number;
    if (const auto number = whole(std::uint64_t{})) return number;
  }
  return whole(double{});
}

Tensor scalar(const FeedInput& input, const Literal& number, const std::string& text) {
  if (!number.fits(input.dtype))
    throw Error(Code::usage, "--feed " + escaped(input.name) + "=" + escaped(text) + ": not a value of " +
                                 std::string(name_of(input.dtype)))
        .at(input.line);
  Tensor tensor(input.dtype, {});
  dispatch(input.dtype, [&](auto zero) {
    using T = decltype(zero);
    tensor.mutable_data<T>()[0] = number.as<T>();
  });
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
  Error error(Code::usage, std::string(option) + " " + escaped(name) + ": there is no such input");
  if (const std::string like = nearest(name, names); !like.empty()) throw error.hint(escaped(like) + "?");
  throw error.hint(names.empty() ? "leave " + std::string(option) + " out: there are no inputs"
                                 : "one of " + escaped(join(names, ", "), 300));
}

TensorMap parse_feeds(const Graph& graph, const std::vector<std::string>& feeds) {
  return parse_feeds(inputs_of(graph), feeds);
}

TensorMap parse_feeds(const std::vector<FeedInput>& inputs, const std::vector<std::string>& feeds) {
  TensorMap tensors;
  for (const std::string& feed : feeds) {
    const std::size_t equals = feed.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == feed.size())
      throw Error(Code::usage, "--feed " + escaped(feed) + ": expected NAME=FILE.npy or NAME=NUMBER");
    const std::string name = feed.substr(0, equals);
    const std::string text = feed.substr(equals + 1);
    const FeedInput& input = input_named(inputs, name, "--feed");
    if (tensors.contains(name)) throw Error(Code::usage, "--feed " + escaped(name) + ": given twice");
    const std::optional<Literal> number = number_in(text, input.dtype);
    tensors[name] = number ? scalar(input, *number, text)
                           : read_npy_file(text, [&](const Type& type) { check_type(input, text, type); });
  }
  return tensors;
}

}  // namespace ferry
