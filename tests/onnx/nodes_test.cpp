// Single nodes that libonnx-testdata has no cases for: newer and older operator sets, random numbers, errors.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "ops/math/logic.hpp"
#include "ops/onnx/import.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/has.hpp"

namespace ferry::test {
namespace {

using ferry::test::has;

using onnx::Attribute;

/// A model of one node. run() gives its outputs for these inputs, "x0", "x1" …; one that is undefined is left out.
struct OneNode {
  std::string op;
  std::int64_t opset = 18;
  std::vector<Attribute> attributes = {};
  std::size_t outputs = 1;
  std::string domain = {};

  [[nodiscard]] std::vector<Tensor> run(const std::vector<Tensor>& inputs) const {
    onnx::Model model;
    model.source = "m.onnx";
    model.ir_version = 8;
    model.opsets[domain] = opset;
    onnx::ModelNode node;
    node.name = "n";
    node.op = op;
    node.domain = domain;
    node.attributes = attributes;
    onnx::ImportOptions options;
    options.evaluate = [](const Graph& graph, const Values& fetches) { return Evaluator(graph).run(fetches); };
    Evaluator::Feeds feeds;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const std::string name = "x" + std::to_string(i);
      node.inputs.push_back(inputs[i].defined() ? name : "");
      if (!inputs[i].defined()) continue;
      model.graph.inputs.push_back({name, inputs[i].dtype(), inputs[i].type().shape, false, ""});
      options.values.emplace(name, inputs[i]);
    }
    for (std::size_t i = 0; i < outputs; ++i) {
      node.outputs.push_back("y" + std::to_string(i));
      model.graph.outputs.push_back({node.outputs.back(), std::nullopt, std::nullopt, false, ""});
    }
    model.graph.nodes.push_back(node);
    const onnx::Imported imported = onnx::import_model(model, options);
    Values fetches;
    for (const auto& fetch : imported.graph->entries().at("predict").fetches)
      fetches.push_back(imported.graph->value(fetch.value));
    for (const auto& [name, value] : options.values) feeds.emplace(name, value);
    return Evaluator(*imported.graph).run(fetches, feeds);
  }
  [[nodiscard]] std::string text(const std::vector<Tensor>& inputs) const { return run(inputs)[0].str(); }
};

Tensor floats(std::vector<std::int64_t> sizes, const std::vector<float>& values) {
  return Tensor::of<float>(std::move(sizes), std::span<const float>(values));
}
Tensor longs(std::vector<std::int64_t> sizes, const std::vector<std::int64_t>& values) {
  return Tensor::of<std::int64_t>(std::move(sizes), std::span<const std::int64_t>(values));
}
Attribute integer(const char* name, std::int64_t value) {
  return {name, value};
}
Attribute text(const char* name, const char* value) {
  return {name, std::string(value)};
}
std::string error_of(const OneNode& node, const std::vector<Tensor>& inputs) {
  try {
    static_cast<void>(node.run(inputs));
  } catch (const Error& error) {
    return error.text();
  }
  return "";
}
const Tensor kSeven = floats({7}, {-3, -1, -0.5F, 0, 0.5F, 1, 3});
const Tensor kThree = floats({3}, {-3, 0.5F, 3});

}  // namespace

TEST_CASE("bits") {
  const Tensor a = longs({3}, {12, -1, 5}), b = longs({3}, {10, 7, 5});
  CHECK(OneNode{"BitwiseAnd"}.text({a, b}) == "[8 7 5]");
  CHECK(OneNode{"BitwiseOr"}.text({a, b}) == "[14 -1 5]");
  CHECK(OneNode{"BitwiseXor"}.text({a, b}) == "[6 -8 0]");
  CHECK(OneNode{"BitwiseNot"}.text({a}) == "[-13 0 -6]");
}

TEST_CASE("activations of newer operator sets") {
  const std::vector<Tensor> swish = OneNode{"Swish", 24, {{"alpha", 2.0}}}.run({kSeven});
  const std::vector<Tensor> gelu = OneNode{"Gelu", 20, {text("approximate", "tanh")}}.run({kSeven});
  for (std::int64_t i = 0; i < 7; ++i) {
    const double x = kSeven.number(i);
    CHECK(swish[0].number(i) == doctest::Approx(x / (1 + std::exp(-2 * x))));
    const double inner = std::sqrt(2 / 3.14159265358979) * (x + 0.044715 * x * x * x);
    CHECK(gelu[0].number(i) == doctest::Approx(x / 2 * (1 + std::tanh(inner))));
  }
}

TEST_CASE("integers to a power") {
  CHECK(OneNode{"Pow", 15}.text({longs({3}, {3, -2, 2}), longs({3}, {39, 63, -1})}) ==
        "[4052555153018976267 -9223372036854775808 0]");
  CHECK(OneNode{"Pow", 15}.text({longs({2}, {4, 9}), floats({}, {0.5F})}) == "[2 3]");
}

TEST_CASE("running products, products over axes that are an input") {
  CHECK(OneNode{"CumProd", 26, {integer("exclusive", 1)}}.text({longs({4}, {2, 3, 4, 5}), longs({}, {0})}) ==
        "[1 2 6 24]");
  CHECK(OneNode{"ReduceProd", 18, {integer("keepdims", 0)}}.text({longs({2, 2}, {2, 3, 4, 5}), longs({1}, {1})}) ==
        "[6 20]");
}

TEST_CASE("the largest and smallest of bools") {
  Tensor some(DType::boolean, {2, 2}), none(DType::boolean, {2, 0});
  some.mutable_data<bool>()[1] = true;
  const Tensor axis = longs({1}, {1});
  CHECK(OneNode{"ReduceMax", 20, {integer("keepdims", 0)}}.text({some, axis}) == "[true false]");
  CHECK(OneNode{"ReduceMin", 20, {integer("keepdims", 0)}}.text({some, axis}) == "[false false]");
  CHECK(OneNode{"ReduceMax", 20, {integer("keepdims", 0)}}.text({none, axis}) == "[false false]");
  CHECK(OneNode{"ReduceMin", 20, {integer("keepdims", 0)}}.text({none, axis}) == "[true true]");
}

TEST_CASE("how often numbers stand in sequences") {
  const Ints begins{0, 2}, columns{0, 2, 1, 3}, pool{5, 7, 1, 2, 2, 2};
  const auto counts = [&](const char* mode, std::int64_t skip, const Tensor& x) {
    const OneNode node{"TfIdfVectorizer",
                       9,
                       {text("mode", mode),
                        integer("min_gram_length", 1),
                        integer("max_gram_length", 2),
                        integer("max_skip_count", skip),
                        {"ngram_counts", begins},
                        {"ngram_indexes", columns},
                        {"pool_int64s", pool},
                        {"weights", Floats{10, 20, 30, 40}}}};
    return node.text({x});
  };
  const Tensor x = longs({6}, {5, 1, 2, 2, 5, 2});
  CHECK(counts("TF", 0, x) == "[2 1 0 1]");
  CHECK(counts("TF", 1, x) == "[2 2 0 2]");
  CHECK(counts("IDF", 1, x) == "[10 30 0 40]");
  CHECK(counts("TFIDF", 1, x) == "[20 60 0 80]");
  CHECK(counts("TF", 0, longs({2, 2}, {7, 7, 1, 2})) == "[[0 0 2 0] [0 1 0 0]]");
}

