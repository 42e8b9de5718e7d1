// Sizes that the data decide are found in each step, not while importing: a second step with other pixels has others.
#include <doctest/doctest.h>

#include "tests/onnx/models.hpp"
#include "tests/support/throws.hpp"

namespace ferry::test {
namespace {

Tensor floats(std::vector<std::int64_t> sizes, const std::vector<float>& values) {
  return Tensor::of<float>(std::move(sizes), std::span<const float>(values));
}

/// A model that was imported without the values of its input x, run for several of these.
class Steps {
 public:
  explicit Steps(const std::string& nodes, const std::vector<std::string>& sizes = {"2", "3"})
      : graph_(onnx::import_model(decode(model_of(value("input", "x", "float32", sizes) +
                                                  value("output", "y", "float32", {}) + nodes)),
                                  options())
                   .graph) {}
  [[nodiscard]] std::string operator()(const Tensor& x) const {
    return Evaluator(*graph_)
        .run({graph_->value(graph_->entries().at("predict").fetches[0].value)}, {{"x", x}})[0]
        .str();
  }

 private:
  std::unique_ptr<Graph> graph_;
};

const Tensor kOne = floats({2, 3}, {0, 5, 0, 6, 0, 7}), kOther = floats({2, 3}, {1, 0, 0, 0, 0, 0});
const std::string kPlaces = node("nz", "NonZero", "x");

std::string axis(int number) {
  return attribute("axis", "i: " + std::to_string(number), "INT");
}

}  // namespace

TEST_CASE("places of elements that are not zero, with the places as rows") {
  const Steps places(kPlaces + node("y", "Transpose", "nz"));
  CHECK(places(kOne) == "[[0 1] [1 0] [1 2]]");
  CHECK(places(kOther) == "[[0 0]]");
  CHECK(places(floats({2, 3}, {0, 0, 0, 0, 0, 0})) == "[]");
  const Steps elements(kPlaces + node("t", "Transpose", "nz", attribute("perm", "ints: 1 ints: 0", "INTS")) +
                       node("y", "GatherND", "x, t"));
  CHECK(elements(kOne) == "[5 6 7]");
  CHECK(elements(kOther) == "[1]");
}

TEST_CASE("one coordinate of places of elements that are not zero") {
  const std::string last = initializer("last", {}, {1}) + kPlaces + node("columns", "Gather", "nz, last", axis(0));
  const Steps columns(last + node("y", "Identity", "columns"));
  CHECK(columns(kOne) == "[1 0 2]");
  CHECK(columns(kOther) == "[0]");
  const Steps taken(last + node("g", "Gather", "x, columns", axis(1)) + node("y", "Transpose", "g"));
  CHECK(taken(kOne) == "[[5 0] [0 6] [0 7]]");
  CHECK(taken(kOther) == "[[1 0]]");
}

TEST_CASE("places in a vector lose their only coordinate") {
  const Steps places(
      kPlaces + initializer("front", {1}, {0}) + node("s", "Squeeze", "nz, front") + node("y", "Gather", "x, s"),
      {"4"});
  CHECK(places(floats({4}, {0, 3, 0, 4})) == "[3 4]");
  CHECK(places(floats({4}, {1, 3, 0, 4})) == "[1 3 4]");
}

TEST_CASE("columns that a condition takes, columns that differ") {
  const Steps taken(initializer("row", {}, {0}) + node("r", "Gather", "x, row") +
                    node("b", "Cast", "r", attribute("to", "i: 9", "INT")) + node("k", "Compress", "x, b", axis(1)) +
                    node("y", "Transpose", "k"));
  CHECK(taken(floats({2, 3}, {1, 0, 2, 3, 4, 5})) == "[[1 3] [2 5]]");
  CHECK(taken(floats({2, 3}, {0, 9, 0, 3, 4, 5})) == "[[9 4]]");
  const Steps different(node("u", "Unique", "x", axis(1)) + node("y", "Transpose", "u"));
  CHECK(different(floats({2, 3}, {3, 1, 3, 5, 2, 5})) == "[[1 2] [3 5]]");
  CHECK(different(floats({2, 3}, {3, 3, 3, 5, 5, 5})) == "[[3 5]]");
}

TEST_CASE("how many there are is a number of the step") {
  const Steps count(kPlaces + node("y", "Shape", "nz"));
  CHECK(count(kOne) == "[2 3]");
  CHECK(count(kOther) == "[2 1]");
  const Steps rank(kPlaces + node("y", "Shape", "nz", attribute("end", "i: 1", "INT")));
  CHECK(rank(kOne) == "[2]");
}

TEST_CASE("a size that the data decide elsewhere than in front is taken by value, or refused") {
  const std::string file =
      model_of(value("input", "x", "float32", {"2", "3"}) + value("output", "nz", "int64", {}) + kPlaces);
  CHECK(run_model(file, {{"x", kOne}})[0].str() == "[[0 1 1] [1 0 2]]");
  onnx::ImportOptions with = options();
  with.values["x"] = kOne;
  CHECK(onnx::import_model(decode(file), with).by_value == std::vector<std::string>{"x"});
  const Error error = error_of([&] { static_cast<void>(onnx::import_model(decode(file), options())); });
  CHECK(
      says(error, "the value \"nz\" int64[2,<=6] has a size that the data decide; only a first dim may have one here"));
}

}  // namespace ferry::test
