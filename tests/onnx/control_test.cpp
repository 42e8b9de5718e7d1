// Branches, loops and scans of a model; bodies within bodies.
#include <doctest/doctest.h>

#include <cstdint>

#include "tests/onnx/models.hpp"
#include "tests/support/throws.hpp"

using namespace ferry;
using namespace ferry::test;

namespace {

std::string body_of(const std::string& text) {
  return attribute("body", "g { " + text + " }", "GRAPH");
}

/// The text of a loop's body that carries `v` and gives `w` as its next value; `rest` has its nodes and more outputs.
std::string carries(const std::string& v, const std::string& w, const std::string& rest) {
  return value("input", "i_" + v, "int64", {}) + value("input", "c_" + v, "bool", {}) +
         value("input", v, "float32", {"2"}) + value("output", "more_" + v, "bool", {}) +
         value("output", w, "float32", {"2"}) + rest;
}

const std::string kTen = "initializer { name: 'ten' data_type: 1 float_data: 10 } ";

/// Nodes that nobody uses. With them, a body is too long to be written out 700 times.
const std::string kManyNodes = [] {
  std::string nodes;
  for (int k = 0; k < 300; ++k) nodes += node("unused_" + std::to_string(k), "Neg", "x");
  return nodes;
}();

/// Nodes for the condition of the body that carries `v`: whether the greatest element of `w` is below 10.
std::string until_ten(const std::string& v, const std::string& w) {
  return node("most_" + v, "ReduceMax", w, attribute("keepdims", "i: 0", "INT")) +
         node("more_" + v, "Less", "most_" + v + ", ten");
}

std::string goes_on(const std::string& v) {
  return node("more_" + v, "Identity", "c_" + v);
}

}  // namespace

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

TEST_CASE("values of bodies may have names of values around them, as in merged decoders of Hugging Face") {
  const std::string x = value("input", "x", "float32", {"2"}), p = value("input", "p", "bool", {});
  const auto branch = [](const std::string& name, const std::string& r, const std::string& nodes) {
    return attribute(name, "g { " + value("output", r, "float32", {}) + nodes + " }", "GRAPH");
  };
  const Tensor values = Tensor::of<float>({2}, {-1, 1}), yes = Tensor::scalar(true);
  const std::string same = model_of(
      x + p + kY +
      node("y", "If", "p",
           branch("then_branch", "y", node("y", "Neg", "x")) + branch("else_branch", "y", node("y", "Relu", "x"))));
  CHECK(run_model(same, {{"x", values}, {"p", yes}})[0].str() == "[1 -1]");
  CHECK(run_for_all(same, {{"x", values}, {"p", Tensor::scalar(false)}})[0].str() == "[0 1]");
  const std::string later = model_of(x + p + kY +
                                     node("q", "If", "p",
                                          branch("then_branch", "r", node("y", "Neg", "x") + node("r", "Exp", "y")) +
                                              branch("else_branch", "r", node("r", "Relu", "x"))) +
                                     node("y", "Sqrt", "q"));
  CHECK(run_for_all(later, {{"x", Tensor::of<float>({2}, {0, 0})}, {"p", yes}})[0].str() == "[1 1]");
  const std::string loop =
      model_of(x + kY + value("output", "all", "float32", {}) + initializer("n", {}, {2}) +
               node("y, all", "Loop", "n,, x",
                    body_of(carries("y", "all",
                                    goes_on("y") + node("all", "Add", "y, y") + value("output", "x", "float32", {"2"}) +
                                        node("x", "Neg", "y")))));
  CHECK(run_model(loop, {{"x", values}})[0].str() == "[-4 4]");
  CHECK(run_model(loop, {{"x", values}})[1].str() == "[[1 -1] [2 -2]]");
}

