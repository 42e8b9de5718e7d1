// What import makes of a model: names, shapes, what is folded, functions, branches, loops.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "tests/onnx/models.hpp"
#include "tests/support/throws.hpp"

using namespace ferry;
using namespace ferry::test;

namespace {

const std::string kX = value("input", "x", "float32", {"batch", "6"});
const std::string kY = value("output", "y", "float32", {});

Tensor counting(std::vector<std::int64_t> sizes) {
  Tensor tensor(DType::float32, std::move(sizes));
  float next = 0;
  for (float& element : tensor.mutable_data<float>()) element = next++;
  return tensor;
}

std::unique_ptr<Graph> import(const std::string& file, onnx::ImportOptions with = options()) {
  return onnx::import_model(decode(file), with).graph;
}

/// The op that makes output y.
Op last(const Graph& graph) {
  return graph.op(graph.producer(graph.entries().at("predict").fetches[0].value));
}

}  // namespace

TEST_CASE("ops have the names of their values, and the number of the node as line") {
  const auto graph = import(model_of(kX + kY + node("enc/h", "Relu", "x") + node("y", "Elu", "enc/h")));
  REQUIRE(graph->find("enc/h"));
  CHECK(graph->op(*graph->find("enc/h")).def().name == "Relu");
  CHECK(graph->op(*graph->find("enc/h")).line().str() == "m.onnx:1");
  CHECK(last(*graph).name() == "y");
  CHECK(graph->find("y/exp"));
  CHECK(graph->find("x"));
  const Entry& entry = graph->entries().at("predict");
  CHECK(entry.feeds[0].name == "x");
  CHECK(entry.fetches[0].name == "y");
}

TEST_CASE("what cannot be computed while importing is told with the number of its node") {
  const std::string file = model_of(kX + kY + initializer("a", {2}, {1, 2}) + initializer("b", {3}, {1, 2, 3}) +
                                    node("t", "Relu", "x") + node("y", "Add", "a, b"));
  const Error error = error_of([&] { static_cast<void>(import(file)); });
  CHECK(error.text().find("at m.onnx:2") != std::string::npos);
  CHECK_MESSAGE(error.text().find(".cpp") == std::string::npos, error.text());
}

TEST_CASE("an input that is an output, and one that nobody uses") {
  const std::string file = model_of(kX + value("input", "z", "float32", {"2"}) + value("output", "x", "float32", {}));
  CHECK(run_model(file, {{"x", counting({1, 6})}})[0].str() == "[[0 1 2 3 4 5]]");
}

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

/// A model of x [batch,words] and z [batch,6], imported without sizes, for inputs of several.
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

TEST_CASE("a range of integers, and what an integer is padded with, are exact beyond 2^53") {
  const std::string y = value("output", "y", "int64", {});
  const auto range = [&](std::int64_t from, std::int64_t to, std::int64_t step) {
    return run_model(model_of(y + initializer("from", {}, {from}) + initializer("to", {}, {to}) +
                              initializer("step", {}, {step}) + node("y", "Range", "from, to, step")),
                     {})[0]
        .str();
  };
  constexpr std::int64_t kOdd = (std::int64_t{1} << 53) + 1, kMost = std::numeric_limits<std::int64_t>::max();
  CHECK(range(kOdd, kOdd + 3, 2) == "[9007199254740993 9007199254740995]");
  CHECK(range(kMost, kMost - 3, -2) == "[9223372036854775807 9223372036854775805]");
  CHECK(range(5, 5, 1) == "[]");
  CHECK(range(5, 4, 1) == "[]");
  const auto padded = [&](std::int64_t number) {
    return model_of(y + initializer("x", {1}, {7}) + initializer("pads", {2}, {0, 1}) +
                    initializer("number", {}, {number}) + node("y", "Pad", "x, pads, number"));
  };
  CHECK(run_model(padded(std::numeric_limits<std::int64_t>::min()), {})[0].str() == "[7 -9223372036854775808]");
  CHECK(says(error_of([&] { static_cast<void>(import(padded(kOdd))); }), "9007199254740993 has more bits"));
}

