// Faults of ONNX models, by the numbers of tests/faults/README.md: each bad file is refused with code 3, by a message
// that names file and reason.
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>

#include "base/files/files.hpp"
#include "tests/onnx/models.hpp"
#include "tests/support/damage.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

using namespace ferry;
using namespace ferry::test;

namespace {

void read_model(const std::string& file) {
  static_cast<void>(onnx::import_model(decode(file), options()));
}

/// The error of importing a file that must be refused.
Error refusal(const std::string& file, const std::string& folder = ".") {
  const Error error = error_of([&] { static_cast<void>(onnx::import_model(decode(file, folder), options())); });
  CHECK(error.code() == Code::file);
  CHECK(error.text().starts_with("m.onnx: "));
  CHECK(error.text().size() < 4000);
  return error;
}

/// A small model with weights, a function, a branch and attributes of most kinds.
std::string small_file() {
  const std::string branch = "name: 'b' " + value("output", "t", "float32", {"2"});
  const std::string yes = branch + node("t", "Neg", "s"), no = branch + node("t", "Relu", "s");
  return model_of(
      value("input", "x", "float32", {"batch", "2"}) + value("input", "p", "bool", {}) +
          value("output", "y", "float32", {}) + value("output", "z", "float32", {}) +
          initializer("shape", {2}, {-1, 2}) +
          "initializer { name: 'w' data_type: 1 dims: 2 raw_data: '\\0\\0\\200\\077\\0\\0\\0\\100' } " +
          node("r", "Reshape", "x, shape") + node("s", "Twice", "r, w", "domain: 'mine' ") +
          node("y", "ReduceSum", "s", attribute("keepdims", "i: 0", "INT")) +
          node("z", "If", "p",
               attribute("then_branch", "g { " + yes + " }", "GRAPH") +
                   attribute("else_branch", "g { " + no + " }", "GRAPH")),
      "opset_import { domain: 'mine' version: 1 } functions { name: 'Twice' domain: 'mine' input: 'a' input: 'b' "
      "output: 'd' opset_import { version: 18 } " +
          node("c", "Mul", "a, b") + node("d", "Add", "c, c") + " }");
}

std::string tensor_of(const std::string& tensor) {
  return model_of("initializer { name: 'w' " + tensor + " } " + value("output", "w", "float32", {}));
}

std::string external(const std::string& location, const std::string& rest = "") {
  return tensor_of("data_type: 1 dims: 2 data_location: EXTERNAL external_data { key: 'location' value: '" + location +
                   "' } " + rest);
}

std::string number(const std::string& key, const std::string& text) {
  return "external_data { key: '" + key + "' value: '" + text + "' } ";
}

}  // namespace

TEST_CASE("a small model with a function and a branch is taken") {
  const auto results =
      run_model(small_file(), {{"x", Tensor::of<float>({1, 2}, {-3, 1})}, {"p", Tensor::scalar(false)}});
  CHECK(results[0].number(0) == -2);
  CHECK(results[1].str() == "[[0 4]]");
}

TEST_CASE("001 empty model") {
  CHECK(says(refusal(""), "the file is empty"));
}

TEST_CASE("002 model cut at any byte") {
  CHECK(cut_everywhere(small_file(), read_model) == 0);
}

TEST_CASE("003 model with any bit flipped: refused, or something else that is a model") {
  const std::string good = small_file();
  const int taken = flip_everywhere(good, [](const std::string& file) {
    try {
      read_model(file);
    } catch (const Error& error) {
      if (error.code() != Code::usage) throw;  // a dim or an input must be known
    }
  });
  CHECK(taken < static_cast<int>(good.size()) * 8 / 2);
}

TEST_CASE("004 not an ONNX model") {
  CHECK(says(refusal("PK\3\4 and more"), "it is no ONNX file"));
  CHECK(says(refusal(model_file("ir_version: 8")), "it has no version or no graph"));
  CHECK(says(refusal(model_file("ir_version: 8 graph { }")), "which operator sets"));
}