TEST_CASE("a loop whose counter decides sizes is written out") {
  const std::string rows = value("input", "x", "float32", {"5", "2"});
  const std::string zeros = initializer("axis", {1}, {0}) + initializer("one", {1}, {1});
  const auto body = [](const std::string& nodes) {
    return body_of(value("input", "i", "int64", {}) + value("input", "c", "bool", {}) +
                   value("input", "v", "float32", {}) + "output { name: 'more' } output { name: 'w' } " +
                   node("more", "Identity", "c") + nodes);
  };
  const std::string row =
      node("from", "Reshape", "i, one") + node("to", "Add", "from, one") + node("r", "Slice", "x, from, to, axis");
  const auto run = [&](const std::string& nodes) {
    return run_model(model_of(rows + kY + zeros + initializer("n", {}, {3}) +
                              "initializer { name: 'start' data_type: 1 dims: 1 dims: 2 float_data: [10, 10] } " +
                              node("y", "Loop", "n,, start", body(nodes))),
                     {{"x", counting({5, 2})}})[0]
        .str();
  };
  CHECK(run(row + node("w", "Add", "v, r")) == "[[16 19]]");
  CHECK(run(node("to", "Reshape", "i, one") + node("r", "Slice", "x, axis, to, axis") +
            node("s", "ReduceSum", "r, axis") + node("w", "Add", "v, s")) == "[[12 15]]");
  const std::string length = node("j", "Add", "i, one0") + node("shape", "Reshape", "j, one") +
                             "initializer { name: 'one0' data_type: 7 int64_data: 1 } ";
  CHECK(run(length +
            node("k", "ConstantOfShape", "shape",
                 attribute("value", "t { data_type: 1 dims: 1 float_data: 1 }", "TENSOR")) +
            node("s", "ReduceSum", "k, axis") + node("w", "Add", "v, s")) == "[[16 16]]");
}

TEST_CASE("a loop that nothing ends is refused while it is written out") {
  const std::string body = body_of(value("input", "i", "int64", {}) + value("input", "c", "bool", {}) +
                                   "input { name: 'list' } " + "output { name: 'c' } output { name: 'list' } ");
  const std::string nodes = node("none", "SequenceConstruct", "x") + node("all", "Loop", ",, none", body) +
                            node("y", "ConcatFromSequence", "all", attribute("axis", "i: 0", "INT"));
  const Error error =
      error_of([&] { static_cast<void>(import(model_of(value("input", "x", "float32", {"2"}) + kY + nodes))); });
  CHECK(says(error, "nothing ends the loop: it has no trip count, and its condition is true in 16384 iterations"));
  CHECK(says(error, "try: give it a trip count, its input M"));
}

TEST_CASE("a loop that carries a sequence is written out") {
  const std::string body =
      body_of(value("input", "i", "int64", {}) + value("input", "c", "bool", {}) + "input { name: 'list' } " +
              "output { name: 'more' } output { name: 'longer' } " + node("more", "Identity", "c") +
              node("f", "Cast", "i", attribute("to", "i: 1", "INT")) + node("e", "Add", "x, f") +
              node("longer", "SequenceInsert", "list, e"));
  const std::string nodes =
      node("none", "SequenceEmpty", "") + node("all", "Loop", "n,, none", body) +
      node("y", "ConcatFromSequence", "all", attribute("axis", "i: 0", "INT") + attribute("new_axis", "i: 1", "INT"));
  const std::string x = value("input", "x", "float32", {"2"});
  CHECK(run_model(model_of(x + kY + initializer("n", {}, {3}) + nodes), {{"x", counting({2})}})[0].str() ==
        "[[0 1] [1 2] [2 3]]");
  const std::string fed = model_of(x + value("input", "n", "int64", {}) + kY + nodes);
  CHECK(run_model(fed, {{"x", counting({2})}, {"n", Tensor::scalar<std::int64_t>(2)}})[0].str() == "[[0 1] [1 2]]");
  CHECK(says(error_of([&] { static_cast<void>(import(fed)); }), "is a sequence, not a tensor"));
  CHECK(says(error_of([&] { static_cast<void>(import(fed)); }), "try: give what its number of iterations"));
}

TEST_CASE("a loop that carries a sequence gives something in each iteration") {
  const std::string body =
      body_of(value("input", "i", "int64", {}) + value("input", "c", "bool", {}) + "input { name: 'list' } " +
              "output { name: 'c' } output { name: 'longer' } output { name: 'f' } " +
              node("f", "Cast", "i", attribute("to", "i: 1", "INT")) + node("e", "Add", "x, f") +
              node("longer", "SequenceInsert", "list, e"));
  const auto run = [&](std::int64_t times) {
    return run_model(model_of(value("input", "x", "float32", {"2"}) + initializer("n", {}, {times}) + kY +
                              value("output", "all", "float32", {}) + node("none", "SequenceConstruct", "x") +
                              node("list, all", "Loop", "n,, none", body) +
                              node("y", "ConcatFromSequence", "list", attribute("axis", "i: 0", "INT"))),
                     {{"x", counting({2})}});
  };
  CHECK(run(2)[0].str() == "[0 1 0 1 1 2]");
  CHECK(run(2)[1].str() == "[0 1]");
  CHECK(run(0)[0].str() == "[0 1]");
  CHECK(run(0)[1].type().str() == "float32[0]");
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
  CHECK(says(error_of([&] { static_cast<void>(import(file)); }), "axis 2 is out of range"));
}