TEST_CASE("arrays cut and padded") {
  const Tensor x = longs({2, 3}, {1, 2, 3, 4, 5, 6});
  CHECK(OneNode{"CenterCropPad"}.text({x, longs({2}, {3, 2})}) == "[[1 2] [4 5] [0 0]]");
  CHECK(OneNode{"CenterCropPad", 18, {{"axes", Ints{-1}}}}.text({x, longs({1}, {6})}) ==
        "[[0 1 2 3 0 0] [0 4 5 6 0 0]]");
  CHECK(has(error_of({"CenterCropPad"}, {x, longs({2}, {-1, 2})}), "a size of -1"));
  CHECK(OneNode{"Pad", 19, {text("mode", "wrap")}}.text({x, longs({4}, {0, 2, 0, 1})}) ==
        "[[2 3 1 2 3 1] [5 6 4 5 6 4]]");
  CHECK(OneNode{"Pad"}.text({x, longs({4}, {1, -1, -1, 0})}) == "[[0 0] [2 3]]");
  CHECK(has(error_of({"Pad", 18, {text("mode", "odd")}}, {x, longs({4}, {0, 2, 0, 1})}), "its mode is odd"));
  const Tensor five = longs({5}, {0, 1, 2, 3, 4});
  const auto slice = [&](std::int64_t begin, std::int64_t end, std::int64_t step) {
    return OneNode{"Slice"}.text({five, longs({1}, {begin}), longs({1}, {end}), longs({1}, {0}), longs({1}, {step})});
  };
  constexpr auto kLowest = std::numeric_limits<std::int64_t>::min();
  CHECK(slice(-1, kLowest, -2) == "[4 2 0]");
  CHECK(slice(9, 0, -1) == "[4 3 2 1]");
  CHECK(slice(2, -9, kLowest) == "[2]");
  CHECK(slice(-9, -1, -1) == "[]");
  CHECK(slice(1, 3, -1) == "[]");
}

TEST_CASE("writing to elements, joined") {
  const Tensor x = longs({4}, {1, 2, 3, 4}), at = longs({3}, {1, -3, 0}), updates = longs({3}, {5, 7, 1});
  const auto scattered = [&](const char* how) {
    return OneNode{"ScatterElements", 18, {text("reduction", how)}}.text({x, at, updates});
  };
  CHECK(scattered("none") == "[1 7 3 4]");
  CHECK(scattered("add") == "[2 14 3 4]");
  CHECK(scattered("mul") == "[1 70 3 4]");
  CHECK(scattered("max") == "[1 7 3 4]");
  CHECK(scattered("min") == "[1 2 3 4]");
  CHECK(OneNode{"ScatterND", 18, {text("reduction", "max")}}.text({x, longs({2, 1}, {0, 3}), longs({2}, {9, 1})}) ==
        "[9 2 3 4]");
  CHECK(has(error_of({"ScatterND", 18, {text("reduction", "mean")}}, {x, longs({1, 1}, {0}), longs({1}, {9})}),
            "its reduction is mean"));
}

TEST_CASE("writing to a cache at each sequence's place") {
  const Tensor cache = longs({2, 4, 1}, {0, 0, 0, 0, 0, 0, 0, 0}), update = longs({2, 2, 1}, {1, 2, 3, 4});
  CHECK(OneNode{"TensorScatter", 24}.text({cache, update, longs({2}, {0, 2})}) ==
        "[[[1] [2] [0] [0]] [[0] [0] [3] [4]]]");
  CHECK(OneNode{"TensorScatter", 24, {text("mode", "circular")}}.text({cache, update, longs({2}, {3, 1})}) ==
        "[[[2] [0] [0] [1]] [[0] [3] [4] [0]]]");
  CHECK(OneNode{"TensorScatter", 24}.text({cache, update}) == "[[[1] [2] [0] [0]] [[3] [4] [0] [0]]]");
}

TEST_CASE("ops of ONNX-ML that are others of ONNX") {
  const OneNode binarizer{"Binarizer", 1, {Attribute{"threshold", 0.5}}, 1, "ai.onnx.ml"};
  CHECK(binarizer.text({floats({4}, {0.5F, 0.75F, -1, NAN})}) == "[0 1 0 0]");
  CHECK(binarizer.text({longs({3}, {0, 1, 2})}) == "[0 1 1]");
  CHECK(OneNode{"Binarizer", 1, {Attribute{"threshold", -0.5}}, 1, "ai.onnx.ml"}.text({longs({3}, {-1, 0, 1})}) ==
        "[0 1 1]");
  CHECK(OneNode{"Binarizer", 1, {}, 1, "ai.onnx.ml"}.text({floats({3}, {-1, 0, 1})}) == "[0 0 1]");
  const OneNode extractor{"ArrayFeatureExtractor", 1, {}, 1, "ai.onnx.ml"};
  CHECK(extractor.text({floats({2, 3}, {1, 2, 3, 4, 5, 6}), longs({1, 2}, {2, 0})}) == "[[3 1] [6 4]]");
  CHECK(extractor.text({floats({3}, {1, 2, 3}), longs({1}, {1})}) == "[[2]]");
  CHECK(extractor.text({floats({1, 3}, {1, 2, 3}), longs({2, 2}, {1, 0, 2, 0})}) == "[[2 1 3 1]]");
}

TEST_CASE("ensembles of trees") {
  const auto bytes = [](const std::vector<std::uint8_t>& values) {
    return Tensor::of<std::uint8_t>({std::ssize(values)}, std::span<const std::uint8_t>(values));
  };
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = floats({3, 2}, {1.2F, 3.4F, -0.12F, 1.66F, 4.14F, 1.77F});
  // ONNX's case test_ai_onnx_ml_tree_ensemble_single_tree.
  std::vector<Attribute> one{integer("n_targets", 2),
                             {"tree_roots", Ints{0}},
                             {"nodes_featureids", Ints{0, 0, 0}},
                             {"nodes_splits", floats({3}, {3.14F, 1.2F, 4.2F})},
                             {"nodes_modes", bytes({0, 0, 0})},
                             {"nodes_truenodeids", Ints{1, 0, 1}},
                             {"nodes_trueleafs", Ints{0, 1, 1}},
                             {"nodes_falsenodeids", Ints{2, 2, 3}},
                             {"nodes_falseleafs", Ints{0, 1, 1}},
                             {"leaf_targetids", Ints{0, 1, 0, 1}},
                             {"leaf_weights", floats({4}, {5.23F, 12.12F, -12.23F, 7.21F})}};
  CHECK(OneNode{"TreeEnsemble", 5, one, 1, "ai.onnx.ml"}.text({x}) == "[[5.23 0] [5.23 0] [0 12.12]]");
  one.push_back({"membership_values", floats({4}, {1.2F, -0.12F, nan, nan})});
  one[4] = {"nodes_modes", bytes({0, 6, 0})};  // node 1 asks whether the feature is 1.2 or -0.12
  CHECK(OneNode{"TreeEnsemble", 5, one, 1, "ai.onnx.ml"}.text({floats({3, 1}, {1.2F, -0.12F, 1})}) ==
        "[[5.23 0] [5.23 0] [-12.23 0]]");
  one[5] = {"nodes_truenodeids", Ints{0, 0, 1}};
  CHECK(has(error_of({"TreeEnsemble", 5, one, 1, "ai.onnx.ml"}, {x}), "leads to itself"));

  const OneNode regressor{"TreeEnsembleRegressor",
                          1,
                          {integer("n_targets", 1),
                           text("aggregate_function", "AVERAGE"),
                           {"base_values", Floats{1}},
                           {"nodes_treeids", Ints{0, 0, 0, 1}},
                           {"nodes_nodeids", Ints{0, 1, 2, 0}},
                           {"nodes_featureids", Ints{1, 0, 0, 0}},
                           {"nodes_values", Floats{2, 0, 0, 0}},
                           {"nodes_modes", onnx::Strings{"BRANCH_LT", "LEAF", "LEAF", "LEAF"}},
                           {"nodes_truenodeids", Ints{1, 0, 0, 0}},
                           {"nodes_falsenodeids", Ints{2, 0, 0, 0}},
                           {"nodes_missing_value_tracks_true", Ints{1, 0, 0, 0}},
                           {"target_treeids", Ints{0, 0, 1}},
                           {"target_nodeids", Ints{1, 2, 0}},
                           {"target_ids", Ints{0, 0, 0}},
                           {"target_weights", Floats{4, 8, 10}}},
                          1,
                          "ai.onnx.ml"};
  CHECK(regressor.text({floats({3, 2}, {0, 1, 0, 2, 0, nan})}) == "[[8] [10] [8]]");
  OneNode twice = regressor;  // two weights of one leaf for one target are added
  twice.attributes[11] = {"target_treeids", Ints{0, 0, 1, 1}};
  twice.attributes[12] = {"target_nodeids", Ints{1, 2, 0, 0}};
  twice.attributes[13] = {"target_ids", Ints{0, 0, 0, 0}};
  twice.attributes[14] = {"target_weights", Floats{4, 8, 7, 3}};
  CHECK(twice.text({floats({3, 2}, {0, 1, 0, 2, 0, nan})}) == "[[8] [10] [8]]");
  const auto with_feature = [&](std::int64_t feature) {
    OneNode node = regressor;
    node.attributes[5] = {"nodes_featureids", Ints{feature, 0, 0, 0}};
    return error_of(node, {floats({1, 2}, {0, 1})});
  };
  CHECK(has(with_feature(-1), "node 0 tests feature -1; features are numbered from 0"));
  CHECK(has(with_feature(2), "node 0 tests feature 2, and its input has 2 features, 0 to 1"));
}

