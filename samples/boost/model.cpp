#include "samples/boost/model.hpp"

#include <ferry/base/error.hpp>
#include <ferry/base/text.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace boost_sample {
namespace {

constexpr std::string_view kFirstLine = "ferry boosted trees 1";
constexpr float kNothing = std::numeric_limits<float>::quiet_NaN();

std::string text_of(float number) {
  char digits[32];
  return {digits, std::to_chars(digits, digits + sizeof digits, number).ptr};
}

std::string line_of(const Node& node) {
  if (node.feature < 0) return "leaf " + text_of(node.value);
  return "split " + std::to_string(node.feature) + " " + text_of(node.threshold) + " " + std::to_string(node.left) +
         " " + std::to_string(node.right) + (node.missing_left ? " left" : " right");
}

/// Reads the words of a model's file, line by line.
class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : lines_(ferry::split(text, '\n')), name_(name) {}

  [[noreturn]] void fail(const std::string& why) const {
    throw ferry::Error(ferry::Code::file, "{}:{}: {}", name_, at_, ferry::as_is(why));
  }
  /// The words of the next line, which must begin with `first` and have `words` words.
  std::vector<std::string_view> next(std::string_view first, std::size_t words) {
    if (at_ == lines_.size() || lines_[at_++].empty()) fail("the file is cut short");
    auto found = ferry::split(lines_[at_ - 1], ' ');
    if (found[0] != first || found.size() != words)
      fail(ferry::formatted("expected \"{}\" and {} more, not {:?}", ferry::as_is(first), words - 1, lines_[at_ - 1]));
    return found;
  }
  [[nodiscard]] bool next_is(std::string_view word) const {
    return at_ < lines_.size() && lines_[at_].starts_with(word);
  }
  void expect_end() {
    ++at_;
    if (at_ != lines_.size() || !lines_.back().empty()) fail("there is more than the model");
  }
  template <class T>
  [[nodiscard]] T number(std::string_view word) const {
    T number{};
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) fail(ferry::formatted("{:?} is not a number", word));
    return number;
  }
  void expect_text(std::string_view line) {
    if (at_ == lines_.size() || lines_[at_++] != line) fail(ferry::formatted("it does not begin with {:?}", line));
  }

 private:
  std::vector<std::string_view> lines_;
  std::string_view name_;
  std::size_t at_ = 0;
};

Node read_node(Reader& reader, std::int32_t at, std::int32_t nodes) {
  Node node;
  if (!reader.next_is("split")) {
    node.value = reader.number<float>(reader.next("leaf", 2)[1]);
    return node;
  }
  const auto words = reader.next("split", 6);
  node.feature = reader.number<std::int32_t>(words[1]);
  node.threshold = reader.number<float>(words[2]);
  node.left = reader.number<std::int32_t>(words[3]);
  node.right = reader.number<std::int32_t>(words[4]);
  node.missing_left = words[5] == "left";
  if (node.feature < 0) reader.fail("a negative feature");
  if (std::min(node.left, node.right) <= at || std::max(node.left, node.right) >= nodes)
    reader.fail("its children are not among the nodes " + std::to_string(at + 1) + " to " + std::to_string(nodes - 1));
  if (!node.missing_left && words[5] != "right")
    reader.fail(ferry::formatted("{:?} is neither left nor right", words[5]));
  return node;
}

/// The margin of one row. `row` has the values of all features: NaN for a feature that the row lacks.
float sum_of(const Model& model, std::span<const float> row) {
  float margin = model.base_margin();
  for (const Tree& tree : model.trees) {
    std::size_t at = 0;
    while (tree[at].feature >= 0) {
      const Node& node = tree[at];
      const auto feature = static_cast<std::size_t>(node.feature);
      const float value = feature < row.size() ? row[feature] : kNothing;
      const bool left = std::isnan(value) ? node.missing_left : value < node.threshold;
      at = static_cast<std::size_t>(left ? node.left : node.right);
    }
    margin += tree[at].value;
  }
  return margin;
}

}  // namespace

float Model::base_margin() const {
  return -std::log(1.0F / base_score - 1.0F);
}

float probability(float margin) {
  constexpr float kMost = 88.7F;  // above it exp is infinite
  return 1.0F / (std::exp(std::min(-margin, kMost)) + 1.0F + 1e-16F);
}

std::vector<float> margins(const Model& model, const ferry::LibsvmRows& rows) {
  const std::int32_t features =
      rows.indices.empty() ? 0 : *std::max_element(rows.indices.begin(), rows.indices.end()) + 1;
  std::vector<float> row(static_cast<std::size_t>(features), kNothing);
  std::vector<float> result;
  for (std::size_t r = 0; r < rows.labels.size(); ++r) {
    const auto begin = static_cast<std::size_t>(rows.offsets[r]), end = static_cast<std::size_t>(rows.offsets[r + 1]);
    for (std::size_t e = begin; e < end; ++e) row[rows.indices[e]] = rows.values[e];
    result.push_back(sum_of(model, row));
    for (std::size_t e = begin; e < end; ++e) row[rows.indices[e]] = kNothing;
  }
  return result;
}

void save(const Model& model, ferry::FileSystem& files, const std::string& path) {
  std::string text = std::string(kFirstLine) + "\nbase_score " + text_of(model.base_score) + "\n";
  for (const Tree& tree : model.trees) {
    text += "tree " + std::to_string(tree.size()) + "\n";
    for (const Node& node : tree) text += line_of(node) + "\n";
  }
  files.write(path, text + "end\n");
}

Model load(ferry::FileSystem& files, const std::string& path) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 32;
  const ferry::FileBytes file = files.read(path, kMostBytes);
  Reader reader(file.text(), path);
  reader.expect_text(kFirstLine);
  Model model;
  model.base_score = reader.number<float>(reader.next("base_score", 2)[1]);
  if (!(model.base_score > 0 && model.base_score < 1)) reader.fail("the base score is not between 0 and 1");
  while (!reader.next_is("end")) {
    const auto nodes = reader.number<std::int32_t>(reader.next("tree", 2)[1]);
    if (nodes < 1) reader.fail("a tree of " + std::to_string(nodes) + " nodes");
    Tree& tree = model.trees.emplace_back();
    for (std::int32_t n = 0; n < nodes; ++n) tree.push_back(read_node(reader, n, nodes));
  }
  static_cast<void>(reader.next("end", 1));
  reader.expect_end();
  return model;
}

}  // namespace boost_sample