TEST_CASE("005 a newer model names both versions") {
  const Error opset = refusal(model_file("ir_version: 8 opset_import { version: 9000 } graph { }"));
  CHECK(says(opset, "it uses operator set 9000; this ferry knows up to "));
  CHECK(says(opset, "use a newer ferry"));
  CHECK(
      says(refusal(model_file("ir_version: 99 opset_import { version: 18 } graph { }")), "its format is version 99;"));
}

TEST_CASE("008 a model nested over the limit") {
  std::string body = node("y", "Relu", "x");
  for (int i = 0; i < 60; ++i) body = node("y", "If", "p", attribute("then_branch", "g { " + body + " }", "GRAPH"));
  CHECK(says(refusal(model_of(body)), "nested more than 100 deep"));
}

TEST_CASE("009 nodes that form a cycle") {
  const Error error = refusal(model_of(node("a", "Relu", "b") + node("b", "Relu", "a")));
  CHECK(says(error, "nodes form a cycle: "));
  CHECK(says(error, "node \"a\" (Relu) -> node \"b\" (Relu)"));
  std::string many;
  for (int i = 0; i < 2000; ++i)
    many += node("n" + std::to_string(i), "Relu", "n" + std::to_string(i == 0 ? 1999 : i - 1));
  const Error of_many = refusal(model_of(many));
  CHECK(says(of_many, "2000 nodes form a cycle: node \"n"));
  CHECK(says(of_many, " -> … -> "));
  CHECK(says(of_many, "try: remove one of these inputs"));
  CHECK(of_many.text().size() < 500);
}

TEST_CASE("nodes in any order are put in order") {
  const std::string file = model_of(value("input", "x", "float32", {"2"}) + value("output", "y", "float32", {}) +
                                    node("y", "Relu", "h") + node("h", "Neg", "x"));
  CHECK(run_model(file, {{"x", Tensor::of<float>({2}, {-1, 1})}})[0].str() == "[1 0]");
}

TEST_CASE("012 a function that calls itself") {
  const Error error = refusal(
      model_of(value("input", "x", "float32", {"2"}) + node("y", "F", "x", "domain: 'mine' "),
               "opset_import { domain: 'mine' version: 1 } functions { name: 'F' domain: 'mine' input: 'a' output: 'b' "
               "opset_import { version: 18 } " +
                   node("b", "F", "a", "domain: 'mine' ") + " }"));
  CHECK(error.text() == "m.onnx: node \"y\" (mine.F): node \"b\" (mine.F): the function \"F\" calls itself");
}

TEST_CASE("functions that call others many times are bounded") {
  std::string functions = "opset_import { domain: 'm' version: 1 } ";
  for (int i = 0; i < 13; ++i) {
    std::string nodes, from = "x";
    for (int k = 0; k < 10; ++k) {
      const std::string to = "t" + std::to_string(k);
      nodes += i == 12 ? node(to, "Relu", from) : node(to, "F" + std::to_string(i + 1), from, "domain: 'm' ");
      from = to;
    }
    functions += "functions { name: 'F" + std::to_string(i) + "' domain: 'm' input: 'x' output: 't9' " + nodes +
                 "opset_import { version: 18 } opset_import { domain: 'm' version: 1 } } ";
  }
  const Error error = refusal(model_of(value("input", "x", "float32", {"2"}) + node("y", "F0", "x", "domain: 'm' ") +
                                           value("output", "y", "float32", {}),
                                       functions));
  CHECK(says(error, "the calls of functions and the rounds of loops come to more than 200000 nodes"));
}

TEST_CASE("a node has a bounded number of outputs") {
  std::string names;
  for (int i = 0; i < 16385; ++i) names += (i == 0 ? "y" : ",y") + std::to_string(i);
  const std::string x = value("input", "x", "float32", {"16385"});
  CHECK(says(refusal(model_of(x + node(names, "Split", "x"))),
             "node \"y0\" (Split): 16385 outputs; at most 16384 are allowed"));
  CHECK(says(refusal(model_of(x + node("z", "Sum", names))), "16385 inputs; at most 16384 are allowed"));
}