TEST_CASE("classifiers of trees") {
  // Two trees over features 0 and 1. Each leaf has a weight of one class, or of two.
  const auto classifier = [](const Ints& ids, const Floats& weights, const Ints& labels, const char* how,
                             const Floats& base = {}) {
    OneNode node{"TreeEnsembleClassifier",
                 1,
                 {{"nodes_treeids", Ints{0, 0, 0, 1, 1, 1}},
                  {"nodes_nodeids", Ints{0, 1, 2, 0, 1, 2}},
                  {"nodes_featureids", Ints{0, 0, 0, 1, 0, 0}},
                  {"nodes_values", Floats{0, 0, 0, 0, 0, 0}},
                  {"nodes_modes", onnx::Strings{"BRANCH_LEQ", "LEAF", "LEAF", "BRANCH_LEQ", "LEAF", "LEAF"}},
                  {"nodes_truenodeids", Ints{1, 0, 0, 1, 0, 0}},
                  {"nodes_falsenodeids", Ints{2, 0, 0, 2, 0, 0}},
                  {"class_treeids", Ints{0, 0, 1, 1}},
                  {"class_nodeids", Ints{1, 2, 1, 2}},
                  {"class_ids", ids},
                  {"class_weights", weights},
                  {"classlabels_int64s", labels},
                  text("post_transform", how)},
                 2,
                 "ai.onnx.ml"};
    if (!base.empty()) node.attributes.push_back({"base_values", base});
    return node;
  };
  const Tensor x = floats({4, 2}, {-1, -1, -1, 1, 1, -1, 1, 1});
  const auto results = [&](const OneNode& node) {
    const std::vector<Tensor> outs = node.run({x});
    CHECK(outs[1].dtype() == DType::float32);
    return outs[0].str() + " " + outs[1].str();
  };
  // Three classes: the sums of the weights, and the label of the largest sum, the first of equal ones.
  const Ints ids{0, 1, 2, 1}, three{10, 20, 30}, two{5, 7};
  CHECK(results(classifier(ids, {1, 2, 3, 4}, three, "NONE")) == "[30 20 30 20] [[1 0 3] [1 4 0] [0 2 3] [0 6 0]]");
  CHECK(results(classifier(ids, {1, 2, 3, 4}, three, "NONE", {9, 0, 0})) ==
        "[10 10 10 10] [[10 0 3] [10 4 0] [9 2 3] [9 6 0]]");
  const std::vector<Tensor> softmax = classifier(ids, {1, 2, 3, 4}, three, "SOFTMAX").run({x});
  const double e1 = std::exp(1.0), e3 = std::exp(3.0);
  CHECK(softmax[1].number(0) == doctest::Approx(e1 / (e1 + 1 + e3)));
  CHECK(softmax[1].number(2) == doctest::Approx(e3 / (e1 + 1 + e3)));
  const std::vector<Tensor> zeros = classifier(ids, {1, 2, 3, 4}, three, "SOFTMAX_ZERO").run({x});
  CHECK(zeros[1].number(0) == doctest::Approx(e1 / (e1 + e3)));
  CHECK(zeros[1].number(1) == 0);
  const std::vector<Tensor> logistic = classifier(ids, {1, 2, 3, 4}, three, "LOGISTIC").run({x});
  CHECK(logistic[1].number(2) == doctest::Approx(1 / (1 + std::exp(-3.0))));
  // The quantiles of 0.5, 0.975 and 0.025, by onnxruntime's approximation.
  const std::vector<Tensor> probit =
      classifier({0, 1, 2, 1}, {0.25, 0.975, 0.025, 0.5}, three, "PROBIT", {0.25, 0, 0}).run({x});
  CHECK(std::abs(probit[1].number(0)) < 1e-6);
  CHECK(probit[1].number(2) == doctest::Approx(-1.96).epsilon(0.01));
  // Two classes with weights of both.
  CHECK(results(classifier({0, 1, 0, 1}, {1, 2, 3, 4}, two, "NONE")) == "[5 7 5 7] [[4 0] [1 4] [3 2] [0 6]]");
  // Weights of one class: probabilities, or numbers that become probabilities.
  const Ints one{0, 0, 0, 0};
  CHECK(results(classifier(one, {0.25, 0.5, 0.25, 0.5}, two, "NONE")) ==
        "[5 7 7 7] [[0.5 0.5] [0.25 0.75] [0.25 0.75] [0 1]]");
  const OneNode odds = classifier(one, {-1, 2, -1, 0.5}, two, "LOGISTIC", {0.25});
  CHECK(odds.run({x})[0].str() == "[5 5 7 7]");
  CHECK(odds.run({x})[1].number(1) == doctest::Approx(1 / (1 + std::exp(1.75))));
  CHECK(odds.run({x})[1].number(0) == doctest::Approx(1 / (1 + std::exp(-1.75))));
  // Cases for which onnxruntime and the reference implementation differ.
  CHECK(
      has(error_of(classifier(one, {1, 2, 3, 4}, two, "LOGISTIC"), {x}), "weights of one, none negative: its meaning"));
  CHECK(has(error_of(classifier(one, {-1, 2, 3, 4}, two, "NONE"), {x}), "weights of one, some negative: its meaning"));
  CHECK(has(error_of(classifier(one, {-1, 2, 3, 4}, two, "SOFTMAX"), {x}), "give weights of both classes"));
  CHECK(has(error_of(classifier({1, 1, 1, 1}, {1, 2, 3, 4}, two, "NONE"), {x}), "they must be of class 0"));
  CHECK(has(error_of(classifier(ids, {1, 2, 3, 4}, two, "NONE"), {x}), "a leaf of class 2; there are 2, 0 to 1"));
  CHECK(has(error_of(classifier(one, {1, 2, 3, 4}, {5}, "NONE"), {x}), "it has one class"));
  CHECK(has(error_of(classifier(ids, {1, 2, 3, 4}, three, "NONE", {1, 2}), {x}), "base_values has 2 elements for 3"));
  OneNode texts = classifier(ids, {1, 2, 3, 4}, {}, "NONE");
  texts.attributes.push_back({"classlabels_strings", onnx::Strings{"a", "b", "c"}});
  CHECK(
      has(error_of(texts, {x}), "its labels are texts, which ferry does not compute with; export the model with int"));
}

