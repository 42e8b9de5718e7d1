// Sizes that are known when planning: symbolic dims, numbers that are given for them, one import for all sizes.
#include <doctest/doctest.h>

#include <cstdint>

#include "tests/onnx/models.hpp"
#include "tests/support/throws.hpp"

using namespace ferry;
using namespace ferry::test;

TEST_CASE("a symbolic dim stays symbolic through shapes of 0 and -1") {
  const auto shape_of = [](std::vector<std::int64_t> sizes) {
    const auto count = static_cast<std::int64_t>(sizes.size());
    const auto graph = import(model_of(kX + kY + initializer("s", {count}, sizes) + node("y", "Reshape", "x, s")));
    return graph->type(last(*graph).output(0)).shape.str();
  };
  CHECK(shape_of({-1, 2, 3}) == "[batch,2,3]");
  CHECK(shape_of({0, 2, 3}) == "[batch,2,3]");
  CHECK(shape_of({0, -1, 2}) == "[batch,3,2]");
  CHECK(shape_of({0, -1}) == "[batch,6]");
}

TEST_CASE("sizes of a known shape are computed while importing") {
  const std::string text = kX + kY + initializer("zero", {}, {0}) + initializer("rest", {1}, {-1}) +
                           initializer("axis", {1}, {0}) + node("s", "Shape", "x") + node("b", "Gather", "s, zero") +
                           node("u", "Unsqueeze", "b, axis") +
                           node("t", "Concat", "u, rest", attribute("axis", "i: 0", "INT")) +
                           node("f", "Cast", "t", attribute("to", "i: 7", "INT")) + node("y", "Reshape", "x, f");
  onnx::ImportOptions with = options();
  with.dims["batch"] = 4;
  const auto graph = import(model_of(text), with);
  CHECK(graph->size() == 2);  // the input and the reshape
  CHECK(graph->type(last(*graph).output(0)).str() == "float32[4,6]");

  const auto symbolic = import(model_of(text));
  CHECK(symbolic->type(last(*symbolic).output(0)).str() == "float32[batch,6]");
}

TEST_CASE("a size that must be known is named") {
  const Error error = error_of([&] {
    static_cast<void>(import(model_of(kX + kY + initializer("zero", {}, {0}) + node("s", "Shape", "x") +
                                      node("b", "Gather", "s, zero") + node("y", "OneHot", "s, b, s"))));
  });
  CHECK(error.code() == Code::usage);
  CHECK(says(error, "input \"b\" must be known when the model is imported; it is computed from the sizes [batch,6]"));
  CHECK(says(error, "try: --dim batch=4"));
}

TEST_CASE("what to type for a size that must be known names the dims that it comes from") {
  const auto hint = [](const std::string& inputs, const std::string& nodes) {
    const Error error = error_of([&] { static_cast<void>(import(model_of(inputs + kY + nodes))); });
    CHECK(error.code() == Code::usage);
    const std::size_t at = error.text().find("try: ");
    return at == std::string::npos ? error.text() : error.text().substr(at + 5);
  };
  const std::string image = value("input", "x", "float32", {"n", "1", "h", "w"});
  const std::string more = attribute("ceil_mode", "i: 1", "INT"),
                    pool = attribute("kernel_shape", "ints: 2 ints: 2", "INTS") +
                           attribute("strides", "ints: 2 ints: 2", "INTS") + more;
  CHECK(hint(image, node("y", "MaxPool", "x", pool)) == "--dim h=4 --dim w=4, or give the sizes of the inputs");
  CHECK(hint(image + initializer("s", {2}, {8, 8}),
             node("t", "Slice", "x, a, b, c") + initializer("a", {2}, {1, 1}) + initializer("b", {2}, {9, 9}) +
                 initializer("c", {2}, {2, 3}) +
                 node("y", "Resize", "t,,, s", attribute("axes", "ints: 2 ints: 3", "INTS"))) ==
        "--dim h=4 --dim w=4, or give the sizes of the inputs");
  CHECK(hint(image + value("input", "g", "float32", {"n", "2", "2", "2"}), node("y", "GridSample", "x, g")) ==
        "--dim h=4 --dim n=4 --dim w=4, or give the sizes of the inputs");
  CHECK(
      hint(value("input", "x", "float32", {"n", "1", "h", "w"}) + value("input", "g", "float32", {"n", "a", "b", "c"}),
           node("y", "GridSample", "x, g")) ==
      "--dim a=4 --dim b=4 --dim c=4 --dim h=4 --dim n=4 --dim w=4, or give the "
      "sizes of the inputs");
  CHECK(hint(value("input", "x", "float32", {"n", "t", "d"}) + initializer("heads", {4}, {0, 0, 3, -1}),
             node("y", "Reshape", "x, heads")) == "--dim d=4 --dim t=4, or give the sizes of the inputs");
  CHECK(hint(value("input", "x", "float32", {"n", "t", "d"}) + initializer("first", {1}, {0}) +
                 initializer("rest", {3}, {4, 3, -1}),
             node("s", "Shape", "x") + node("n", "Gather", "s, first") +
                 node("heads", "Concat", "n, rest", attribute("axis", "i: 0", "INT")) +
                 node("y", "Reshape", "x, heads")) == "--dim n=4, or give the sizes of the inputs");
  CHECK(hint(value("input", "x", "float32", {"n", "d"}) + value("input", "z", "float32", {"m", "d"}) +
                 initializer("first", {1}, {0}),
             node("sx", "Shape", "x") + node("n", "Gather", "sx, first") + node("sz", "Shape", "z") +
                 node("m", "Gather", "sz, first") + node("sum", "Add", "n, m") + node("y", "ConstantOfShape", "sum")) ==
        "--dim m=4 --dim n=4, or give the sizes of the inputs");
  CHECK(hint("input { name: 'x' type { tensor_type { elem_type: 1 shape { dim { dim_value: 1 } dim { dim_value: 3 } "
             "dim { } } } } } ",
             node("y", "MaxPool", "x",
                  attribute("kernel_shape", "ints: 2", "INTS") + attribute("strides", "ints: 2", "INTS") + more)) ==
        "--shape x=1,3,4, or give the sizes of the inputs");
}

