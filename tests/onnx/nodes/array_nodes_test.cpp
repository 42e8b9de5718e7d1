// Ops that move elements: slices, scattered writes, sizes that depend on data.
#include <doctest/doctest.h>

#include <limits>

#include "tests/onnx/nodes/one_node.hpp"
#include "tests/support/has.hpp"

namespace ferry::test {

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

TEST_CASE("bits as another dtype") {
  CHECK(OneNode{"BitCast", 26, {integer("to", 6)}}.text({floats({2}, {1, -2})}) == "[1065353216 -1073741824]");
  CHECK(OneNode{"BitCast", 26, {integer("to", 11)}}.text({longs({}, {std::int64_t{0x3FF8} << 48})}) == "1.5");
  Tensor bits(DType::uint8, {2});
  bits.mutable_data<std::uint8_t>()[1] = 1;
  CHECK(OneNode{"BitCast", 26, {integer("to", 9)}}.text({bits}) == "[false true]");
  CHECK(has(error_of({"BitCast", 26, {integer("to", 11)}}, {kSeven}), "the bits of float32 are no float64"));
}

}  // namespace ferry::test