TEST_CASE("ensembles of trees whose numbers are tensors, of float64 also") {
  const auto doubles = [](const std::vector<double>& values) {
    return Tensor::of<double>({std::ssize(values)}, std::span<const double>(values));
  };
  const double just_above = 1 + 0x1p-40, large = 0x1p40;  // float32 rounds these, and large + 1, to fewer bits
  const auto regressor = [](std::int64_t opset, const std::vector<Attribute>& numbers) {
    OneNode node{"TreeEnsembleRegressor",
                 opset,
                 {integer("n_targets", 2),
                  {"nodes_treeids", Ints{0, 0, 0}},
                  {"nodes_nodeids", Ints{0, 1, 2}},
                  {"nodes_featureids", Ints{0, 0, 0}},
                  {"nodes_modes", onnx::Strings{"BRANCH_LT", "LEAF", "LEAF"}},
                  {"nodes_truenodeids", Ints{1, 0, 0}},
                  {"nodes_falsenodeids", Ints{2, 0, 0}},
                  {"target_treeids", Ints{0, 0}},
                  {"target_nodeids", Ints{1, 2}},
                  {"target_ids", Ints{0, 1}}},
                 1,
                 "ai.onnx.ml"};
    node.attributes.insert(node.attributes.end(), numbers.begin(), numbers.end());
    return node;
  };
  const Tensor x = Tensor::of<double>({2, 1}, {1, just_above});
  const std::vector<Attribute> exact{{"nodes_values_as_tensor", doubles({just_above, 0, 0})},
                                     {"nodes_hitrates_as_tensor", doubles({1, 1, 1})},
                                     {"target_weights_as_tensor", doubles({large + 1, large + 3})},
                                     {"base_values_as_tensor", doubles({-large, -large})}};
  const OneNode node = regressor(3, exact);
  const std::string base = floats({}, {-0x1p40F}).str();
  CHECK(node.text({x}) == "[[1 " + base + "] [" + base + " 3]]");
  CHECK(node.run({x})[0].dtype() == DType::float32);
  const std::vector<Attribute> single{{"nodes_values_as_tensor", floats({3}, {1, 0, 0})},
                                      {"target_weights_as_tensor", floats({2}, {4, 5})},
                                      {"base_values_as_tensor", floats({2}, {10, 20})}};
  CHECK(regressor(3, single).text({floats({2, 1}, {0, 1})}) == "[[14 20] [10 25]]");
  CHECK(has(error_of(regressor(1, single), {floats({2, 1}, {0, 1})}), "nodes_values"));
  std::vector<Attribute> both = single;
  both.push_back({"target_weights", Floats{4, 5}});
  CHECK(has(error_of(regressor(3, both), {floats({2, 1}, {0, 1})}), "target_weights"));
  std::vector<Attribute> few = single;
  few[0] = {"nodes_values_as_tensor", floats({2}, {1, 0})};
  CHECK(has(error_of(regressor(3, few), {floats({2, 1}, {0, 1})}), "nodes_values has 2 elements for 3"));
  few[0] = single[0];
  few[1] = {"target_weights_as_tensor", floats({3}, {4, 5, 6})};
  CHECK(has(error_of(regressor(3, few), {floats({2, 1}, {0, 1})}), "target_weights has 3 elements for 2"));

  const OneNode classifier{"TreeEnsembleClassifier",
                           3,
                           {{"nodes_treeids", Ints{0, 0, 0}},
                            {"nodes_nodeids", Ints{0, 1, 2}},
                            {"nodes_featureids", Ints{0, 0, 0}},
                            {"nodes_values_as_tensor", doubles({just_above, 0, 0})},
                            {"nodes_modes", onnx::Strings{"BRANCH_LT", "LEAF", "LEAF"}},
                            {"nodes_truenodeids", Ints{1, 0, 0}},
                            {"nodes_falsenodeids", Ints{2, 0, 0}},
                            {"class_treeids", Ints{0, 0}},
                            {"class_nodeids", Ints{1, 2}},
                            {"class_ids", Ints{1, 2}},
                            {"class_weights_as_tensor", doubles({large + 1, large + 2})},
                            {"base_values_as_tensor", doubles({1.5, -large, -large})},
                            {"classlabels_int64s", Ints{10, 20, 30}}},
                           2,
                           "ai.onnx.ml"};
  const std::vector<Tensor> classes = classifier.run({x});
  CHECK(classes[0].str() == "[10 30]");  // the sum of class 1 is 1 in the first row, class 2 has 2 in the second
  CHECK(classes[1].number(1) == 1);
  CHECK(classes[1].number(5) == 2);
}

TEST_CASE("ops as they were in older operator sets") {
  CHECK(OneNode{"TopK", 1, {integer("k", 2), integer("axis", 0)}, 2}.text({floats({3}, {1, 3, 2})}) == "[3 2]");
  CHECK(OneNode{"Hardmax", 11}.text({floats({1, 2, 2}, {1, 4, 4, 2})}) == "[[[0 1] [0 0]]]");
  CHECK(OneNode{"Hardmax", 13}.text({floats({1, 2, 2}, {1, 4, 4, 2})}) == "[[[0 1] [1 0]]]");
  CHECK(OneNode{"PRelu", 6}.text({floats({1, 2, 1, 2}, {-1, 1, -1, 1}), floats({2}, {3, 5})}) ==
        "[[[[-3 1]] [[-5 1]]]]");
}

TEST_CASE("an older Resize to a smaller size takes the next element: ONNX 1.5's case test_resize_downsample_nearest") {
  const Tensor x = floats({1, 1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}), smaller = floats({4}, {1, 1, 0.6F, 0.6F});
  CHECK(OneNode{"Resize", 10}.text({x, smaller}) == "[[[[1 3]]]]");
  CHECK(OneNode{"Upsample", 9}.text({x, smaller}) == "[[[[1 3]]]]");
  CHECK(OneNode{"Upsample", 7, {{"scales", Floats{1, 1, 0.6F, 0.6F}}}}.text({x}) == "[[[[1 3]]]]");
  CHECK(OneNode{"Resize", 10}.text({x, floats({4}, {1, 1, 1.5F, 0.6F})}) == "[[[[1 3] [1 3] [5 7]]]]");
}

