// Sizes that the data decide are found in each step, not while importing: a step with other data has other sizes.
#include <doctest/doctest.h>

#include <cstdint>

#include "executor/session/session.hpp"
#include "tests/onnx/models.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/throws.hpp"

namespace ferry::test {
namespace {

Tensor floats(std::vector<std::int64_t> sizes, const std::vector<float>& values) {
  return Tensor::of<float>(std::move(sizes), std::span<const float>(values));
}

/// Places each op on one of two tasks at random, in bodies too.
void place_on_two(Graph& graph, Dice& dice) {
  for (OpId id = 0; id < graph.size(); ++id) {
    Annotation annotation = graph.op(id).annotation();
    annotation.device = DeviceSpec::parse(dice.below(2) == 0 ? "/task:0" : "/task:1");
    graph.annotate(id, annotation);
  }
  for (std::uint32_t i = 0; i < graph.subgraphs(); ++i) place_on_two(graph.subgraph(SubgraphRef{i}), dice);
}

/// A model that was imported without the values of its input x. Each call runs it for one of these, by the evaluator
/// and by a session whose two tasks share its ops; both must give the same.
class Steps {
 public:
  explicit Steps(const std::string& nodes, const std::vector<std::string>& sizes = {"2", "3"})
      : graph_(imported(nodes, sizes)), placed_(imported(nodes, sizes)) {
    Dice dice(7);
    place_on_two(*placed_, dice);
    session_ =
        std::make_unique<Session>(*placed_, Cluster::connect(ClusterOptions{.tasks = 2, .threads = 1, .jobs = ""}));
  }
  [[nodiscard]] std::string operator()(const Tensor& x) const {
    const std::string result = Evaluator(*graph_).run({fetch(*graph_)}, {{"x", x}})[0].str();
    CHECK(session_->run({fetch(*placed_)}, {{"x", x}})[0].str() == result);
    return result;
  }

 private:
  static std::unique_ptr<Graph> imported(const std::string& nodes, const std::vector<std::string>& sizes) {
    const std::string values = value("input", "x", "float32", sizes) + kY;
    return onnx::import_model(decode(model_of(values + nodes)), options()).graph;
  }
  static Value fetch(Graph& graph) { return graph.value(graph.entries().at("predict").fetches[0].value); }

