// Attributes and inputs that are rejected, and attributes of older operator sets.
#include <doctest/doctest.h>

#include "tests/onnx/nodes/one_node.hpp"
#include "tests/support/has.hpp"

namespace ferry::test {

TEST_CASE("ops as they were in older operator sets") {
  CHECK(OneNode{"TopK", 1, {integer("k", 2), integer("axis", 0)}, 2}.text({floats({3}, {1, 3, 2})}) == "[3 2]");
  CHECK(OneNode{"Hardmax", 11}.text({floats({1, 2, 2}, {1, 4, 4, 2})}) == "[[[0 1] [0 0]]]");
  CHECK(OneNode{"Hardmax", 13}.text({floats({1, 2, 2}, {1, 4, 4, 2})}) == "[[[0 1] [1 0]]]");
  CHECK(OneNode{"PRelu", 6}.text({floats({1, 2, 1, 2}, {-1, 1, -1, 1}), floats({2}, {3, 5})}) ==
        "[[[[-3 1]] [[-5 1]]]]");
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

TEST_CASE("more inputs or outputs than an op has are refused") {
  const Tensor x = longs({3}, {3, 1, 2}), one = longs({1}, {1}), image = floats({1, 1, 1, 1}, {2});
  CHECK(has(error_of({"Add", 14}, {kThree, kThree, kThree}),
            "node \"n\" (Add): it has 3 inputs, and Add of operator set 14 has at most 2; remove \"x2\""));
  CHECK(has(error_of({"Relu"}, {kThree, kThree}), "it has 2 inputs, and Relu of operator set 18 has at most 1"));
  CHECK(has(error_of({"MatMul"}, {kThree, kThree, kThree}), "has at most 2; remove \"x2\""));
  CHECK(has(error_of({"Conv"}, {image, image, floats({1}, {0}), image}), "has at most 3; remove \"x3\""));
  CHECK(has(error_of({"TopK", 9, {integer("k", 2)}, 2}, {floats({3}, {1, 3, 2}), one}),
            "it has 2 inputs, and TopK of operator set 9 has at most 1"));
  CHECK(has(error_of({"Upsample", 7, {{"scales", Floats{1, 1, 2, 2}}}}, {image, floats({4}, {1, 1, 3, 3})}),
            "it has 2 inputs, and Upsample of operator set 7 has at most 1"));
  CHECK(has(error_of({"ReduceSum", 11}, {x, longs({1}, {0})}), "has at most 1"));
  CHECK(OneNode{"ReduceSum", 13}.text({x, longs({1}, {0})}) == "[6]");
  CHECK(OneNode{"Sum"}.text({x, x, x, x}) == "[12 4 8]");
  CHECK(has(error_of({"TopK", 11, {}, 3}, {floats({3}, {1, 3, 2}), one}),
            "it has 3 outputs, and TopK of operator set 11 has at most 2; remove \"y2\""));
  CHECK(has(error_of({"Binarizer", 1, {}, 1, "ai.onnx.ml"}, {kThree, kThree}),
            "ai.onnx.ml.Binarizer of operator set 1 has at most 1"));
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

TEST_CASE("sizes that an attribute repeats must equal the sizes of the weights") {
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
