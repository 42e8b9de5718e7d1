// Elementwise ops and reductions, and the dtypes of outputs.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "ops/math/logic.hpp"
#include "tests/onnx/nodes/one_node.hpp"
#include "tests/support/has.hpp"

namespace ferry::test {

TEST_CASE("bits") {
  const Tensor a = longs({3}, {12, -1, 5}), b = longs({3}, {10, 7, 5});
  CHECK(OneNode{"BitwiseAnd"}.text({a, b}) == "[8 7 5]");
  CHECK(OneNode{"BitwiseOr"}.text({a, b}) == "[14 -1 5]");
  CHECK(OneNode{"BitwiseXor"}.text({a, b}) == "[6 -8 0]");
  CHECK(OneNode{"BitwiseNot"}.text({a}) == "[-13 0 -6]");
}

TEST_CASE("old bounds of Clip are finite by default") {
  const float infinity = std::numeric_limits<float>::infinity(), most = std::numeric_limits<float>::max();
  const Tensor x = floats({3}, {-infinity, 0.5F, infinity});
  const auto clip = [&](const std::vector<onnx::Attribute>& bounds) { return OneNode{"Clip", 6, bounds}.run({x})[0]; };
  CHECK(clip({}).number(0) == -most);
  CHECK(clip({}).number(2) == most);
  CHECK(clip({{"min", 0.0}}).number(2) == most);
  CHECK(clip({{"max", 0.0}}).number(0) == -most);
  CHECK(clip({{"max", 0.0}}).number(1) == 0);
  CHECK(OneNode{"Clip", 11}.run({x})[0].number(2) == infinity);
  const Tensor half = Tensor::of<Float16>({1}, {Float16(infinity)});  // float16 has no number as large as the bound
  CHECK(OneNode{"Clip", 6}.run({half})[0].number(0) == infinity);
  CHECK(OneNode{"Clip", 6, {{"max", 2.0}}}.run({half})[0].number(0) == 2);
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

}  // namespace ferry::test