TEST_CASE("an error of a converter has the line of the model") {
  const std::string file = model_of(value("input", "x", "float32", {"1", "4", "1", "1"}) + kY +
                                    node("y", "DepthToSpace", "x", attribute("blocksize", "i: 3", "INT")));
  const Error error = error_of([&] { static_cast<void>(import(file)); });
  CHECK(says(error, "\n  at m.onnx:1\n"));
  CHECK(error.text().find(".cpp:") == std::string::npos);
}

TEST_CASE("an error in the body of a loop that gives something in each iteration is reported") {
  const auto file_of = [](const std::string& nodes) {
    return model_of(value("input", "x", "float32", {"1"}) + initializer("n", {}, {3}) + kY +
                    value("output", "all", "float32", {}) +
                    node("y, all", "Loop", "n,, x",
                         body_of(value("input", "i", "int64", {}) + value("input", "c", "bool", {}) +
                                 value("input", "v", "float32", {"1"}) + value("output", "c", "bool", {}) +
                                 value("output", "w", "float32", {"1"}) + value("output", "w2", "float32", {"1"}) +
                                 nodes + node("w", "Identity", "v") + node("w2", "Identity", "w"))));
  };
  const std::string twice = file_of(initializer("twice", {2}, {0, 0}) + node("u", "Unsqueeze", "i, twice"));
  const std::string unknown = file_of(node("u", "Neg", "i", attribute("other", "i: 1", "INT")));
  CHECK(says(error_of([&] { static_cast<void>(import(twice)); }), "an axis is given twice"));
  CHECK(says(error_of([&] { static_cast<void>(import(unknown)); }), "attribute \"other\" is not known of Neg"));
}

TEST_CASE("a loop that carries values becomes a loop") {
  const std::string body =
      value("input", "i", "int64", {}) + value("input", "c", "bool", {}) + value("input", "v", "float32", {"2"}) +
      value("output", "more", "bool", {}) + value("output", "w", "float32", {"2"}) + node("w", "Add", "v, x") +
      node("most", "ReduceMax", "w", attribute("keepdims", "i: 0", "INT")) + kTen + node("more", "Less", "most, ten");
  const std::string file = model_of(value("input", "x", "float32", {"2"}) + value("input", "n", "int64", {}) + kY +
                                    node("y", "Loop", "n,, x", body_of(body)));
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
  const std::string file =
      model_of(value("input", "x", "float32", {"2"}) + value("input", "n", "int64", {}) + kY +
               value("output", "all", "float32", {}) + node("y, all", "Loop", "n,, x", body_of(body)));
  const auto run = [&](std::int64_t times) {
    return run_model(file, {{"x", Tensor::of<float>({2}, {1, 3})}, {"n", Tensor::scalar(times)}});
  };
  CHECK(run(2)[0].str() == "[3 9]");
  CHECK(run(2)[1].str() == "[[2 6] [3 9]]");
  CHECK(run(0)[0].str() == "[1 3]");
  CHECK(run(0)[1].type().str() == "float32[0,2]");
  CHECK(run(-3)[1].type().str() == "float32[0,2]");
}

TEST_CASE("iterations that are written out share values that depend on constants alone") {
  const std::string body =
      body_of(value("input", "i", "int64", {}) + value("input", "c", "bool", {}) +
              value("input", "v", "float32", {"2"}) + value("output", "c", "bool", {}) +
              value("output", "w", "float32", {"2"}) + value("output", "u", "float32", {"3"}) +
              node("turned", "Transpose", "weights") + node("u", "MatMul", "turned, v") + node("w", "Neg", "v"));
  const auto graph = import(model_of(
      value("input", "x", "float32", {"2"}) + initializer("n", {}, {4}) + kY + value("output", "all", "float32", {}) +
      "initializer { name: 'weights' data_type: 1 dims: 2 dims: 3 float_data: [1, 2, 3, 4, 5, 6] } " +
      node("y, all", "Loop", "n,, x", body)));
  int products = 0, constants = 0;
  for (OpId id = 0; id < graph->size(); ++id) {
    products += graph->op(id).def().name == "MatMul";
    constants += graph->op(id).def().name == "Constant" && graph->type(graph->op(id).output(0)).str() == "float32[3,2]";
  }
  CHECK(products == 4);
  CHECK(constants == 1);
}