TEST_CASE("sizes that are given must fit the model's") {
  onnx::ImportOptions with = options();
  with.sizes["x"] = {2, 5};
  const Error error = error_of([&] { static_cast<void>(import(model_of(kX + kY + node("y", "Relu", "x")), with)); });
  CHECK(error.code() == Code::usage);
  CHECK(says(error, "input \"x\" is [batch,6] in the model, and is given as [2,5]"));
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

TEST_CASE("a constant cast to the dtype of an input is known") {
  const std::string nothing = "initializer { name: 'c' data_type: 7 dims: 1 int64_data: 7 } ";
  const std::string file = model_of(kX + kY + nothing + initializer("pads", {4}, {0, 0, 0, 1}) +
                                    node("l", "CastLike", "c, x") + node("y", "Pad", "x, pads, l"));
  CHECK(run_model(file, {{"x", counting({1, 6})}})[0].number(6) == 7);
}

TEST_CASE("an input that decides a shape is taken by value") {
  const std::string file = model_of(kX + kY + value("input", "s", "int64", {"2"}) + node("n", "Neg", "s") +
                                    node("t", "Neg", "n") + node("y", "Reshape", "x, t"));
  onnx::ImportOptions with = options();
  with.values["s"] = Tensor::of<std::int64_t>({2}, {3, 2});
  with.sizes["x"] = {1, 6};
  const onnx::Imported imported = onnx::import_model(decode(file), with);
  CHECK(imported.by_value == std::vector<std::string>{"s"});
  CHECK(imported.graph->type(last(*imported.graph).output(0)).str() == "float32[3,2]");
  CHECK(imported.graph->entries().at("predict").feeds.size() == 1);

  const Error error = error_of([&] { static_cast<void>(import(file)); });
  CHECK(error.code() == Code::usage);
  CHECK(says(error,
             "input \"t\" must be known when the model is imported; it is computed from the values of input \"s\""));
  CHECK(says(error, "--feed s=FILE.npy"));
}

TEST_CASE("an initializer is the default of an input of its name") {
  const std::string file = model_of(kX + value("input", "w", "int64", {"2"}) + initializer("w", {2}, {6, -1}) + kY +
                                    node("y", "Reshape", "x, w"));
  CHECK(decode(file).feeds().size() == 1);
  CHECK(run_model(file, {{"x", counting({2, 6})}})[0].type().str() == "float32[6,2]");
}

TEST_CASE("a function's attributes are those of its call, or its defaults") {
  const std::string functions =
      "opset_import { domain: 'mine' version: 1 } functions { name: 'Scaled' domain: 'mine' input: 'a' input: 'unused' "
      "output: 'c' attribute: 'to' attribute_proto { name: 'alpha' f: 3 type: FLOAT } opset_import { version: 18 } " +
      node("b", "Elu", "a", "attribute { name: 'alpha' ref_attr_name: 'alpha' type: FLOAT } ") +
      node("c", "Cast", "b", "attribute { name: 'to' ref_attr_name: 'to' type: INT } ") + " }";
  const auto with = [&](const std::string& given) {
    const std::string call = node("y", "Scaled", "x", "domain: 'mine' " + attribute("to", "i: 11", "INT") + given);
    return run_model(model_of(value("input", "x", "float32", {"1"}) + kY + call, functions),
                     {{"x", Tensor::of<float>({1}, {-100})}})[0];
  };
  CHECK(with("").type().str() == "float64[1]");
  CHECK(with("").number(0) == -3);
  CHECK(with(attribute("alpha", "f: 0.5", "FLOAT")).number(0) == -0.5);
  CHECK(says(error_of([&] { static_cast<void>(with(attribute("beta", "f: 0.5", "FLOAT"))); }),
             "attribute \"beta\" is not known of the function Scaled; known are \"to\", \"alpha\""));
}

TEST_CASE("a branch on a constant is taken while importing, another when it runs") {
  const auto branch = [](const std::string& op) { return value("output", "r", "float32", {}) + node("r", op, "x"); };
  const std::string choice = attribute("then_branch", "g { " + branch("Neg") + " }", "GRAPH") +
                             attribute("else_branch", "g { " + branch("Relu") + " }", "GRAPH");
  const std::string x = value("input", "x", "float32", {"2"});
  const auto fixed =
      import(model_of(x + kY + "initializer { name: 'p' data_type: 9 int32_data: 1 } " + node("y", "If", "p", choice)));
  CHECK(last(*fixed).def().name == "Neg");
  const std::string file = model_of(x + value("input", "p", "bool", {}) + kY + node("y", "If", "p", choice));
  const Tensor values = Tensor::of<float>({2}, {-1, 1});
  CHECK(run_model(file, {{"x", values}, {"p", Tensor::scalar(true)}})[0].str() == "[1 -1]");
  CHECK(run_model(file, {{"x", values}, {"p", Tensor::scalar(false)}})[0].str() == "[0 1]");
}

TEST_CASE("a branch that does not fit the shapes is left out when the predicate can be known") {
  const auto branch = [](const std::string& perm) {
    return value("output", "r", "float32", {}) + node("r", "Transpose", "x", attribute("perm", perm, "INTS"));
  };
  const std::string file =
      model_of(value("input", "x", "float32", {"2", "1"}) + value("input", "p", "bool", {}) + kY +
               node("y", "If", "p",
                    attribute("then_branch", "g { " + branch("ints: 1 ints: 0") + " }", "GRAPH") +
                        attribute("else_branch", "g { " + branch("ints: 2 ints: 1 ints: 0") + " }", "GRAPH")));
  const Tensor x = Tensor::of<float>({2, 1}, {-1, 1});
  CHECK(run_model(file, {{"x", x}, {"p", Tensor::scalar(true)}})[0].str() == "[[-1 1]]");
  CHECK(says(error_of([&] {
               static_cast<void>(run_model(file, {{"x", x}, {"p", Tensor::scalar(false)}}));
             }),
             "axis 2 is out of range"));
  CHECK(says(error_of([&] { import(file); }), "axis 2 is out of range"));
}

TEST_CASE("a loop that carries values becomes a loop") {
  const std::string body =
      value("input", "i", "int64", {}) + value("input", "c", "bool", {}) + value("input", "v", "float32", {"2"}) +
      value("output", "more", "bool", {}) + value("output", "w", "float32", {"2"}) + node("w", "Add", "v, x") +
      node("most", "ReduceMax", "w", attribute("keepdims", "i: 0", "INT")) +
      "initializer { name: 'ten' data_type: 1 float_data: 10 } " + node("more", "Less", "most, ten");
  const std::string file = model_of(value("input", "x", "float32", {"2"}) + value("input", "n", "int64", {}) + kY +
                                    node("y", "Loop", "n,, x", attribute("body", "g { " + body + " }", "GRAPH")));
  const Tensor x = Tensor::of<float>({2}, {1, 3});
  onnx::ImportOptions with = options();
  CHECK(run_model(file, {{"x", x}, {"n", Tensor::scalar<std::int64_t>(2)}}, with)[0].str() == "[3 9]");
  CHECK(run_model(file, {{"x", x}, {"n", Tensor::scalar<std::int64_t>(99)}}, with)[0].str() == "[4 12]");
}

TEST_CASE("a loop that gives something in each iteration is written out") {
  const std::string body = value("input", "i", "int64", {}) + value("input", "c", "bool", {}) +
                           value("input", "v", "float32", {"2"}) + value("output", "c", "bool", {}) +
                           value("output", "w", "float32", {"2"}) + value("output", "w2", "float32", {"2"}) +
                           node("w", "Add", "v, x") + node("w2", "Identity", "w");
  const std::string file = model_of(value("input", "x", "float32", {"2"}) + value("input", "n", "int64", {}) + kY +
                                    value("output", "all", "float32", {}) +
                                    node("y, all", "Loop", "n,, x", attribute("body", "g { " + body + " }", "GRAPH")));
  const auto run = [&](std::int64_t times) {
    return run_model(file, {{"x", Tensor::of<float>({2}, {1, 3})}, {"n", Tensor::scalar(times)}});
  };
  CHECK(run(2)[0].str() == "[3 9]");
  CHECK(run(2)[1].str() == "[[2 6] [3 9]]");
  CHECK(run(0)[0].str() == "[1 3]");
  CHECK(run(0)[1].type().str() == "float32[0,2]");
  CHECK(run(-3)[1].type().str() == "float32[0,2]");
  CHECK(says(error_of([&] { run(1'000'000'000); }), "its body would be written out 1000000000 times"));
}

TEST_CASE("a loop whose condition is false from the beginning gives nothing") {
  const std::string body = value("input", "i", "int64", {}) + value("input", "c", "bool", {}) +
                           value("input", "v", "float32", {"2"}) + value("output", "more", "bool", {}) +
                           value("output", "w", "float32", {"2"}) + value("output", "w2", "float32", {"2", "1"}) +
                           "initializer { name: 'last' dims: 1 data_type: 7 int64_data: 1 } " +
                           node("w", "Add", "v, x") + node("w2", "Unsqueeze", "w, last") + node("n", "ReduceMax", "w") +
                           node("flat", "Squeeze", "n") + node("more", "Cast", "flat", attribute("to", "i: 9", "INT"));
  const auto file = [&](const std::string& goes_on, const std::string& rest) {
    return model_of(value("input", "x", "float32", {"2"}) + kY + value("output", "all", "float32", {}) + rest +
                    node("y, all", "Loop", ", " + goes_on + ", x", attribute("body", "g { " + body + " }", "GRAPH")));
  };
  const Tensor x = Tensor::of<float>({2}, {1, 3});
  const std::string constant = "initializer { name: 'no' data_type: 9 int32_data: 0 } ";
  const std::vector<Tensor> none = run_model(file("no", constant), {{"x", x}});
  CHECK(none[0].str() == "[1 3]");
  CHECK(none[1].type().str() == "float32[0,2,1]");
}

TEST_CASE("an initializer that is an input is what is fed, or what it is") {
  const std::string inputs = value("input", "x", "float32", {"2"}) + value("input", "d", "int64", {"1"}) + kY +
                             initializer("d", {1}, {2}) + node("f", "Cast", "d", attribute("to", "i: 1", "INT")) +
                             node("y", "Mul", "x, f");
  const Tensor x = Tensor::of<float>({2}, {1, 3});
  CHECK(run_model(model_of(inputs), {{"x", x}})[0].str() == "[2 6]");
  const Tensor five = Tensor::of<std::int64_t>({1}, {5}), two = Tensor::of<std::int64_t>({2}, {5, 5});
  CHECK(run_model(model_of(inputs), {{"x", x}, {"d", five}})[0].str() == "[5 15]");
  CHECK(says(error_of([&] {
               static_cast<void>(run_model(model_of(inputs), {{"x", x}, {"d", two}}));
             }),
             "\"d\" is [1] in the model, and is given as [2]"));
  onnx::Model old = decode(model_of(inputs));
  CHECK(old.defaulted().size() == 1);
  old.ir_version = 3;
  CHECK(old.defaulted().empty());
  // It is taken by value where it decides a shape.
  const std::string shape = value("input", "x", "float32", {"2"}) + value("input", "d", "int64", {"1"}) + kY +
                            initializer("d", {1}, {1}) + node("y", "Tile", "x, d");
  CHECK(run_model(model_of(shape), {{"x", x}})[0].str() == "[1 3]");
  CHECK(run_model(model_of(shape), {{"x", x}, {"d", Tensor::of<std::int64_t>({1}, {2})}})[0].str() == "[1 3 1 3]");
}

TEST_CASE("a loop that its body ends gives something in each iteration") {
  const std::string body =
      value("input", "i", "int64", {}) + value("input", "c", "bool", {}) + value("input", "v", "float32", {"2"}) +
      value("output", "more", "bool", {}) + value("output", "w", "float32", {"2"}) +
      value("output", "w2", "float32", {"2"}) + node("w", "Add", "v, x") + node("w2", "Neg", "w") +
      node("most", "ReduceMax", "w", attribute("keepdims", "i: 0", "INT")) +
      "initializer { name: 'ten' data_type: 1 float_data: 10 } " + node("more", "Less", "most, ten");
  const auto file = [&](const std::string& times, const std::vector<std::string>& all) {
    return model_of(value("input", "x", "float32", {"2"}) + kY + value("output", "all", "float32", all) +
                    initializer("n", {}, {INT64_MAX}) + initializer("five", {}, {5}) +
                    node("y, all", "Loop", times + ",, x", attribute("body", "g { " + body + " }", "GRAPH")));
  };
  const auto run = [](const std::string& model, float step, onnx::ImportOptions with = options()) {
    const std::unique_ptr<Graph> graph = onnx::import_model(decode(model), with).graph;  // for all values of x
    Values fetches;
    for (const auto& fetch : graph->entry("predict").fetches) fetches.push_back(graph->value(fetch.value));
    return Evaluator(*graph).run(fetches, {{"x", Tensor::of<float>({2}, {1, step})}})[1].str();
  };
  CHECK(run(file("five", {}), 3) == "[[-2 -6] [-3 -9] [-4 -12]]");
  CHECK(run(file("five", {}), 6) == "[[-2 -12]]");
  CHECK(run(file("five", {}), -1) == "[[-2 2] [-3 3] [-4 4] [-5 5] [-6 6]]");
  for (const char* endless : {"n", ""}) {
    const std::string model = file(endless, {"rounds", "2"});
    CHECK(says(error_of([&] { static_cast<void>(run(model, 3)); }), "nothing bounds their number"));
    onnx::ImportOptions with = options();
    with.dims["rounds"] = 7;
    CHECK(run(model, 3, with) == "[[-2 -6] [-3 -9] [-4 -12]]");
    with.dims = {{"all", 3}};
    CHECK(run(model, 6, with) == "[[-2 -12]]");
    CHECK(error_of([&] { static_cast<void>(run(model, 0, with)); }).code() == Code::program);
    with.dims = {{"turns", 3}};
    CHECK(says(error_of([&] { static_cast<void>(run(model, 3, with)); }), "--dim turns=3: no input has a dim of that"));
  }
}

namespace {

/// What a model gives that is imported without what is fed to it.
std::vector<Tensor> run_for_all(const std::string& model, const Evaluator::Feeds& feeds) {
  const std::unique_ptr<Graph> graph = import(model);
  Values fetches;
  for (const auto& fetch : graph->entry("predict").fetches) fetches.push_back(graph->value(fetch.value));
  return Evaluator(*graph).run(fetches, feeds);
}

std::string body_of(const std::string& text) {
  return attribute("body", "g { " + text + " }", "GRAPH");
}

/// Of a body that carries `v`, and gives `w` and what `rest` says.
std::string carries(const std::string& v, const std::string& w, const std::string& rest) {
  return value("input", "i_" + v, "int64", {}) + value("input", "c_" + v, "bool", {}) +
         value("input", v, "float32", {"2"}) + value("output", "more_" + v, "bool", {}) +
         value("output", w, "float32", {"2"}) + rest;
}

const std::string kTen = "initializer { name: 'ten' data_type: 1 float_data: 10 } ";

/// Whether the greatest of `w` is below 10 is the condition of the body that carries `v`.
std::string until_ten(const std::string& v, const std::string& w) {
  return node("most_" + v, "ReduceMax", w, attribute("keepdims", "i: 0", "INT")) +
         node("more_" + v, "Less", "most_" + v + ", ten");
}

std::string goes_on(const std::string& v) {
  return node("more_" + v, "Identity", "c_" + v);
}

}  // namespace

TEST_CASE("a loop within a loop uses what both carry") {
  // u: twice u + v, from v on; then w = u + x. So v becomes 3 v + x.
  const std::string inner = carries("u", "u2", goes_on("u") + node("u2", "Add", "u, v"));
  const std::string outer =
      carries("v", "w", goes_on("v") + node("end", "Loop", "m,, v", body_of(inner)) + node("w", "Add", "end, x"));
  const std::string model =
      model_of(value("input", "x", "float32", {"2"}) + value("input", "n", "int64", {}) +
               value("input", "m", "int64", {}) + kY + node("y", "Loop", "n,, x", body_of(outer)));
  const auto run = [&](std::int64_t n, std::int64_t m) {
    return run_for_all(model, {{"x", Tensor::of<float>({2}, {1, 3})},
                               {"n", Tensor::scalar<std::int64_t>(n)},
                               {"m", Tensor::scalar<std::int64_t>(m)}})[0]
        .str();
  };
  CHECK(run(2, 2) == "[13 39]");
  CHECK(run(1, 3) == "[5 15]");
  CHECK(run(2, 0) == "[3 9]");
  CHECK(run(0, 2) == "[1 3]");
}

TEST_CASE("loops within a loop give something in each iteration") {
  // As above; the inner loop ends where an element is 10, and gives each u: their sum is given by the outer loop.
  const std::string sum = node("s", "ReduceSum", "each, first", attribute("keepdims", "i: 0", "INT"));
  const auto model = [&](const std::string& times, const std::string& inner_end, const std::string& outer_end) {
    const std::string inner = carries(
        "u", "u2",
        value("output", "u3", "float32", {"2"}) + node("u2", "Add", "u, v") + node("u3", "Identity", "u2") + inner_end);
    const std::string outer =
        carries("v", "w",
                value("output", "s", "float32", {"2"}) + node("end, each", "Loop", "two,, v", body_of(inner)) + sum +
                    node("w", "Add", "end, x") + outer_end);
    return model_of(value("input", "x", "float32", {"2"}) + kY + value("output", "all", "float32", {}) +
                    initializer("two", {}, {2}) + initializer("three", {}, {3}) + initializer("first", {1}, {0}) +
                    kTen + node("y, all", "Loop", times + ",, x", body_of(outer)));
  };
  const auto run = [](const std::string& file) {
    const std::vector<Tensor> results = run_for_all(file, {{"x", Tensor::of<float>({2}, {1, 2})}});
    return results[0].str() + " " + results[1].str();
  };
  CHECK(run(model("two", goes_on("u"), goes_on("v"))) == "[13 26] [[5 10] [20 40]]");
  CHECK(run(model("two", until_ten("u", "u2"), goes_on("v"))) == "[9 18] [[5 10] [8 16]]");
  CHECK(run(model("three", goes_on("u"), until_ten("v", "w"))) == "[13 26] [[5 10] [20 40]]");
  CHECK(run(model("three", until_ten("u", "u2"), until_ten("v", "w"))) == "[9 18] [[5 10] [8 16]]");
}

TEST_CASE("loops in branches, and branches with loops in loops") {
  const auto loop = [](const std::string& of, const std::string& op) {
    const std::string body = carries("u", "u2",
                                     value("output", "u3", "float32", {"2"}) + node("u2", op, "u, x") +
                                         node("u3", "Neg", "u2") + until_ten("u", "u2"));
    return "g { " + value("output", "end_u", "float32", {"2"}) + value("output", "each_u", "float32", {}) +
           node("end_u, each_u", "Loop", "two,, " + of, body_of(body)) + " }";
  };
  const auto branch = [&](const std::string& outs, const std::string& of) {
    return node(
        outs, "If", "p",
        attribute("then_branch", loop(of, "Add"), "GRAPH") + attribute("else_branch", loop(of, "Mul"), "GRAPH"));
  };
  const std::string inputs = value("input", "x", "float32", {"2"}) + value("input", "p", "bool", {}) + kY +
                             value("output", "all", "float32", {}) + initializer("two", {}, {2}) + kTen;
  const auto run = [](const std::string& file, bool p) {
    const std::vector<Tensor> results =
        run_for_all(file, {{"x", Tensor::of<float>({2}, {2, 3})}, {"p", Tensor::scalar(p)}});
    return results[0].str() + " " + results[1].str();
  };
  const std::string once = model_of(inputs + branch("y, all", "x"));
  CHECK(run(once, true) == "[6 9] [[-4 -6] [-6 -9]]");
  CHECK(run(once, false) == "[8 27] [[-4 -9] [-8 -27]]");
  const std::string outer =
      carries("v", "end",
              value("output", "last", "float32", {"2"}) + goes_on("v") + branch("end, each", "v") +
                  node("last", "ReduceMin", "each, first", attribute("keepdims", "i: 0", "INT")));
  const std::string twice =
      model_of(inputs + initializer("first", {1}, {0}) + node("y, all", "Loop", "two,, x", body_of(outer)));
  CHECK(run(twice, true) == "[8 12] [[-6 -9] [-8 -12]]");
  CHECK(run(twice, false) == "[16 81] [[-8 -27] [-16 -81]]");
}

TEST_CASE("bodies change the scores and weights of an attention") {
  const auto body = [](const std::string& of, const std::string& op) {
    return "g { " + value("input", of, "float32", {}) + value("output", "r", "float32", {}) +
           "initializer { name: 'c' data_type: 1 float_data: 0.5 } " + node("r", op, of + ", c") + " }";
  };
  const auto run = [&](const std::string& bodies) {
    const std::vector<std::string> one{"1", "1", "1", "2"};
    return run_model(model_of(value("input", "q", "float32", one) + value("input", "k", "float32", one) +
                                  value("input", "v", "float32", one) + kY +
                                  node("y", "FlexAttention", "q, k, v", "domain: 'ai.onnx.preview' " + bodies),
                              "opset_import { domain: 'ai.onnx.preview' version: 1 } "),
                     {{"q", counting({1, 1, 1, 2})}, {"k", counting({1, 1, 1, 2})}, {"v", counting({1, 1, 1, 2})}})[0]
        .str();
  };
  CHECK(run("") == "[[[[0 1]]]]");
  CHECK(run(attribute("score_mod", body("s", "Add"), "GRAPH")) == "[[[[0 1]]]]");
  CHECK(run(attribute("prob_mod", body("p", "Mul"), "GRAPH")) == "[[[[0 0.5]]]]");
  CHECK(says(error_of([&] { run(attribute("score_mod", body("s", "Less"), "GRAPH")); }),
             "score_mod makes bool[1,1,1,1]"));
}

TEST_CASE("an optional input is there or not") {
  const auto branch = [](const std::string& op, const std::string& of) {
    return "g { " + value("output", "r", "float32", {}) + node("r", op, of) + " }";
  };
  const std::string optional =
      "input { name: 'o' type { optional_type { elem_type { tensor_type { elem_type: 1 shape { dim { dim_value: 2 } } "
      "} "
      "} } } } ";
  const std::string file =
      model_of(value("input", "x", "float32", {"2"}) + optional + kY + node("h", "OptionalHasElement", "o") +
               node("y", "If", "h",
                    attribute("then_branch", branch("OptionalGetElement", "o"), "GRAPH") +
                        attribute("else_branch", branch("Neg", "x"), "GRAPH")));
  const Tensor x = Tensor::of<float>({2}, {-1, 1}), o = Tensor::of<float>({2}, {5, 6});
  CHECK(run_model(file, {{"x", x}})[0].str() == "[1 -1]");
  CHECK(run_model(file, {{"x", x}, {"o", o}})[0].str() == "[5 6]");
  const std::string used = model_of(optional + kY + node("y", "Neg", "o"));
  CHECK(says(error_of([&] { static_cast<void>(run_model(used, {})); }), "input 0 is missing"));
  const std::string output = model_of(optional + "output { name: 'o' type { optional_type { } } } ");
  CHECK(says(error_of([&] { import(output); }), "an optional value: 1 time, value \"o\""));
}

TEST_CASE("optional values within a model") {
  const std::string type = "attribute { name: 'type' tp { tensor_type { elem_type: 1 } } type: TYPE_PROTO } ";
  const std::string x = value("input", "x", "float32", {"2"});
  const auto has_element = [&](const std::string& input) {
    const std::string made = "node { op_type: 'Optional' output: 'o' " + input + type + "} ";
    return run_model(model_of(x + kY + made + node("y", "OptionalHasElement", "o")), {{"x", counting({2})}})[0].str();
  };
  CHECK(has_element("input: 'x' ") == "true");
  CHECK(has_element("") == "false");
  const std::string functions =
      "opset_import { domain: 'mine' version: 1 } functions { name: 'Given' domain: 'mine' input: 'a' input: 'b' "
      "output: 'c' opset_import { version: 18 } " +
      node("c", "OptionalHasElement", "b") + " }";
  const auto given = [&](const std::string& inputs) {
    return run_model(model_of(x + kY + node("y", "Given", inputs, "domain: 'mine' "), functions),
                     {{"x", counting({2})}})[0]
        .str();
  };
  CHECK(given("x") == "false");
  CHECK(given("x, x") == "true");
}

TEST_CASE("a sequence's elements are mapped by a body") {
  const std::string body = value("input", "e", "float32", {}) + value("input", "b", "float32", {}) +
                           value("output", "s", "float32", {}) + node("s", "Mul", "e, b");
  const std::string file = model_of(value("input", "x", "float32", {"3", "2"}) + value("input", "f", "float32", {"2"}) +
                                    kY + node("q", "SplitToSequence", "x") +
                                    node("m", "SequenceMap", "q, f", attribute("body", "g { " + body + " }", "GRAPH")) +
                                    node("y", "ConcatFromSequence", "m", attribute("axis", "i: 0", "INT")));
  CHECK(run_model(file, {{"x", counting({3, 2})}, {"f", Tensor::of<float>({2}, {10, 1})}})[0].str() ==
        "[[0 1] [20 3] [40 5]]");
}

TEST_CASE("a scan of operator set 8 goes over the rows of a batch") {
  const std::string body = value("input", "s", "float32", {}) + value("input", "e", "float32", {}) +
                           value("output", "t", "float32", {}) + value("output", "u", "float32", {}) +
                           node("t", "Add", "s, e") + node("u", "Identity", "t");
  const auto run = [&](std::int64_t length, const std::string& backwards) {
    std::string file = model_of(value("input", "a", "float32", {"2"}) + value("input", "x", "float32", {"2", "3"}) +
                                initializer("n", {2}, {length, 3}) + kY + value("output", "all", "float32", {}) +
                                node("y, all", "Scan", "n, a, x",
                                     attribute("body", "g { " + body + " }", "GRAPH") +
                                         attribute("num_scan_inputs", "i: 1", "INT") + backwards));
    onnx::Model model = decode(file);
    model.opsets[""] = 8;
    return run_model(model, {{"a", Tensor::of<float>({2}, {0, 10})}, {"x", counting({2, 3})}});
  };
  CHECK(run(3, "")[0].str() == "[3 22]");
  CHECK(run(3, "")[1].str() == "[[0 1 3] [13 17 22]]");
  CHECK(run(3, attribute("directions", "ints: 1", "INTS"))[1].str() == "[[2 3 3] [15 19 22]]");
  CHECK(says(error_of([&] { static_cast<void>(run(2, "")); }), "a sequence of 2 of 3"));
}

TEST_CASE("a scan goes over the elements of its inputs, backwards too") {
  const std::string body = value("input", "s", "float32", {"2"}) + value("input", "e", "float32", {"2"}) +
                           value("output", "t", "float32", {"2"}) + value("output", "u", "float32", {"2"}) +
                           node("t", "Add", "s, e") + node("u", "Identity", "t");
  const auto run = [&](std::int64_t backwards) {
    const std::string direction = "ints: " + std::to_string(backwards);
    return run_model(
        model_of(value("input", "a", "float32", {"2"}) + value("input", "x", "float32", {"3", "2"}) + kY +
                 value("output", "all", "float32", {}) +
                 node("y, all", "Scan", "a, x",
                      attribute("body", "g { " + body + " }", "GRAPH") + attribute("num_scan_inputs", "i: 1", "INT") +
                          attribute("scan_input_directions", direction, "INTS"))),
        {{"a", Tensor::of<float>({2}, {0, 0})}, {"x", counting({3, 2})}});
  };
  CHECK(run(0)[0].str() == "[6 9]");
  CHECK(run(0)[1].str() == "[[0 1] [2 4] [6 9]]");
  CHECK(run(1)[1].str() == "[[4 5] [6 8] [6 9]]");
  const std::vector<Tensor> none = run_model(
      model_of(value("input", "a", "float32", {"2"}) + value("input", "x", "float32", {"0", "2"}) + kY +
               value("output", "all", "float32", {}) +
               node("y, all", "Scan", "a, x",
                    attribute("body", "g { " + body + " }", "GRAPH") + attribute("num_scan_inputs", "i: 1", "INT") +
                        attribute("scan_output_axes", "ints: -1", "INTS"))),
      {{"a", Tensor::of<float>({2}, {5, 6})}, {"x", counting({0, 2})}});
  CHECK(none[0].str() == "[5 6]");
  CHECK(none[1].type().str() == "float32[2,0]");
}