TEST_CASE("013 a value that is given twice") {
  const std::string x = value("input", "x", "float32", {"2"});
  CHECK(
      says(refusal(model_of(x + node("y", "Relu", "x") + node("y", "Neg", "x"))), "the value \"y\" is there already"));
  CHECK(says(refusal(model_of(x + value("input", "z", "float32", {"2"}) + node("x", "Relu", "z"))),
             "the value \"x\" is there already"));
  CHECK(says(refusal(model_of(x + initializer("y", {1}, {1}) + node("y", "Relu", "x"))), "initializer \"y\""));
  CHECK(says(refusal(model_of(initializer("y", {1}, {1}) + initializer("y", {1}, {1}))), "initializer \"y\""));
}

TEST_CASE("014 an input that nothing gives") {
  const Error error = refusal(model_of(node("y", "Relu", "x")));
  CHECK(says(error, "node \"y\" (Relu): nothing gives the value \"x\""));
  CHECK(says(refusal(model_of(value("output", "q", "float32", {}))), "nothing gives the value \"q\""));
}

TEST_CASE("016 names that are no names") {
  const std::string x = value("input", "x", "float32", {"2"});
  CHECK(says(refusal(model_of(x + node("y\\000z", "Relu", "x"))), "has a NUL in it"));
  CHECK(says(refusal(model_of(x + node("y\\377", "Relu", "x"))), "is not UTF-8"));
  CHECK(says(refusal(model_of(x + node(std::string(1 << 20, 'y'), "Relu", "x"))), "is too long"));
  CHECK(says(refusal(model_of("initializer { data_type: 7 dims: 0 }")), "is empty"));
}

TEST_CASE("017 ops and dtypes that ferry has not are listed all at once") {
  const Error error = refusal(
      model_of(value("input", "x", "float32", {"2"}) + value("input", "s", "8", {"2"}) + node("y", "Frob", "x") +
               node("z", "Frob", "x") + node("u", "Knit", "x", "domain: 'mine' name: 'n' ") +
               "initializer { name: 'w' data_type: 15 dims: 0 } " + value("output", "w", "float32", {})));
  CHECK(says(error, "4 things that ferry does not import"));
  CHECK(says(error, "op Frob: 2 times, first node \"y\" (Frob)"));
  CHECK(says(error, "op mine.Knit: 1 time, node \"n\" (mine.Knit)"));
  CHECK(says(error, "dtype string: 1 time, value \"s\""));
  CHECK(says(error, "dtype complex128: 1 time, initializer \"w\""));
}

TEST_CASE("017 the error of a decoder of images names what to do instead") {
  const Error error = refusal(model_of(value("input", "x", "2", {"n"}) + node("y", "ImageDecoder", "x")));
  CHECK(says(error, "op ImageDecoder: 1 time, node \"y\" (ImageDecoder)"));
  CHECK(says(error, "remove the ImageDecoder, and feed the decoded pixels, uint8 [height,width,channels]"));
}

TEST_CASE("018 an op that is older than ferry's") {
  const std::string file = model_file("ir_version: 8 opset_import { version: 5 } graph { " +
                                      value("input", "x", "float32", {"2"}) + node("y", "Expand", "x, x") + " }");
  CHECK(says(refusal(file), "op Expand of operator set 5"));
}

TEST_CASE("019 attributes that are missing, or of another kind") {
  const std::string x = value("input", "x", "float32", {"2"});
  CHECK(says(refusal(model_of(x + node("y", "Cast", "x"))), "attribute 'to' is missing"));
  CHECK(says(refusal(model_of(x + node("y", "Cast", "x", attribute("to", "s: 'f'", "STRING")))),
             "attribute 'to' should be a integer"));
  CHECK(says(refusal(model_of(x + node("y", "Cast", "x", attribute("to", "i: 99", "INT")))),
             "ferry does not have the dtype number 99 of ONNX"));
  CHECK(says(refusal(model_of(
                 x + node("y", "Elu", "x", attribute("alpha", "f: 1", "FLOAT") + attribute("alpha", "f: 2", "FLOAT")))),
             "\"alpha\" is there twice"));
  CHECK(says(refusal(model_of(x + node("y", "Cast", "x", attribute("to", "i: 17", "INT")))), "the dtype float8e4m3fn"));
}