/// A model of x [batch,words] and z [batch,6] is imported without sizes, and runs for inputs of several sizes.
TEST_CASE("a model is imported for all sizes of its inputs") {
  const std::string inputs = value("input", "x", "float32", {"batch", "words"}) +
                             value("input", "z", "float32", {"batch", "6"}) + kY + initializer("zero", {}, {0}) +
                             initializer("one", {}, {1}) + initializer("first", {1}, {0}) +
                             initializer("second", {1}, {1}) + initializer("rest", {1}, {-1}) +
                             node("s", "Shape", "x") + node("b", "Gather", "s, zero") + node("w", "Gather", "s, one") +
                             node("batch", "Unsqueeze", "b, first") + node("words", "Unsqueeze", "w, first");
  const auto axis = [](int number) { return attribute("axis", "i: " + std::to_string(number), "INT"); };
  const auto run = [&](const std::string& nodes, std::int64_t batch, std::int64_t words) {
    const auto graph = import(model_of(inputs + nodes));
    const Value y = graph->value(graph->entry("predict").fetches[0].value);
    const Tensor result = Evaluator(*graph).run({y}, {{"x", counting({batch, words})}, {"z", counting({batch, 6})}})[0];
    return result.type().str() + " " + result.str();
  };
  const std::string flat = node("t", "Concat", "batch, rest", axis(0)) + node("y", "Reshape", "z, t");
  CHECK(run(flat, 1, 2) == "float32[1,6] [[0 1 2 3 4 5]]");
  const std::string pairs = initializer("two", {1}, {2}) + node("t", "Concat", "batch, rest, two", axis(0)) +
                            node("r", "Reshape", "z, t") + node("n", "Gather", "r, zero", axis(2)) +
                            node("y", "Gather", "n, one", axis(1));
  CHECK(run(pairs, 2, 1) == "float32[2] [2 8]");
  const std::string wide = initializer("two", {1}, {2}) + initializer("twice", {3}, {1, 1, 2}) +
                           node("l", "Concat", "batch, words, two", axis(0)) + node("c", "Unsqueeze", "x, two") +
                           node("t", "Tile", "c, twice") + node("y", "Reshape", "t, l");
  CHECK(run(wide, 1, 2) == "float32[1,2,2] [[[0 0] [1 1]]]");
  const std::string two = initializer("flat", {2}, {-1, 1}) + node("f", "Reshape", "x, flat") +
                          node("l", "Concat", "batch, words", axis(0)) + node("y", "Reshape", "f, l");
  CHECK(run(two, 2, 3) == "float32[2,3] [[0 1 2] [3 4 5]]");
  CHECK(run(two, 3, 1) == "float32[3,1] [[0] [1] [2]]");
  const std::string filled = node("l", "Concat", "words, batch", axis(0)) + node("y", "ConstantOfShape", "l");
  CHECK(run(filled, 1, 2) == "float32[2,1] [[0] [0]]");
  const std::string spread = node("l", "Concat", "batch, words", axis(0)) + node("y", "Expand", "one, l");
  CHECK(run(spread, 1, 3) == "int64[1,3] [[1 1 1]]");
  const std::string places =
      initializer("all", {1, 5}, {9, 8, 7, 6, 5}) + node("y", "Slice", "all, first, words, second");
  CHECK(run(places, 1, 2) == "int64[1,2] [[9 8]]");
  CHECK(run(node("y", "Range", "zero, w, one"), 1, 4) == "int64[4] [0 1 2 3]");
}