  std::unique_ptr<Graph> graph_, placed_;
  std::unique_ptr<Session> session_;
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

/// The positions of elements that are not zero as rows `t`, and the number of rows `n`, of shape [1].
const std::string kRows =
    kPlaces + node("t", "Transpose", "nz") + node("n", "Shape", "t", attribute("end", "i: 1", "INT"));

TEST_CASE("rows up to a number, from a number on, every second one, backwards") {
  const std::string numbers = initializer("zero", {1}, {0}) + initializer("one", {1}, {1}) +
                              initializer("two", {1}, {2}) + initializer("minus_one", {1}, {-1}) +
                              initializer("minus_two", {1}, {-2}) + initializer("end", {1}, {INT64_MAX}) +
                              initializer("start", {1}, {INT64_MIN});
  const auto sliced = [&](const std::string& inputs) { return Steps(numbers + kRows + node("y", "Slice", inputs)); };
  const Steps first = sliced("t, zero, two");
  CHECK(first(kOne) == "[[0 1] [1 0]]");
  CHECK(first(kOther) == "[[0 0]]");
  CHECK(sliced("t, one, end")(kOne) == "[[1 0] [1 2]]");
  CHECK(sliced("t, one, end")(kOther) == "[]");
  CHECK(sliced("t, minus_two, end")(kOne) == "[[1 0] [1 2]]");
  CHECK(sliced("t, minus_two, minus_one")(kOther) == "[]");
  CHECK(sliced("t, zero, end, zero, two")(kOne) == "[[0 1] [1 2]]");
  CHECK(sliced("t, minus_one, start, zero, minus_one")(kOne) == "[[1 2] [1 0] [0 1]]");
  CHECK(sliced("t, minus_one, start, zero, minus_one")(kOther) == "[[0 0]]");
}

TEST_CASE("a slice up to a number of the step, of a value of known size") {
  const std::string zero = initializer("zero", {1}, {0}) + initializer("one", {1}, {1});
  const Steps rows(zero + kRows + node("y", "Slice", "x, zero, n"));
  CHECK(rows(kOne) == "[[0 5 0] [6 0 7]]");
  CHECK(rows(kOther) == "[[1 0 0]]");
  const Steps columns(zero + kRows + node("s", "Slice", "x, zero, n, one") + node("y", "Transpose", "s"));
  CHECK(columns(kOther) == "[[1 0]]");
  CHECK(columns(floats({2, 3}, {0, 5, 0, 0, 0, 7})) == "[[0 0] [5 0]]");
  const Steps counted(initializer("zero", {}, {0}) + initializer("step", {}, {2}) + kRows + node("m", "Squeeze", "n") +
                      node("y", "Range", "zero, m, step"));
  CHECK(counted(kOne) == "[0 2]");
  CHECK(counted(kOther) == "[0]");
}

TEST_CASE("rows that the data count are joined to longer ones, and cut up") {
  const Steps flat(initializer("all", {1}, {-1}) + kRows + node("y", "Reshape", "t, all"));
  CHECK(flat(kOne) == "[0 1 1 0 1 2]");
  CHECK(flat(kOther) == "[0 0]");
  const std::string sizes = initializer("two", {1}, {2}) + initializer("all", {1}, {-1}) + kRows;
  const Steps kept(sizes + node("shape", "Concat", "n, all, two", axis(0)) + node("y", "Reshape", "t, shape"));
  CHECK(kept(kOne) == "[[[0 1]] [[1 0]] [[1 2]]]");
  const Steps pairs(sizes + initializer("pair", {2}, {-1, 4}) + node("y", "Reshape", "t, pair"));
  const Error uneven = error_of([&] { static_cast<void>(pairs(kOne)); });
  CHECK(uneven.code() == Code::program);
  CHECK(says(uneven, "3 rows, 6 elements, are not cut into rows of 4"));
  CHECK(pairs(floats({2, 3}, {1, 1, 0, 0, 0, 0})) == "[[0 0 0 1]]");
  const Steps front(sizes + initializer("front", {3}, {1, -1, 2}) + node("r", "Reshape", "t, front") +
                    initializer("back", {2}, {-1, 2}) + node("y", "Reshape", "r, back"));
  CHECK(front(kOne) == "[[0 1] [1 0] [1 2]]");
  const Steps flattened(kRows + node("f", "Cast", "t", attribute("to", "i: 1", "INT")) +
                        node("y", "Flatten", "f", axis(1)));
  CHECK(flattened(kOther) == "[[0 0]]");
}

TEST_CASE("values of as many rows as the data decide") {
  const Steps filled(
      kRows + node("s", "Shape", "t") +
      node("y", "ConstantOfShape", "s", attribute("value", "t { data_type: 7 dims: 1 int64_data: 7 }", "TENSOR")));
  CHECK(filled(kOne) == "[[7 7] [7 7] [7 7]]");
  CHECK(filled(kOther) == "[[7 7]]");
  const Steps spread(initializer("row", {1, 2}, {3, 4}) + kRows + node("s", "Shape", "t") +
                     node("y", "Expand", "row, s"));
  CHECK(spread(kOne) == "[[3 4] [3 4] [3 4]]");
  const Steps wider(initializer("three", {1}, {3}) + initializer("last", {1}, {-1}) + kPlaces +
                    initializer("zero", {}, {0}) + node("r", "Gather", "nz, zero", axis(0)) +
                    node("c", "Unsqueeze", "r, last") + node("n", "Shape", "r") +
                    node("s", "Concat", "n, three", axis(0)) + node("y", "Expand", "c, s"));
  CHECK(wider(kOne) == "[[0 0 0] [1 1 1] [1 1 1]]");
  const Steps second(initializer("two", {1}, {2}) + kRows + node("s", "Concat", "two, n", axis(0)) +
                     node("c", "ConstantOfShape", "s") + node("y", "Transpose", "c"));
  CHECK(second(kOne) == "[[0 0] [0 0] [0 0]]");
}

TEST_CASE("the largest ones, as many as there are at most") {
  const Steps best(initializer("two", {1}, {2}) + kRows + node("v", "GatherND", "x, t") +
                   node("m", "Concat", "two, n", axis(0)) +
                   node("k", "ReduceMin", "m", attribute("keepdims", "i: 1", "INT")) +
                   node("b, places", "TopK", "v, k") + node("y", "Identity", "b"));
  CHECK(best(kOne) == "[7 6]");
  CHECK(best(kOther) == "[1]");
  const Steps of_columns(initializer("two", {1}, {2}) + kRows + node("m", "Concat", "two, n", axis(0)) +
                         node("k", "ReduceMin", "m", attribute("keepdims", "i: 1", "INT")) +
                         node("b, places", "TopK", "x, k", axis(1)) + node("y", "Transpose", "b"));
  CHECK(of_columns(kOne) == "[[5 7] [0 6]]");
  CHECK(of_columns(kOther) == "[[1 0]]");
}

/// The attribute `name` with a branch whose output is `r`.
std::string branch(const std::string& name, const std::string& nodes) {
  return attribute(name, "g { " + value("output", "r", "int64", {}) + nodes + " }", "GRAPH");
}

TEST_CASE("branches give different numbers of rows") {
  const std::string several =
      initializer("one", {1}, {1}) + initializer("most", {1}, {2}) + kRows + node("p", "Greater", "n, one");
  const Steps chosen(several + node("y", "If", "p",
                                    branch("then_branch", node("r", "Slice", "t, one, most")) +
                                        branch("else_branch", node("r", "Identity", "t"))));
  CHECK(chosen(kOne) == "[[1 0]]");
  CHECK(chosen(kOther) == "[[0 0]]");
  const std::string none = "initializer { name: 'none' data_type: 7 dims: 0 dims: 2 } ";
  const Steps empty(
      none + several +
      node("y", "If", "p",
           branch("then_branch", node("r", "Identity", "none")) + branch("else_branch", node("r", "Identity", "t"))));
  CHECK(empty(kOne) == "[]");
  CHECK(empty(kOther) == "[[0 0]]");
}

TEST_CASE("iterations change the number of rows") {
  const std::string of_body = value("input", "i", "int64", {}) + value("input", "c", "bool", {}) +
                              value("input", "v", "float32", {}) + value("output", "more", "bool", {}) +
                              value("output", "w", "float32", {});
  const auto looped = [&](const std::string& nodes, const std::string& inputs) {
    return initializer("times", {}, {3}) + initializer("flat", {1}, {-1}) + node("f", "Reshape", "x, flat") +
           node("y", "Loop", inputs, attribute("body", "g { " + of_body + nodes + " }", "GRAPH"));
  };
  // Each iteration keeps the elements that are above its number.
  const std::string above = node("fi", "Cast", "i", attribute("to", "i: 1", "INT")) + node("g", "Greater", "v, fi") +
                            node("w", "Compress", "v, g", axis(0)) + node("more", "Identity", "c");
  const Steps fewer(looped(above, "times,, f"));
  CHECK(fewer(floats({2, 3}, {0, 1, 2, 3, 4, 0.5})) == "[3 4]");
  CHECK(fewer(kOther) == "[]");
  // Each iteration appends x's elements that are not zero, at most six.
  const std::string append = node("p", "NonZero", "x") + node("t", "Transpose", "p") + node("e", "GatherND", "x, t") +
                             node("w", "Concat", "v, e", axis(0)) + node("more", "Identity", "c");
  const std::string none = "initializer { name: 'none' data_type: 1 dims: 0 } ";
  const Steps more(none + looped(append, "times,, none"));
  CHECK(more(floats({2, 3}, {0, 5, 0, 0, 0, 7})) == "[5 7 5 7 5 7]");
  CHECK(more(kOther) == "[1 1 1]");
  const Error error = error_of([&] { Steps(none + looped(append, ",, none")); });
  CHECK(says(error, "each iteration adds rows to carried value 0, and nothing bounds the number of iterations"));
  CHECK(says(error, "try: --dim y=100"));
}

TEST_CASE("boxes above a score, of which the best that do not overlap are kept") {
  // x has the scores of six boxes. Non-maximum suppression goes over those that are not 0, and the two best are taken.
  const std::string boxes = "initializer { name: 'boxes' data_type: 1 dims: 6 dims: 4 " + [] {
    std::string text;
    for (const int edge : {0, 0, 4, 4, 0, 1, 4, 5, 9, 9, 12, 12, 20, 20, 24, 24, 20, 21, 24, 25, 40, 40, 44, 44})
      text += "float_data: " + std::to_string(edge) + " ";
    return text;
  }() + "} initializer { name: 'overlap' data_type: 1 dims: 1 float_data: 0.5 } ";
  const std::string chain =
      boxes + initializer("flat", {1}, {-1}) + initializer("zero", {1}, {0}) + initializer("last", {1}, {2}) +
      initializer("second", {1}, {1}) + initializer("many", {1}, {INT64_MAX}) + node("scores", "Reshape", "x, flat") +
      node("places", "NonZero", "scores") + node("p", "Squeeze", "places, zero") + node("b", "Gather", "boxes, p") +
      node("s", "Gather", "scores, p") + node("b1", "Unsqueeze", "b, zero") + node("s1", "Unsqueeze", "s, zero") +
      node("s2", "Unsqueeze", "s1, zero") + node("found", "NonMaxSuppression", "b1, s2, many, overlap") +
      node("column", "Gather", "found, last", axis(1)) + node("keep", "Squeeze", "column, second") +
      node("best", "Slice", "keep, zero, last") + node("y", "Gather", "p, best");
  const Steps detected(chain);
  CHECK(detected(floats({2, 3}, {0.5F, 0.6F, 0, 0.9F, 0.8F, 0.7F})) == "[3 5]");
  CHECK(detected(floats({2, 3}, {0.5F, 0, 0.1F, 0, 0, 0})) == "[0 2]");
  CHECK(detected(floats({2, 3}, {0, 0, 0, 0, 0, 0})) == "[]");
}

TEST_CASE("regions as many as the data decide, written into rows") {
  const std::string regions =
      initializer("two", {1}, {2}) + kRows + node("f", "Cast", "t", attribute("to", "i: 1", "INT")) +
      node("r", "Concat", "f, f", axis(1)) + initializer("first", {}, {0}) + initializer("axes", {2}, {0, 1}) +
      node("image", "Unsqueeze", "x, axes") +
      node("z", "ConstantOfShape", "n", attribute("value", "t { data_type: 7 dims: 1 int64_data: 0 }", "TENSOR"));
  for (const char* samples : {"i: 1", "i: 0"}) {
    const Steps aligned(regions +
                        node("y", "RoiAlign", "image, r, z",
                             attribute("sampling_ratio", samples, "INT") +
                                 attribute("coordinate_transformation_mode", "s: 'output_half_pixel'", "STRING")));
    CHECK(aligned(kOther) == "[[[[0.25]]]]");
    CHECK(aligned(kOne) != aligned(kOther));
  }
  const Steps written(
      kRows + initializer("zero", {1}, {0}) + node("s", "Shape", "t") +
      node("zeros", "ConstantOfShape", "s", attribute("value", "t { data_type: 7 dims: 1 int64_data: 9 }", "TENSOR")) +
      initializer("one", {1}, {1}) + node("i", "Slice", "t, zero, one") + node("y", "ScatterElements", "zeros, i, i"));
  CHECK(written(kOne) == "[[0 9] [9 1] [9 9]]");
  CHECK(written(kOther) == "[[0 0]]");
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