TEST_CASE("outputs have the dtype that ONNX says, whatever the dtypes of the inputs") {
  const auto as = [](DType dtype, const Tensor& of) {
    Graph g;
    return Evaluator(g).run({cast(g.constant(of), dtype)})[0];
  };
  const auto types = [](const OneNode& node, const std::vector<Tensor>& inputs) {
    std::string text;
    for (const Tensor& tensor : node.run(inputs)) text += tensor.type().str() + " ";
    return text;
  };
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4}), grid = floats({1, 1, 1, 2}, {0, 0}), one = floats({1}, {1});
  const Tensor half = as(DType::float16, x), half_one = as(DType::float16, one), two = floats({2}, {1, 1});
  const Tensor wide = as(DType::float64, x);
  CHECK(types({"GridSample", 16}, {half, grid}) == "float16[1,1,1,1] ");
  CHECK(types({"GridSample", 16}, {x, as(DType::float16, grid)}) == "float32[1,1,1,1] ");
  CHECK(types({"BatchNormalization", 15}, {half, one, one, one, one}) == "float16[1,1,2,2] ");
  CHECK(types({"BatchNormalization", 15, {integer("training_mode", 1)}, 3}, {half, one, one, one, one}) ==
        "float16[1,1,2,2] float32[1] float32[1] ");
  CHECK(types({"LayerNormalization", 17, {}, 3}, {wide, as(DType::float64, two)}) ==
        "float64[1,1,2,2] float32[1,1,2,1] float32[1,1,2,1] ");
  CHECK(types({"RMSNormalization", 23}, {x, as(DType::float16, two)}) == "float16[1,1,2,2] ");
  CHECK(types({"Pow", 12}, {half, grid}) == "float16[1,1,2,2] ");
  CHECK(types({"TopK", 11, {}, 2}, {half, longs({1}, {1})}) == "float16[1,1,2,1] int64[1,1,2,1] ");
  CHECK(types({"MaxPool", 12, {{"kernel_shape", Ints{2, 2}}}, 2}, {half}) == "float16[1,1,1,1] int64[1,1,1,1] ");
  CHECK(types({"Dropout", 13, {}, 2}, {half, one}) == "float16[1,1,2,2] bool[1,1,2,2] ");
  CHECK(types({"Attention", 23}, {half, half, x}) == "float16[1,1,2,2] ");
  CHECK(types({"NegativeLogLikelihoodLoss", 13}, {half, as(DType::int32, longs({1, 2, 2}, {0, 0, 0, 0})), half_one}) ==
        "float16[] ");
  CHECK(types({"ArgMax", 13}, {half}) == "int64[1,1,2,2] ");
  CHECK(types({"Attention", 24}, {x, x, x, Tensor(), Tensor(), Tensor(), longs({1}, {2})}) == "float32[1,1,2,2] ");
  CHECK(types({"Col2Im", 18}, {floats({1, 1, 2}, {1, 2}), longs({2}, {1, 2}), longs({2}, {1, 1})}) ==
        "float32[1,1,1,2] ");

  // Where ONNX says that inputs have one dtype, others are refused, as by onnxruntime.
  CHECK(has(error_of({"Add", 14}, {half, x}),
            "inputs \"x0\" (float16) and \"x1\" (float32) must have one dtype; insert a Cast"));
  CHECK(has(error_of({"Concat", 13, {integer("axis", 0)}}, {x, wide}), "(float32) and \"x1\" (float64)"));
  CHECK(has(error_of({"Where", 16}, {as(DType::boolean, x), x, half}), "(float32) and \"x2\" (float16)"));
}

TEST_CASE("sizes that depend on data") {
  const Tensor x = longs({3, 2}, {1, 2, 3, 4, 1, 2});
  Tensor taken(DType::boolean, {2});
  taken.mutable_data<bool>()[1] = true;
  CHECK(OneNode{"Compress", 11, {integer("axis", 0)}}.text({x, taken}) == "[[3 4]]");
  CHECK(OneNode{"Compress", 11, {integer("axis", 1)}}.text({x, taken}) == "[[2] [4] [2]]");
  CHECK(OneNode{"Compress", 11}.text({x, taken}) == "[2]");
  CHECK(OneNode{"NonZero", 13}.text({longs({2, 2}, {1, 0, 1, 1})}) == "[[0 1 1] [0 0 1]]");
  CHECK(OneNode{"Unique", 11, {integer("axis", 0)}}.text({x}) == "[[1 2] [3 4]]");
}

TEST_CASE("different slices along an axis that is not the first one") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = floats({2, 5}, {3, 1, 3, nan, 1, 2, 5, 2, 0, 5});
  const std::vector<Tensor> sorted = OneNode{"Unique", 11, {integer("axis", 1)}, 4}.run({x});
  CHECK(sorted[0].str() == "[[1 3 nan] [5 2 0]]");
  CHECK(sorted[1].str() == "[1 0 3]");
  CHECK(sorted[2].str() == "[1 0 1 2 0]");
  CHECK(sorted[3].str() == "[2 2 1]");
  const OneNode as_they_come{"Unique", 11, {integer("axis", -1), integer("sorted", 0)}, 4};
  CHECK(as_they_come.run({x})[0].str() == "[[3 1 nan] [2 5 0]]");
  CHECK(as_they_come.run({x})[2].str() == "[0 1 0 2 1]");
  CHECK(OneNode{"Unique", 11, {integer("axis", 1)}}.run({longs({2, 0}, {})})[0].type().str() == "int64[2,0]");
}

TEST_CASE("a quantized LSTM in both directions: onnxruntime's numbers") {
  const auto bytes = [](std::vector<std::int64_t> sizes, const std::vector<std::int8_t>& values) {
    return Tensor::of<std::int8_t>(std::move(sizes), std::span<const std::int8_t>(values));
  };
  const Tensor x = floats({3, 1, 2}, {0.5F, -1, 2, 0.25F, -0.75F, 1.5F});
  const Tensor w = bytes({2, 2, 8}, {-6, 2, 50,  89,  -93, -71, 63, 88, -50, -38, 73,  -16, -45, 64,  -49, -18,
                                     28, 9, -83, -94, 72,  50,  66, 7,  62,  -34, -10, 57,  -75, -39, -75, -10});
  const Tensor r = bytes({2, 2, 8}, {94, -73, -24, -20, 79,  -59, 0,  -48, -96, 49,  -87, -44, -1,  -3, -76, 95,
                                     49, 91,  -81, 44,  -41, 8,   84, -45, 44,  -68, -36, 93,  -16, 3,  -41, -77});
  const Tensor bias = floats({2, 16}, {-1.1F, -0.4F, 2,     0.6F, 0.7F, -0.5F, -1.6F, 0.2F, 0.1F, -1.2F, -0.7F,
                                       -0.1F, -0.9F, -0.1F, 0.1F, 0,    -0.5F, 0.6F,  0.9F, 0.3F, -0.8F, 0.7F,
                                       -0.5F, 0.9F,  -1.1F, 0.9F, 0,    -1.2F, -0.3F, 0.1F, 0.3F, -1});
  const OneNode node{"DynamicQuantizeLSTM", 1, {text("direction", "bidirectional")}, 3, "com.microsoft"};
  const std::vector<Tensor> got =
      node.run({x, w, r, bias, Tensor(), Tensor(), Tensor(), Tensor(), floats({2}, {0.02F, 0.01F}), bytes({2}, {0, 5}),
                floats({2}, {0.015F, 0.02F}), bytes({2}, {-3, 0})});
  const std::vector<double> y{0.0288812518119812,   0.22491028904914856,  0.036764975637197495, 0.013421759940683842,
                              0.069942407310009,    0.17840807139873505,  -0.01704743690788746, 0.0020446251146495342,
                              -0.03367168456315994, 0.021221622824668884, -0.21068041026592255, -0.14878691732883453};
  const std::vector<double> c{-0.03645504638552666, 0.11213044077157974, 0.05618327856063843, 0.10539975762367249};
  REQUIRE(got[0].sizes() == std::vector<std::int64_t>{3, 2, 1, 2});
  for (std::size_t i = 0; i < y.size(); ++i)
    CHECK(got[0].number(static_cast<std::int64_t>(i)) == doctest::Approx(y[i]).epsilon(1e-5));
  for (std::size_t i = 0; i < c.size(); ++i)
    CHECK(got[2].number(static_cast<std::int64_t>(i)) == doctest::Approx(c[i]).epsilon(1e-5));
}