TEST_CASE("several symbolic dims are grouped into one") {
  const auto run = [](const std::string& nodes, const std::vector<std::int64_t>& sizes,
                      const std::vector<std::string>& dims) {
    const auto graph = import(model_of(value("input", "x", "float32", dims) + kY + nodes));
    const Value y = graph->value(graph->entry("predict").fetches[0].value);
    const Tensor x = counting(sizes);
    const Tensor result = Evaluator(*graph).run({y}, {{"x", x}})[0];
    for (std::int64_t i = 0; i < x.count(); ++i) CHECK(result.number(i) == x.number(i));
    return result.type().str();
  };
  const auto flatten = [](int axis) {
    return node("y", "Flatten", "x", attribute("axis", "i: " + std::to_string(axis), "INT"));
  };
  const auto reshape = [](std::vector<std::int64_t> to) {
    return initializer("t", {static_cast<std::int64_t>(to.size())}, to) + node("y", "Reshape", "x, t");
  };
  CHECK(run(flatten(1), {2, 3, 5}, {"N", "3", "M"}) == "float32[2,15]");
  CHECK(run(flatten(2), {2, 3, 5}, {"N", "3", "M"}) == "float32[6,5]");
  CHECK(run(flatten(2), {2, 4, 5}, {"N", "K", "M"}) == "float32[8,5]");
  CHECK(run(flatten(1), {2, 2}, {"N", "N"}) == "float32[2,2]");
  CHECK(run(reshape({0, -1}), {2, 3, 5}, {"N", "3", "M"}) == "float32[2,15]");
  CHECK(run(reshape({-1, 0}), {2, 3, 4}, {"N", "K", "M"}) == "float32[8,3]");
  CHECK(run(reshape({0, 0, -1}), {2, 3, 4}, {"N", "K", "4"}) == "float32[2,3,4]");
  CHECK(run(reshape({0, 0, 2, 2}), {2, 3, 4}, {"N", "K", "4"}) == "float32[2,3,2,2]");
}

TEST_CASE("a dim of no known size in a group is named") {
  const auto error_with = [](const std::string& dims, const std::string& nodes) {
    return error_of([&] {
      static_cast<void>(import(model_of("input { name: 'x' type { tensor_type { elem_type: 1 shape { " + dims +
                                        "} } } } " + kY + initializer("t", {4}, {0, 0, 2, -1}) + nodes)));
    });
  };
  const Error open = error_with("dim { } dim { dim_value: 3 } dim { } ", node("y", "Flatten", "x"));
  CHECK(says(open, "(Flatten): dim 0 of \"x\" [?,3,?] must be known when the model is imported"));
  const Error odd =
      error_with("dim { dim_param: 'N' } dim { dim_value: 3 } dim { dim_param: 'M' } ", node("y", "Reshape", "x, t"));
  CHECK(says(odd, "(Reshape): the size that is -1 cannot be told from [N,3,M]"));
  CHECK(says(odd, "try: --dim M=4"));
}

TEST_CASE("sizes that are given must fit the model's") {
  onnx::ImportOptions with = options();
  with.sizes["x"] = {2, 5};
  const Error error = error_of([&] { static_cast<void>(import(model_of(kX + kY + node("y", "Relu", "x")), with)); });
  CHECK(error.code() == Code::usage);
  CHECK(says(error, "input \"x\" is [batch,6] in the model, and is given as [2,5]"));
}

TEST_CASE("inputs that share a dim must be given one size for it") {
  const std::string file =
      model_of(kX + value("input", "w", "float32", {"batch", "1"}) + kY + node("y", "Sub", "x, w"));
  onnx::ImportOptions with = options();
  with.sizes = {{"x", {3, 6}}, {"w", {1, 1}}};
  const Error error = error_of([&] { static_cast<void>(import(file, with)); });
  CHECK(error.code() == Code::usage);
  CHECK(says(error, "batch is 3 in input \"x\" [batch,6] as it is given, and 1 in input \"w\" [batch,1]"));
  with.sizes["w"] = {3, 1};
  CHECK_NOTHROW(static_cast<void>(import(file, with)));
}

TEST_CASE("dims named ? need not be equal") {
  const std::string file = model_of(value("input", "x", "float32", {"?", "?"}) + kY + node("y", "Relu", "x"));
  onnx::ImportOptions with = options();
  with.sizes["x"] = {2, 3};
  CHECK_NOTHROW(static_cast<void>(import(file, with)));
}

TEST_CASE("a number for a dim must be of a dim that there is, and fit the sizes that are given") {
  const std::string file = model_of(kX + value("input", "z", "float32", {"rows", "6"}) + kY + node("y", "Add", "x, z"));
  onnx::ImportOptions with = options();
  with.dims["bach"] = 4;
  const Error unknown = error_of([&] { static_cast<void>(import(file, with)); });
  CHECK(unknown.code() == Code::usage);
  CHECK(says(unknown, "--dim bach=4: no input has a dim of that name; there are \"batch\", \"rows\""));

  with = options();
  with.dims["batch"] = 4;
  with.sizes["x"] = {2, 6};
  const Error other = error_of([&] { static_cast<void>(import(file, with)); });
  CHECK(other.code() == Code::usage);
  CHECK(says(other, "--dim batch=4: input \"x\" [batch,6] is given with 2"));
  with.sizes["x"] = {4, 6};
  with.dims["rows"] = 4;
  CHECK(import(file, with)->type(last(*import(file, with)).output(0)).str() == "float32[4,6]");
}