TEST_CASE("an initializer of another dtype that nobody uses is left out") {
  const std::string unused = "initializer { name: 'w' data_type: 17 dims: 1 raw_data: 'a' } ";
  const std::string x = value("input", "x", "float32", {"2"});
  CHECK_NOTHROW(static_cast<void>(import(model_of(unused + x + kY + node("y", "Relu", "x")))));
  CHECK(says(refusal(model_of(unused + x + kY + node("y", "Cast", "w", attribute("to", "i: 1", "INT")))),
             "dtype float8e4m3fn: 1 time, initializer \"w\""));
}

TEST_CASE("021 shapes that do not fit name the node") {
  const Error error = refusal(model_of(value("input", "x", "float32", {"2"}) + value("input", "z", "float32", {"3"}) +
                                       node("y", "Add", "x, z", "name: 'plus' ")));
  CHECK(says(error, "node \"plus\" (Add): Add: sizes do not broadcast: 2 and 3"));
}

TEST_CASE("022 023 dims that are negative, or overflow") {
  CHECK(says(refusal(tensor_of("data_type: 1 dims: -1")), "initializer \"w\": negative dim -1"));
  CHECK(says(refusal(tensor_of("data_type: 1 dims: 4294967296 dims: 4294967296")), "its dims overflow"));
  CHECK(says(refusal(tensor_of("data_type: 1 dims: 0 dims: 9223372036854775807 dims: 8")), "its dims overflow"));
  CHECK(says(refusal(model_of(value("input", "x", "float32", {"-7"}))), "negative dim -7"));
  std::string dims;
  for (int i = 0; i < 40; ++i) dims += "dims: 1 ";
  CHECK(says(refusal(tensor_of("data_type: 1 " + dims)), "40 dims; at most 32"));
  const std::string shape = initializer("s", {2}, {4294967296, 4294967296});
  CHECK(says(refusal(model_of(shape + value("output", "y", "float32", {}) + node("y", "ConstantOfShape", "s"))),
             "node \"y\" (ConstantOfShape)"));
}

TEST_CASE("025 bytes that are not those of the dims") {
  CHECK(says(refusal(tensor_of("data_type: 1 dims: 2 raw_data: 'abcd'")), "float32[2]"));
  CHECK(says(refusal(tensor_of("data_type: 1 dims: 2 float_data: 1")), "1 numbers for float32[2]"));
  CHECK(says(refusal(tensor_of("data_type: 1 dims: 1000000000000")), "0 numbers for float32[1000000000000]"));
  CHECK(says(refusal(tensor_of("data_type: 9 dims: 1 int32_data: 2")), "a bool that is neither 0 nor 1"));
  CHECK(says(refusal(tensor_of("data_type: 9 dims: 1 raw_data: '\\002'")), "initializer \"w\""));
}

TEST_CASE("numbers that the dtype does not have, and data in two places") {
  CHECK(says(refusal(tensor_of("data_type: 2 dims: 2 int32_data: 255 int32_data: 256")), "256 is no number of uint8"));
  CHECK(says(refusal(tensor_of("data_type: 3 dims: 1 int32_data: -129")), "-129 is no number of int8"));
  CHECK(says(refusal(tensor_of("data_type: 10 dims: 1 int32_data: 65536")), "65536 is no number of float16"));
  CHECK(says(refusal(tensor_of("data_type: 12 dims: 1 uint64_data: 4294967296")), "is no number of uint32"));
  CHECK(says(refusal(tensor_of("data_type: 1 dims: 1 float_data: 1 raw_data: 'abcd'")), "raw_data and a list"));
  const std::string outside =
      "data_type: 1 dims: 1 data_location: EXTERNAL external_data { key: 'location' value: 'w' } ";
  CHECK(says(refusal(tensor_of(outside + "raw_data: 'abcd'")), "external data and data of its own"));
  CHECK(says(refusal(tensor_of(outside + "external_data { key: 'location' value: 'v' }")), "two locations"));
  CHECK(says(refusal(tensor_of("data_type: 1 dims: 1 data_location: EXTERNAL external_data { key: 'location' "
                               "value: 'w\\000x' }")),
             "has NUL"));
}

