// Ensembles of trees, and other ops of ONNX-ML.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "tests/onnx/nodes/one_node.hpp"
#include "tests/support/has.hpp"

namespace ferry::test {

using onnx::Attribute;

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

}  // namespace ferry::test