TEST_CASE("a loop that is too long to be written out gives something in each iteration") {
  const std::string body = value("input", "i", "int64", {}) + value("input", "c", "bool", {}) +
                           value("input", "v", "float32", {}) + value("output", "c", "bool", {}) +
                           value("output", "w", "float32", {}) + value("output", "u", "int64", {"1"}) +
                           node("w", "Add", "v, x") + node("u", "Unsqueeze", "i, zero");
  const auto model = [&](std::int64_t times, const std::string& rest) {
    return model_of(value("input", "x", "float32", {}) + initializer("n", {}, {times}) + initializer("zero", {1}, {0}) +
                    kY + value("output", "all", "int64", {}) + node("y, all", "Loop", "n,, x", body_of(body + rest)));
  };
  CHECK(import(model((1 << 14) + 1, ""))->size() < 20);
  const std::string open = model_of(value("input", "x", "float32", {"rows"}) + initializer("n", {}, {1 << 20}) + kY +
                                    value("output", "all", "float32", {}) +
                                    node("y, all", "Loop", "n,, x",
                                         body_of(carries("v", "w",
                                                         goes_on("v") + node("w", "Add", "v, x") +
                                                             "output { name: 'w2' } " + node("w2", "Neg", "w")))));
  const Error error = error_of([&] { static_cast<void>(import(open)); });
  CHECK(error.code() == Code::usage);
  CHECK(says(error, "it gives float32[rows] in each iteration, which has not one size"));
  CHECK(says(error, "try: --dim rows=4, or give the sizes of the inputs"));
  const std::vector<Tensor> got = run_model(model(700, kManyNodes), {{"x", Tensor::scalar<float>(1)}});
  CHECK(got[0].number(0) == 701);
  CHECK(got[1].type().str() == "int64[700,1]");
  for (std::int64_t i = 0; i < 700; ++i) REQUIRE(got[1].integer(i) == i);
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
                    node("y, all", "Loop", ", " + goes_on + ", x", body_of(body)));
  };
  const Tensor x = Tensor::of<float>({2}, {1, 3});
  const std::string constant = "initializer { name: 'no' data_type: 9 int32_data: 0 } ";
  const std::vector<Tensor> none = run_model(file("no", constant), {{"x", x}});
  CHECK(none[0].str() == "[1 3]");
  CHECK(none[1].type().str() == "float32[0,2,1]");
}