TEST_CASE("032 external data in the cache of huggingface_hub are links to files beside the model's real file") {
  const TempFolder top;
  std::filesystem::create_directories(top / "blobs");
  std::filesystem::create_directories(top / "snapshots/r/onnx");
  local_files().write(top / "blobs/bbb", std::string_view("\0\0\x80\x3f\0\0\0\x40", 8));
  local_files().write(top / "blobs/aaa", external("model.onnx_data"));
  std::filesystem::create_symlink("../../../blobs/aaa", top / "snapshots/r/onnx/model.onnx");
  std::filesystem::create_symlink("../../../blobs/bbb", top / "snapshots/r/onnx/model.onnx_data");
  const onnx::Model model = onnx::read_model(top / "snapshots/r/onnx/model.onnx");
  CHECK(model.graph.initializers[0].second.str() == "[1 2]");
  local_files().write(top / "out.bin", std::string_view("12345678"));
  std::filesystem::remove(top / "snapshots/r/onnx/model.onnx_data");
  std::filesystem::create_symlink("../../../out.bin", top / "snapshots/r/onnx/model.onnx_data");
  CHECK(says(error_of([&] { static_cast<void>(onnx::read_model(top / "snapshots/r/onnx/model.onnx")); }),
             "refused: the path has a symbolic link"));
}

TEST_CASE("032 external data lie beneath the model's folder") {
  const TempFolder top;
  const std::string folder = top / "model";
  std::filesystem::create_directories(folder + "/deep");
  local_files().write(top / "out.bin", std::string_view("12345678"));
  local_files().write(folder + "/deep/w.bin", std::string_view("\0\0\0\0\0\0\x80\x3f\0\0\0\x40", 12));
  const auto weights = onnx::import_model(decode(external("deep/w.bin", number("offset", "4")), folder), options());
  const Graph& graph = *weights.graph;
  CHECK(graph.constant_value(graph.entries().at("predict").fetches[0].value)->str() == "[1 2]");

  CHECK(says(refusal(external("../out.bin"), folder), "out.bin"));
  CHECK(says(refusal(external(top / "out.bin"), folder), "out.bin"));
  std::filesystem::create_symlink(top / "out.bin", folder + "/link.bin");
  CHECK(says(refusal(external("link.bin"), folder), "link.bin"));
  std::filesystem::create_directory_symlink(top.path(), folder + "/up");
  CHECK(says(refusal(external("up/out.bin"), folder), "out.bin"));
  std::filesystem::create_hard_link(top / "out.bin", folder + "/hard.bin");
  CHECK(says(refusal(external("hard.bin"), folder), "hard.bin"));
  std::filesystem::create_symlink("deep/w.bin", folder + "/inside.bin");
  CHECK_NOTHROW(static_cast<void>(decode(external("inside.bin", number("offset", "4")), folder)));
  CHECK(says(refusal(external("deep/../../out.bin"), folder), "goes up"));
  CHECK(says(refusal(external("deep"), folder), "deep"));
  CHECK(says(refusal(external("none.bin"), folder), "none.bin"));

  CHECK(says(refusal(external("deep/w.bin", number("offset", "8")), folder), "8 bytes from 8, are not in"));
  CHECK(says(refusal(external("deep/w.bin", number("offset", "18446744073709551615")), folder), "are not in"));
  CHECK(says(refusal(external("deep/w.bin", number("length", "4")), folder), "its external data are 4 bytes"));
  CHECK(says(refusal(external("deep/w.bin", number("offset", "-1")), folder), "its external offset is"));
  CHECK(says(refusal(tensor_of("data_type: 1 dims: 2 data_location: EXTERNAL"), folder), "have no location"));
}

TEST_CASE("a sparse initializer is filled with zeros") {
  const std::string sparse =
      "sparse_initializer { values { name: 'w' data_type: 1 dims: 2 float_data: 5 float_data: 7 } indices { data_type: "
      "7 "
      "dims: 2 int64_data: 1 int64_data: 2 } dims: 4 } ";
  CHECK(run_model(model_of(sparse + value("output", "w", "float32", {})), {})[0].str() == "[0 5 7 0]");
  std::string outside = sparse;
  outside.replace(outside.find("int64_data: 2"), 13, "int64_data: 4");
  CHECK(says(refusal(model_of(outside)), "index 4 is outside"));
}
