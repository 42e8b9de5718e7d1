// What importing makes of a model: names, constants computed while importing, functions, optional values.
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>

#include "tests/onnx/models.hpp"
#include "tests/support/throws.hpp"

using namespace ferry;
using namespace ferry::test;

TEST_CASE("ops have the names of their values, and the number of the node as line") {
  const auto graph = import(model_of(kX + kY + node("enc/h", "Relu", "x") + node("y", "Celu", "enc/h")));
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

TEST_CASE("what a model declares of its values is checked") {
  const auto declared = [](const std::string& h, const std::string& y) {
    return model_of(value("input", "x", "float32", {"2", "3"}) + h + y + node("h", "Relu", "x") +
                    node("y", "Shape", "h"));
  };
  const std::string right = value("output", "y", "int64", {"2"});
  const auto warnings = [](const std::string& file) { return onnx::import_model(decode(file), options()).warnings; };
  CHECK(warnings(declared(value("value_info", "h", "float32", {"n", "3"}), right)).empty());
  CHECK(says(error_of([&] { static_cast<void>(import(declared("", value("output", "y", "float32", {"2"})))); }),
             "m.onnx: node \"y\" (Shape): its output \"y\" is int64, and the model declares float32"));
  CHECK(says(error_of([&] { static_cast<void>(import(declared(value("value_info", "h", "bool", {}), right))); }),
             "m.onnx: node \"h\" (Relu): its output \"h\" is float32, and the model declares bool"));
  CHECK(warnings(declared(value("value_info", "h", "float32", {"1", "3"}), right)) ==
        std::vector<std::string>{"m.onnx: node \"h\" (Relu): its output \"h\" is [2,3], and the model declares [1,3]; "
                                 "its own shape counts"});
  CHECK(warnings(declared("", value("output", "y", "int64", {"2", "1"}))).size() == 1);

  const auto branch = [](const std::string& dtype) {
    return "g { " + value("output", "r", dtype, {}) + node("r", "Relu", "x") + " }";
  };
  const auto choice = [&](const std::string& dtype) {
    return model_of(
        kX + kY + value("input", "c", "bool", {}) +
        node("y", "If", "c",
             attribute("then_branch", branch("float32"), "GRAPH") + attribute("else_branch", branch(dtype), "GRAPH")));
  };
  CHECK_NOTHROW(static_cast<void>(import(choice("float32"))));
  CHECK(says(error_of([&] { static_cast<void>(import(choice("int64"))); }),
             "node \"r\" (Relu): its output \"r\" is float32, and the model declares int64"));
}

TEST_CASE("an input that is an output, and one that nobody uses") {
  const std::string file = model_of(kX + value("input", "z", "float32", {"2"}) + value("output", "x", "float32", {}));
  CHECK(run_model(file, {{"x", counting({1, 6})}})[0].str() == "[[0 1 2 3 4 5]]");
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

TEST_CASE("a constant cast to the dtype of an input is known") {
  const std::string nothing = "initializer { name: 'c' data_type: 7 dims: 1 int64_data: 7 } ";
  const std::string file = model_of(kX + kY + nothing + initializer("pads", {4}, {0, 0, 0, 1}) +
                                    node("l", "CastLike", "c, x") + node("y", "Pad", "x, pads, l"));
  CHECK(run_model(file, {{"x", counting({1, 6})}})[0].number(6) == 7);
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

TEST_CASE("bodies change the scores and weights of an attention") {
  const auto body = [](const std::string& of, const std::string& op) {
    return "g { " + value("input", of, "float32", {}) + value("output", "r", op == "Less" ? "bool" : "float32", {}) +
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

TEST_CASE("a normalisation by known numbers is taken into the filter before it") {
  const auto floats = [](const std::string& name, const std::string& dims, const std::string& numbers) {
    return "initializer { name: '" + name + "' data_type: 1 " + dims + " float_data: [" + numbers + "] } ";
  };
  const std::string x = value("input", "x", "float32", {"1", "1", "2", "2"}),
                    filter = floats("w", "dims: 2 dims: 1 dims: 1 dims: 1", "2, -3"),
                    bias = floats("b", "dims: 2", "1, 10"), scale = floats("s", "dims: 2", "4, 6"),
                    numbers = bias + floats("o", "dims: 2", "0.5, 7") + floats("m", "dims: 2", "3, -1") +
                              floats("v", "dims: 2", "4, 9");
  const auto conv = [](const std::string& inputs) { return node("c", "Conv", inputs); };
  const std::string norm = node("y", "BatchNormalization", "c, s, o, m, v", attribute("epsilon", "f: 0", "FLOAT"));
  const Tensor image = counting({1, 1, 2, 2});
  const auto ops_of = [&](const std::string& graph) {
    std::string ops;
    const auto imported = import(model_of(x + kY + graph));
    for (OpId id = 0; id < imported->size(); ++id) ops += std::string(imported->op(id).def().name) + " ";
    return ops;
  };
  const auto result_of = [&](const std::string& graph) {
    return run_model(model_of(x + kY + graph), {{"x", image}})[0].str();
  };

  const std::string with_bias = filter + numbers + scale + conv("x, w, b") + norm;
  CHECK(ops_of(with_bias).find("Sub") == std::string::npos);
  CHECK(ops_of(with_bias).find("Mul") == std::string::npos);
  CHECK(result_of(with_bias) == "[[[[-3.5 0.5] [4.5 8.5]] [[29 23] [17 11]]]]");
  const std::string without = filter + numbers + scale + conv("x, w") + norm;
  CHECK(ops_of(without).find("Sub") == std::string::npos);
  CHECK(result_of(without) == "[[[[-5.5 -1.5] [2.5 6.5]] [[9 3] [-3 -9]]]]");

  const std::string shared = filter + numbers + scale + node("f", "Identity", "w") + conv("x, f") +
                             node("same", "Identity", "s") +
                             node("y", "BatchNormalization", "c, same, o, m, v", attribute("epsilon", "f: 0", "FLOAT"));
  CHECK(ops_of(shared).find("Sub") == std::string::npos);
  CHECK(result_of(shared) == result_of(without));

  // The two are not joined if the filter or the scale is no constant, or if another node reads the convolution.
  const std::string fed = value("input", "s", "float32", {"2"});
  CHECK(ops_of(fed + filter + numbers + conv("x, w, b") + norm).find("Sub") != std::string::npos);
  CHECK(ops_of(fed + filter + numbers + scale + conv("x, w, b") + norm).find("Mul") != std::string::npos);
  const std::string twice = with_bias + value("output", "c", "float32", {});
  CHECK(ops_of(twice).find("Sub") != std::string::npos);
  CHECK(result_of(twice) == result_of(with_bias));
  const std::string training =
      filter + numbers + scale + conv("x, w, b") +
      node("y", "BatchNormalization", "c, s, o, m, v", attribute("training_mode", "i: 1", "INT"));
  CHECK(ops_of(training).find("Rsqrt") != std::string::npos);
}

TEST_CASE("activations that exporters write as several nodes become one op") {
  const auto op_of = [](const std::string& nodes) {
    const std::string three = "initializer { name: 'three' data_type: 1 float_data: 3 } ",
                      six = "initializer { name: 'six' data_type: 1 float_data: 6 } ",
                      zero = "initializer { name: 'zero' data_type: 1 float_data: 0 } ",
                      number = "initializer { name: 'number' data_type: 1 float_data: 7 } ";
    const auto graph = import(model_of(value("input", "x", "float32", {"7"}) + value("output", "y", "float32", {"7"}) +
                                       three + six + zero + number + nodes));
    return std::string(last(*graph).def().name);
  };
  const std::string gate = node("gate", "Sigmoid", "x"), line = node("line", "Add", "x, three"),
                    clipped = node("clipped", "Clip", "line, zero, six"), product = node("p", "Mul", "clipped, x");
  CHECK(op_of(gate + node("y", "Mul", "x, gate")) == "Swish");
  CHECK(op_of(gate + node("y", "Mul", "gate, x")) == "Swish");
  CHECK(op_of(gate + node("y", "Mul", "gate, gate")) == "Mul");
  CHECK(op_of(line + clipped + product + node("y", "Div", "p, six")) == "HardSwish");
  CHECK(op_of(line + clipped + product + node("y", "Div", "p, number")) == "Div");
  CHECK(op_of(line + node("clipped", "Clip", "line, zero, number") + product + node("y", "Div", "p, six")) == "Div");
  CHECK(op_of(line + clipped + node("p", "Mul", "clipped, line") + node("y", "Div", "p, six")) == "Div");
}

TEST_CASE("a step of an LSTM or GRU is one op, if its activations are the usual ones, named or not") {
  const auto cells = [](const std::string& op, const std::string& gates, const std::string& attributes) {
    const std::string inputs = value("input", "x", "float32", {"3", "1", "2"}) +
                               value("input", "w", "float32", {"1", gates, "2"}) +
                               value("input", "r", "float32", {"1", gates, "5"});
    const auto graph =
        import(model_of(inputs + value("output", "y", "float32", {}) + node("y", op, "x, w, r", attributes)));
    int found = 0;
    for (OpId id = 0; id < graph->size(); ++id) found += graph->op(id).def().name == op + "Cell";
    return found;
  };
  const auto activations = [](const std::string& names) {
    return attribute("activations", "strings: " + names, "STRINGS");
  };
  CHECK(cells("LSTM", "20", "") == 3);
  CHECK(cells("LSTM", "20", activations("['Sigmoid', 'Tanh', 'Tanh']")) == 3);
  CHECK(cells("LSTM", "20", activations("['Sigmoid', 'Tanh', 'Relu']")) == 0);
  CHECK(cells("LSTM", "20", activations("['Tanh', 'Tanh', 'Tanh']")) == 0);
  const std::string after = attribute("linear_before_reset", "i: 1", "INT");
  CHECK(cells("GRU", "15", after) == 3);
  CHECK(cells("GRU", "15", after + activations("['sigmoid', 'tanh']")) == 3);
  CHECK(cells("GRU", "15", after + activations("['Sigmoid', 'Sigmoid']")) == 0);
  CHECK(cells("GRU", "15", "") == 0);
}