TEST_CASE("a loop that its body ends gives something in each iteration") {
  const std::string body =
      value("input", "i", "int64", {}) + value("input", "c", "bool", {}) + value("input", "v", "float32", {"2"}) +
      value("output", "more", "bool", {}) + value("output", "w", "float32", {"2"}) +
      value("output", "w2", "float32", {"2"}) + node("w", "Add", "v, x") + node("w2", "Neg", "w") +
      node("most", "ReduceMax", "w", attribute("keepdims", "i: 0", "INT")) + kTen + node("more", "Less", "most, ten");
  const auto file = [&](const std::string& times, const std::vector<std::string>& all) {
    return model_of(value("input", "x", "float32", {"2"}) + kY + value("output", "all", "float32", all) +
                    initializer("n", {}, {INT64_MAX}) + initializer("five", {}, {5}) +
                    node("y, all", "Loop", times + ",, x", body_of(body)));
  };
  const auto run = [](const std::string& model, float step, onnx::ImportOptions with = options()) {
    return run_for_all(model, {{"x", Tensor::of<float>({2}, {1, step})}}, with)[1].str();
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

TEST_CASE("a loop within a loop uses what both carry") {
  // The inner loop begins with u = v and adds v m times; then w = u + x. So v becomes (m + 1) v + x.
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
  // As above, with m = 2. The inner loop also gives each u, the outer loop the sum of these; a loop with until_ten()
  // ends when an element is 10 or more.
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

TEST_CASE("a sequence's elements are mapped by a body") {
  const std::string body = value("input", "e", "float32", {}) + value("input", "b", "float32", {}) +
                           value("output", "s", "float32", {}) + node("s", "Mul", "e, b");
  const std::string file =
      model_of(value("input", "x", "float32", {"3", "2"}) + value("input", "f", "float32", {"2"}) + kY +
               node("q", "SplitToSequence", "x") + node("m", "SequenceMap", "q, f", body_of(body)) +
               node("y", "ConcatFromSequence", "m", attribute("axis", "i: 0", "INT")));
  CHECK(run_model(file, {{"x", counting({3, 2})}, {"f", Tensor::of<float>({2}, {10, 1})}})[0].str() ==
        "[[0 1] [20 3] [40 5]]");
}

TEST_CASE("a scan of operator set 8 goes over the rows of a batch") {
  const std::string body = value("input", "s", "float32", {}) + value("input", "e", "float32", {}) +
                           value("output", "t", "float32", {}) + value("output", "u", "float32", {}) +
                           node("t", "Add", "s, e") + node("u", "Identity", "t");
  const auto run = [&](std::int64_t length, const std::string& backwards) {
    std::string file = model_of(
        value("input", "a", "float32", {"2"}) + value("input", "x", "float32", {"2", "3"}) +
        initializer("n", {2}, {length, 3}) + kY + value("output", "all", "float32", {}) +
        node("y, all", "Scan", "n, a, x", body_of(body) + attribute("num_scan_inputs", "i: 1", "INT") + backwards));
    onnx::Model model = decode(file);
    model.opsets[""] = 8;
    return run_model(model, {{"a", Tensor::of<float>({2}, {0, 10})}, {"x", counting({2, 3})}});
  };
  CHECK(run(3, "")[0].str() == "[3 22]");
  CHECK(run(3, "")[1].str() == "[[0 1 3] [13 17 22]]");
  CHECK(run(3, attribute("directions", "ints: 1", "INTS"))[1].str() == "[[2 3 3] [15 19 22]]");
  CHECK(says(error_of([&] { static_cast<void>(run(2, "")); }), "its lengths have 2, its sequences 3"));
}

TEST_CASE("a scan of too many elements to be written out is a loop, with the same results") {
  const std::string body = value("input", "s", "float32", {"2"}) + value("input", "e", "float32", {"2"}) +
                           value("output", "t", "float32", {"2"}) + value("output", "u", "float32", {"2"}) +
                           node("t", "Add", "s, e") + node("u", "Neg", "e");
  constexpr std::int64_t kLength = 700;
  for (const bool backwards : {false, true}) {
    const std::vector<Tensor> got =
        run_model(model_of(value("input", "a", "float32", {"2"}) + value("input", "x", "float32", {"2", "700"}) + kY +
                           value("output", "all", "float32", {}) +
                           node("y, all", "Scan", "a, x",
                                body_of(body) + attribute("num_scan_inputs", "i: 1", "INT") +
                                    attribute("scan_input_axes", "ints: 1", "INTS") +
                                    attribute("scan_output_axes", "ints: -1", "INTS") +
                                    attribute("scan_input_directions", "ints: 1", "INTS") +
                                    attribute("scan_output_directions", backwards ? "ints: 1" : "ints: 0", "INTS"))),
                  {{"a", Tensor::of<float>({2}, {0, 0})}, {"x", counting({2, kLength})}});
    CHECK(got[1].type().str() == "float32[2,700]");
    float sum = 0;
    for (std::int64_t i = 0; i < kLength; ++i) {
      const std::int64_t from = backwards ? i : kLength - 1 - i;
      REQUIRE(got[1].number(i) == -static_cast<double>(from));
      REQUIRE(got[1].number(kLength + i) == -static_cast<double>(kLength + from));
      sum += static_cast<float>(kLength - 1 - i);
    }
    CHECK(got[0].number(0) == static_cast<double>(sum));
  }
}

TEST_CASE("a scan goes over the elements of its inputs, backwards too") {
  const std::string body = value("input", "s", "float32", {"2"}) + value("input", "e", "float32", {"2"}) +
                           value("output", "t", "float32", {"2"}) + value("output", "u", "float32", {"2"}) +
                           node("t", "Add", "s, e") + node("u", "Identity", "t");
  const auto run = [&](std::int64_t backwards) {
    const std::string direction = "ints: " + std::to_string(backwards);
    return run_model(model_of(value("input", "a", "float32", {"2"}) + value("input", "x", "float32", {"3", "2"}) + kY +
                              value("output", "all", "float32", {}) +
                              node("y, all", "Scan", "a, x",
                                   body_of(body) + attribute("num_scan_inputs", "i: 1", "INT") +
                                       attribute("scan_input_directions", direction, "INTS"))),
                     {{"a", Tensor::of<float>({2}, {0, 0})}, {"x", counting({3, 2})}});
  };
  CHECK(run(0)[0].str() == "[6 9]");
  CHECK(run(0)[1].str() == "[[0 1] [2 4] [6 9]]");
  CHECK(run(1)[1].str() == "[[4 5] [6 8] [6 9]]");
  const std::vector<Tensor> none =
      run_model(model_of(value("input", "a", "float32", {"2"}) + value("input", "x", "float32", {"0", "2"}) + kY +
                         value("output", "all", "float32", {}) +
                         node("y, all", "Scan", "a, x",
                              body_of(body) + attribute("num_scan_inputs", "i: 1", "INT") +
                                  attribute("scan_output_axes", "ints: -1", "INTS"))),
                {{"a", Tensor::of<float>({2}, {5, 6})}, {"x", counting({0, 2})}});
  CHECK(none[0].str() == "[5 6]");
  CHECK(none[1].type().str() == "float32[2,0]");
}
