// Inputs of a model: taken by value, with a default, optional.
#include <doctest/doctest.h>

#include <cstdint>

#include "tests/onnx/models.hpp"
#include "tests/support/throws.hpp"

using namespace ferry;
using namespace ferry::test;

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
  // Such an input is taken by value where it decides a shape.
  const std::string shape = value("input", "x", "float32", {"2"}) + value("input", "d", "int64", {"1"}) + kY +
                            initializer("d", {1}, {1}) + node("y", "Tile", "x, d");
  CHECK(run_model(model_of(shape), {{"x", x}})[0].str() == "[1 3]");
  CHECK(run_model(model_of(shape), {{"x", x}, {"d", Tensor::of<std::int64_t>({1}, {2})}})[0].str() == "[1 3 1 3]");
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
  CHECK(says(error_of([&] { static_cast<void>(import(output)); }), "an optional value: 1 time, value \"o\""));
}