TEST_CASE("a norm over whole images") {
  const Tensor y = OneNode{"GlobalLpPool", 2, {integer("p", 3)}}.run({floats({1, 2, 1, 2}, {-1, 2, 3, 0})})[0];
  CHECK(y.sizes() == std::vector<std::int64_t>{1, 2, 1, 1});
  CHECK(y.number(0) == doctest::Approx(std::cbrt(9.0)));
  CHECK(y.number(1) == doctest::Approx(3));
}

TEST_CASE("bits as another dtype") {
  CHECK(OneNode{"BitCast", 26, {integer("to", 6)}}.text({floats({2}, {1, -2})}) == "[1065353216 -1073741824]");
  CHECK(OneNode{"BitCast", 26, {integer("to", 11)}}.text({longs({}, {std::int64_t{0x3FF8} << 48})}) == "1.5");
  Tensor bits(DType::uint8, {2});
  bits.mutable_data<std::uint8_t>()[1] = 1;
  CHECK(OneNode{"BitCast", 26, {integer("to", 9)}}.text({bits}) == "[false true]");
  CHECK(has(error_of({"BitCast", 26, {integer("to", 11)}}, {kSeven}), "the bits of float32 are no float64"));
}

TEST_CASE("regions with as many samples as they are large: onnxruntime's numbers") {
  std::vector<float> pixels;
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 6; ++j) pixels.push_back(static_cast<float>((i * 7 + j * 3) % 11));
  const Tensor x = floats({1, 1, 5, 6}, pixels), images = longs({3}, {0, 0, 0});
  const Tensor regions = floats({3, 4}, {0, 0, 9, 7, -4, 1, 3, 14, 2, 2, 2.5F, 3});
  const auto check = [&](const char* mode, const char* coordinates, const std::vector<double>& wanted) {
    const OneNode node{"RoiAlign",
                       16,
                       {text("mode", mode),
                        text("coordinate_transformation_mode", coordinates),
                        {"spatial_scale", 0.5},
                        integer("output_height", 2),
                        integer("output_width", 2)}};
    const Tensor y = node.run({x, regions, images})[0];
    REQUIRE(y.count() == static_cast<std::int64_t>(wanted.size()));
    for (std::size_t i = 0; i < wanted.size(); ++i)
      CHECK(y.number(static_cast<std::int64_t>(i)) == doctest::Approx(wanted[i]).epsilon(1e-6));
  };
  check("avg", "half_pixel",
        {4.28515625, 5.639322757720947, 5.703125, 4.63671875, 0, 5.4404296875, 0, 3.499755859375, 6.0625, 6.4375,
         7.8125, 8.1875});
  check("avg", "output_half_pixel",
        {5.71875, 5.1640625, 5.393229007720947, 3.87890625, 3.2265625, 6.257568359375, 1.5, 3.765625, 7.6875, 5.0625,
         7.0625, 7.1875});
  check("max", "half_pixel",
        {5.6875, 7.875, 5.625, 5.4140625, 0, 8.4375, 0, 6, 3.515625, 4.296875, 4.921875, 6.015625});
  check("max", "output_half_pixel",
        {6.015625, 4.8125, 6.3984375, 4.6875, 6.5625, 8.49609375, 6, 8.4375, 5.625, 1.875, 3.375, 5.0625});
  const OneNode huge{"RoiAlign", 16};
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(huge.text({x, floats({2, 4}, {0, 1e29F, 5, 1e30F, 0, 0, infinity, 1}), longs({2}, {0, 0})}) ==
        "[[[[0]]] [[[nan]]]]");
  CHECK(has(error_of(huge, {x, floats({1, 4}, {0, 0, 1, 1}), longs({1}, {1})}), "the image 1 of region 0"));
}

TEST_CASE("Fourier's transform there and back") {
  const Tensor x = floats({1, 5, 2}, {1, 2, -1, 0.5F, 3, 0, -2, 1, 0, 4});
  const OneNode forth{"DFT", 20}, back{"DFT", 20, {integer("inverse", 1)}};
  const Tensor y = forth.run({x, Tensor(), longs({}, {1})})[0];
  const Tensor again = back.run({y, Tensor(), longs({}, {1})})[0];
  for (std::int64_t i = 0; i < x.count(); ++i) CHECK(again.number(i) == doctest::Approx(x.number(i)).epsilon(1e-5));
  CHECK(y.number(0) == doctest::Approx(1.0));  // the sum
  CHECK(y.number(1) == doctest::Approx(7.5));
  const OneNode half{"DFT", 17, {integer("onesided", 1), integer("axis", 1)}};
  const Tensor real = floats({1, 4, 1}, {1, 0, -1, 0});
  const Tensor padded = half.run({real, longs({}, {6})})[0];
  CHECK(padded.sizes() == std::vector<std::int64_t>{1, 4, 2});
  CHECK(padded.number(2) == doctest::Approx(1.5));  // 1 - cos(2 pi 2 / 6)
  CHECK(has(error_of(half, {real, longs({}, {std::int64_t{1} << 40})}), "elements"));

  std::vector<float> hundred(100);
  for (std::size_t i = 0; i < hundred.size(); ++i) hundred[i] = static_cast<float>(i);
  const Tensor whole =
      back.run({forth.run({floats({1, 100, 1}, hundred), Tensor(), longs({}, {1})})[0], Tensor(), longs({}, {1})})[0];
  for (std::int64_t i = 0; i < 100; ++i) CHECK(std::abs(whole.number(2 * i + 1)) < 1e-5);  // the imaginary part
}

TEST_CASE("half of the frequencies give the real signal: numpy's irfft") {
  const Tensor x = floats({1, 4, 2}, {1, 9, 2, -1, 0.5F, 3, -1, 7});
  const auto check = [&](std::int64_t length, const std::vector<double>& wanted) {
    const OneNode node{"DFT", 20, {integer("inverse", 1), integer("onesided", 1)}};
    const Tensor y = node.run({x, length == 0 ? Tensor() : longs({}, {length}), longs({}, {1})})[0];
    REQUIRE(y.sizes() == std::vector<std::int64_t>{1, static_cast<std::int64_t>(wanted.size()), 1});
    for (std::size_t i = 0; i < wanted.size(); ++i)
      CHECK(y.number(static_cast<std::int64_t>(i)) == doctest::Approx(wanted[i]).epsilon(1e-5));
  };
  check(0, {0.83333333, 0.00598306, 0.73803387, -0.16666667, -1.57136721, 1.1606836});
  check(7, {0.57142857, -0.75527155, 1.92296669, -1.3750826, 0.93641294, -2.5052616, 2.20480755});
  check(4, {1.375, 0.625, -0.625, -0.375});
  check(9, {0.44444444, -1.27886678, 1.53297227, 0.38091147, -0.95292397, 0.73231819, -1.15868925, -1.14299447,
            2.4428281});
}

TEST_CASE("frames of a signal without a dim of parts: numpy's rfft") {
  const Tensor x = floats({2, 6}, {1, -2, 3, 0.5F, 4, -1, 0, 1, 2, 3, 4, 5});
  const OneNode stft{"STFT", 17};
  const std::vector<double> wanted{2.5, 0, -2, 2.5, 5.5, 0, 6.5, 0, -1, -1.5, 7.5, 0,
                                   6,   0, -2, 2,   -2,  0, 14,  0, -2, 2,    -2,  0};
  const auto check = [&](const Tensor& signal) {
    const Tensor y = stft.run({signal, longs({}, {2}), Tensor(), longs({}, {4})})[0];
    REQUIRE(y.sizes() == std::vector<std::int64_t>{2, 2, 3, 2});
    for (std::size_t i = 0; i < wanted.size(); ++i)
      CHECK(y.number(static_cast<std::int64_t>(i)) == doctest::Approx(wanted[i]).epsilon(1e-5).scale(1));
  };
  check(x);
  check(floats({2, 6, 1}, {1, -2, 3, 0.5F, 4, -1, 0, 1, 2, 3, 4, 5}));
}

TEST_CASE("squares of pixels become channels in either order") {
  const Tensor x = longs({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const auto channels = [&](const char* mode) {
    const OneNode forth{"SpaceToDepth", 28, {integer("blocksize", 2), text("mode", mode)}};
    const OneNode back{"DepthToSpace", 28, {integer("blocksize", 2), text("mode", mode)}};
    const Tensor deep = forth.run({x})[0];
    CHECK(back.run({deep})[0].same_bits(x));
    std::vector<std::int64_t> order;
    for (std::int64_t i = 0; i < deep.count(); ++i) order.push_back(deep.integer(i));
    return order;
  };
  CHECK(channels("DCR") == std::vector<std::int64_t>{0, 4, 1, 5, 2, 6, 3, 7});
  CHECK(channels("CRD") == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(has(error_of({"SpaceToDepth", 28, {integer("blocksize", 2), text("mode", "RCD")}}, {x}), "a mode of 'RCD'"));
}

TEST_CASE("an attribute that is not known of an op is refused") {
  CHECK(has(error_of({"Softmax", 13, {integer("axiz", 0)}}, {kThree}),
            "node \"n\" (Softmax): attribute \"axiz\" is not known of Softmax in operator set 13; known is \"axis\""));
  CHECK(has(error_of({"Relu", 14, {integer("axis", 0)}}, {kThree}),
            "is not known of Relu in operator set 14; known is none"));
  CHECK(has(error_of({"Clip", 13, {{"min", 0.0}}}, {kThree}), "attribute \"min\" is not known of Clip"));
  CHECK(has(error_of({"LeakyRelu", 16, {{"alfa", 0.5}}}, {kThree}), "known is \"alpha\""));
  CHECK(OneNode{"Relu", 14, {integer("__tool", 1)}}.text({kThree}) == "[0 0.5 3]");
  CHECK(OneNode{"Relu", 1, {{"consumed_inputs", Ints{0}}}}.text({kThree}) == "[0 0.5 3]");
}

TEST_CASE("attributes of an op that are not needed are taken") {
  const Tensor x = longs({2, 2}, {1, 2, 3, 4}), image = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  CHECK(OneNode{"ReduceSum", 13, {integer("noop_with_empty_axes", 1)}}.text({x, longs({1}, {1})}) == "[[3] [7]]");
  CHECK(OneNode{"TopK", 11, {integer("sorted", 0)}, 2}.text({floats({3}, {1, 3, 2}), longs({1}, {1})}) == "[3]");
  CHECK(OneNode{"MaxPool", 12, {{"kernel_shape", Ints{2, 2}}, integer("storage_order", 1)}}.text({image}) ==
        "[[[[4]]]]");
  CHECK(OneNode{"Dropout", 13, {integer("seed", 1)}}.text({x}) == "[[1 2] [3 4]]");
  CHECK(OneNode{"Dropout", 7, {{"ratio", 0.1}}}.text({kThree}) == "[-3 0.5 3]");
  CHECK(OneNode{"Cast", 19, {integer("to", 7), integer("saturate", 1)}}.text({kThree}) == "[-3 0 3]");
  CHECK(OneNode{"Add", 6, {integer("axis", 0), integer("broadcast", 0)}}.text({x, x}) == "[[2 4] [6 8]]");
}

TEST_CASE("sizes that an attribute repeats must be those of the weights") {
  const Tensor image = floats({1, 1, 2, 2}, {1, 2, 3, 4}), filter = floats({1, 1, 1, 2}, {1, 1});
  CHECK(OneNode{"Conv", 11, {{"kernel_shape", Ints{1, 2}}}}.text({image, filter}) == "[[[[3] [7]]]]");
  CHECK(has(error_of({"Conv", 11, {{"kernel_shape", Ints{2, 2}}}}, {image, filter}),
            "kernel_shape is [2,2], and its filter has [1,1,1,2]"));
  const Tensor x = floats({1, 1, 2}, {1, 2}), w = floats({1, 3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor r = floats({1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(OneNode{"RNN", 14, {integer("hidden_size", 3)}}.run({x, w, r})[0].sizes() ==
        std::vector<std::int64_t>{1, 1, 1, 3});
  CHECK(has(error_of({"RNN", 14, {integer("hidden_size", 5)}}, {x, w, r}),
            "hidden_size is 5, and its weights are for 3"));
}

TEST_CASE("random numbers") {
  const Tensor ends = floats({4}, {0, 1, 0, 1});
  CHECK(OneNode{"Bernoulli"}.text({ends}) == "[0 1 0 1]");
  CHECK(OneNode{"Bernoulli", 15, {integer("dtype", 7)}}.run({ends})[0].dtype() == DType::int64);
  const Tensor uniform = OneNode{"RandomUniformLike", 1, {{"low", 3.0}, {"high", 4.0}}}.run({kSeven})[0];
  for (std::int64_t i = 0; i < 7; ++i) CHECK((uniform.number(i) >= 3 && uniform.number(i) < 4));
  CHECK(OneNode{"RandomNormal", 1, {{"shape", Ints{2, 3}}, integer("dtype", 11)}}.run({})[0].type().str() ==
        "float64[2,3]");
  const Tensor weights = floats({2, 3}, {-99, 0, -99, 0, -99, -99});
  CHECK(OneNode{"Multinomial", 7, {integer("sample_size", 4)}}.text({weights}) == "[[1 1 1 1] [0 0 0 0]]");
  const Tensor even = OneNode{"Multinomial", 7, {integer("sample_size", 3000)}}.run({floats({1, 3}, {0, 0, 0})})[0];
  std::int64_t seen[3] = {};
  for (std::int64_t i = 0; i < even.count(); ++i) ++seen[even.integer(i)];
  for (std::int64_t count : seen) CHECK((count > 850 && count < 1150));
}

TEST_CASE("means of integers are exact, and rounded toward zero") {
  const std::int64_t odd = (std::int64_t{1} << 53) + 1, large = std::numeric_limits<std::int64_t>::max();
  const auto mean_of = [](const Tensor& x) { return OneNode{"ReduceMean", 18, {integer("keepdims", 0)}}.text({x}); };
  CHECK(mean_of(longs({3}, {odd, odd, odd})) == std::to_string(odd));
  CHECK(mean_of(longs({4}, {large, large, large - 1, large})) == std::to_string(large - 1));
  CHECK(mean_of(longs({2}, {-large, -large})) == std::to_string(-large));
  CHECK(mean_of(longs({2}, {-5, 2})) == "-1");
  CHECK(mean_of(longs({2}, {5, -2})) == "1");
  CHECK(mean_of(longs({3}, {7, -3, -3})) == "0");
  CHECK(mean_of(longs({3}, {-7, 3, 3})) == "0");
  CHECK(mean_of(longs({}, {odd})) == std::to_string(odd));
  CHECK(mean_of(longs({0}, {})) == "0");
  CHECK(OneNode{"ReduceMean", 18}.text({longs({2, 2}, {odd, odd + 2, 1, 2}), longs({1}, {1})}) ==
        "[[" + std::to_string(odd + 1) + "] [1]]");
}

TEST_CASE("norms and logarithms of integers are of exact sums") {
  const auto reduced = [](const char* op, const Tensor& x) {
    return OneNode{op, 18, {integer("keepdims", 0)}}.text({x});
  };
  // float64 rounds these squares, and the root of their sum, if row after row is added, is below 2993258022.
  std::vector<std::int64_t> sides;
  for (const std::int64_t side : {1299870563, 1274400378, 1174491784, 1376356789, 987843332, 1181613461, 34113, 148, 6})
    sides.insert(sides.end(), 16, side);
  CHECK(OneNode{"ReduceL2", 18, {integer("keepdims", 0)}}.run({longs({9, 16}, sides), longs({1}, {0})})[0].integer(0) ==
        2993258022);
  CHECK(reduced("ReduceL2", longs({3}, {2, 2, 2})) == "3");  // 3.46
  CHECK(reduced("ReduceL2", longs({0}, {})) == "0");
  const std::int64_t odd = (std::int64_t{1} << 53) + 1;
  std::vector<std::int64_t> terms(8, odd);
  terms.insert(terms.end(), 8, 1 - odd);
  CHECK(reduced("ReduceLogSum", longs({16}, terms)) == "2");  // log(8) is 2.08
  const auto most = std::numeric_limits<std::uint32_t>::max();
  const Tensor natural = Tensor::of<std::uint32_t>({1}, {most});
  CHECK(reduced("ReduceL2", natural) == std::to_string(most));
  CHECK(reduced("ReduceLogSum", Tensor::of<std::uint32_t>({2}, {most, most})) == "22");  // log(2^33) is 22.9
  const Tensor whole = Tensor::of<std::int32_t>({2}, {std::int32_t{3} << 28, std::int32_t{1} << 30});
  CHECK(reduced("ReduceL2", whole) == std::to_string(std::int32_t{5} << 28));
}

TEST_CASE("indices that are out of range are errors when the model runs") {
  const Tensor logits = floats({1, 3}, {0, 0, 0});
  for (const std::int64_t label : {-1, 3}) {
    const std::string wrong = "the label " + std::to_string(label) + " is not one of 3 classes, 0 to 2";
    for (const char* op : {"SoftmaxCrossEntropyLoss", "NegativeLogLikelihoodLoss"}) {
      CHECK(has(error_of({op, 13}, {logits, longs({1}, {label})}), wrong));
      CHECK(error_of({op, 13, {integer("ignore_index", label)}}, {logits, longs({1}, {label})}) == "");
    }
  }
  const Tensor image = floats({2, 1, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), region = floats({1, 4}, {0, 0, 1, 1});
  for (const std::int64_t samples : {0, 2})
    for (const std::int64_t number : {-1, 2})
      CHECK(has(error_of({"RoiAlign", 16, {integer("sampling_ratio", samples)}}, {image, region, longs({1}, {number})}),
                "the image " + std::to_string(number) + " of region 0 is out of range for 2 images"));
  const Tensor cache = floats({1, 1, 3, 1}, {1, 2, 3}), steps = floats({1, 1, 2, 1}, {8, 9});
  const auto scattered = [&](std::int64_t begin, const char* mode) {
    return std::pair(OneNode{"TensorScatter", 24, {text("mode", mode)}},
                     std::vector<Tensor>{cache, steps, longs({1}, {begin})});
  };
  const auto [linear, from_1] = scattered(1, "linear");
  CHECK(linear.text(from_1) == "[[[[1] [8] [9]]]]");
  for (const std::int64_t begin : {-1, 2})
    CHECK(has(error_of(linear, scattered(begin, "linear").second),
              "the position " + std::to_string(begin) + " is not one of 2, 0 to 1"));
  const auto [circular, from_2] = scattered(2, "circular");
  CHECK(circular.text(from_2) == "[[[[9] [2] [8]]]]");
  CHECK(has(error_of(linear, {cache, floats({1, 1, 4, 1}, {1, 2, 3, 4})}), "4 steps for a cache of 3"));
  const OneNode unpool{"MaxUnpool", 11, {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}}};
  CHECK(unpool.text({floats({1, 1, 1, 1}, {5}), longs({1, 1, 1, 1}, {3})}) == "[[[[0 0] [0 5]]]]");
  for (const std::int64_t place : {-1, 4})
    CHECK(has(error_of(unpool, {floats({1, 1, 1, 1}, {5}), longs({1, 1, 1, 1}, {place})}),
              "the position " + std::to_string(place) + " is not one of 4, 0 to 3"));
  const Tensor x = floats({2, 1, 1}, {1, 2}), w = floats({1, 1, 1}, {1}), none;
  for (const std::int64_t length : {-1, 3}) {
    const std::string wrong = "the length " + std::to_string(length) + " of sequence 0 is out of range for 2 steps";
    CHECK(has(error_of({"RNN", 14}, {x, w, w, none, longs({1}, {length})}), wrong));
    CHECK(has(error_of({"ReverseSequence", 10}, {floats({2, 1}, {1, 2}), longs({1}, {length})}), wrong));
  }
  const Tensor angles = floats({3, 1}, {1, 2, 3}), pair = floats({1, 1, 1, 2}, {1, 2});
  for (const std::int64_t position : {-1, 3})
    CHECK(has(error_of({"RotaryEmbedding", 23}, {pair, angles, angles, longs({1, 1}, {position})}),
              "the position " + std::to_string(position) + " is not one of 3, 0 to 2"));
}

TEST_CASE("a p of norms below 1, and both scales and sizes of Resize, are refused") {
  const Tensor image = floats({1, 1, 2, 2}, {1, 2, 3, 4});
  for (const std::int64_t p : {0, -1}) {
    const OneNode pool{"LpPool", 18, {{"kernel_shape", Ints{2, 2}}, integer("p", p)}};
    CHECK(has(error_of(pool, {image}), "lp_pool: p is " + std::to_string(p) + "; it must be finite and at least 1"));
    CHECK(has(error_of({"GlobalLpPool", 2, {integer("p", p)}}, {image}),
              "attribute 'p' is " + std::to_string(p) + "; it must be at least 1"));
  }
  const std::int64_t beyond_int = (std::int64_t{1} << 32) + 1;
  CHECK(has(error_of({"LpNormalization", 22, {integer("p", beyond_int)}}, {image}), "is 4294967297, not 1 or 2"));
  CHECK(has(error_of({"Celu", 12, {{"alpha", 0.0}}}, {kThree}), "celu: alpha is 0"));
  const Tensor scales = floats({4}, {1, 1, 2, 2}), sizes = longs({4}, {1, 1, 4, 4}), none;
  CHECK(has(error_of({"Resize", 18}, {image, none, scales, sizes}), "it has both scales and sizes; remove one"));
  CHECK(error_of({"Resize", 18}, {image, none, scales, longs({0}, {})}) == "");
  CHECK(error_of({"Resize", 18}, {image, none, floats({0}, {}), sizes}) == "");
}

TEST_CASE("numbers that are no sizes") {
  const Tensor huge = floats({}, {1e30F});
  CHECK(has(error_of({"OneHot", 11}, {longs({1}, {0}), huge, longs({2}, {0, 1})}), "is no number of elements"));
  CHECK(has(error_of({"HannWindow", 17}, {longs({}, {-2})}), "-2 times 1 elements"));
  CHECK(has(error_of({"HannWindow", 17}, {longs({}, {std::int64_t{1} << 60})}), "elements"));
  CHECK(has(error_of({"SpaceToDepth", 13, {integer("blocksize", std::int64_t{1} << 40)}}, {floats({1, 2, 0, 0}, {})}),
            "blocks do not fit"));
  CHECK(has(error_of({"SplitToSequence", 11}, {floats({1 << 20, 0}, {})}), "the limit is 16384 parts"));
}

}  // namespace ferry::test
