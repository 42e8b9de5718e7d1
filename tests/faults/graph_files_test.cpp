// Faults of graph files, by their numbers in README.md: each bad file is refused with code 3, by a message that names
// file and reason.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "graph/file/graph_file.hpp"
#include "graph/file/graph_frame.hpp"
#include "graph/legality.hpp"
#include "graph/op/core_ops.hpp"
#include "ops/array/array.hpp"
#include "ops/control/control.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/op_set.hpp"
#include "tests/support/has.hpp"
#include "tests/support/temp_folder.hpp"

using namespace ferry;

namespace {

using ferry::test::has;

std::string refusal(const std::string& content, GraphFormat format) {
  try {
    static_cast<void>(decode_graph(std::as_bytes(std::span(content)), format, "bad.pb", default_ops()));
  } catch (const Error& error) {
    CHECK(error.code() == Code::file);
    CHECK(error.text().starts_with("bad.pb: "));
    CHECK(error.text().size() < 4000);
    return error.text();
  }
  return "accepted";
}

/// The error for a text file with these ops in its main graph, "accepted" where there is none.
std::string refused_ops(const std::string& ops, const std::string& rest = "") {
  return refusal("version: 1 graph { " + ops + " } " + rest, GraphFormat::text);
}

std::string constant(const std::string& name, const std::string& tensor) {
  return "op { name: '" + name + "' op: 'Constant' attr { name: 'value' tensor { " + tensor + " } } } ";
}

const std::string kA = constant("a", "dtype: FLOAT32 size: 2 floats { value: [1, 2] }");

std::string small_file() {
  Graph graph;
  const Value a = graph.constant({1, 2, 3}, on("/task:0"));
  graph.fetch("predict", "c", (a + a).named("c"));
  return encode_graph(graph, GraphFormat::binary).content;
}

/// Writes the head that fits the content, as a forger would.
std::string framed(std::string content) {
  write_graph_head(content);
  return content;
}

/// A file with a While on a constant; `body_of_op` has the attributes that name its bodies, `body` the bodies.
std::string loop_file(const std::string& body_of_op, const std::string& body) {
  return "version: 1 graph { " + kA + " op { name: 'while' op: 'While' input: 'a' attr { name: 'carried' int: 1 } " +
         body_of_op + " } } " + body;
}

}  // namespace

TEST_CASE("001 empty graph file") {
  CHECK(has(refusal("", GraphFormat::binary), "the file is empty"));
  CHECK(has(refusal("", GraphFormat::text), "does not say its version"));
  CHECK(has(refusal("version: 1", GraphFormat::text), "no graph in it"));
}

TEST_CASE("002 graph file cut at any byte") {
  const std::string whole = small_file();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string text = refusal(whole.substr(0, size), GraphFormat::binary);
    CHECK_MESSAGE(text != "accepted", "cut after ", size);
  }
}

TEST_CASE("003 any bit of a graph file flipped: rejected or harmless") {
  const std::string whole = small_file();
  for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit) {
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    std::unique_ptr<Graph> graph;
    try {
      graph = decode_graph(std::as_bytes(std::span(flipped)), GraphFormat::binary, "bad.pb", default_ops());
    } catch (const Error& error) {
      CHECK(error.code() == Code::file);
      continue;
    }
    CHECK_MESSAGE(encode_graph(*graph, GraphFormat::binary).content == whole, "bit ", bit);
  }
}

TEST_CASE("003 any byte of a text file changed: rejected or a legal graph") {
  const std::string whole = "version: 1 graph { " + kA + " op { name: 'b' op: 'Add' input: 'a' input: 'a' } }";
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (char c : {'\0', ' ', '9', '{', '\'', '\xff'}) {
      std::string changed = whole;
      changed[at] = c;
      static_cast<void>(refusal(changed, GraphFormat::text));
    }
}

TEST_CASE("004 wrong magic") {
  std::string wrong = small_file();
  wrong[3] = 'X';
  CHECK(has(refusal(wrong, GraphFormat::binary), "not a ferry graph"));
  CHECK(has(refusal("PNG or whatever else there may be", GraphFormat::binary), "not a ferry graph"));
}

TEST_CASE("005 newer format names both versions") {
  CHECK(has(refusal("version: 7 graph { }", GraphFormat::text), "version 7; this ferry reads up to version 3"));
  std::string newer = small_file();
  REQUIRE(newer[kGraphHeadBytes] == 0x18);  // field 3
  newer[kGraphHeadBytes + 1] = 9;
  CHECK(has(refusal(framed(newer), GraphFormat::binary), "version 9; this ferry reads up to version 3"));
}

TEST_CASE("006 trailing bytes") {
  CHECK(has(refusal(small_file() + "x", GraphFormat::binary), "bytes after its end"));
  CHECK(refusal(framed(small_file() + "x"), GraphFormat::binary) != "accepted");
  CHECK(has(refusal(framed(small_file() + "\xa2\x06\x01x"), GraphFormat::binary), "it has the field 100"));
  CHECK(refusal("version: 1 graph { } }", GraphFormat::text) != "accepted");
}

TEST_CASE("007 over the size limit") {
  const test::TempFolder folder;
  const std::string path = folder / "large.pb";
  local_files().write(path, small_file());
  std::filesystem::resize_file(path, kMaxGraphBytes + 1);  // a hole: takes no disk
  try {
    static_cast<void>(load_graph(path, default_ops()));
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == Code::file);
    CHECK(has(error.text(), "large.pb"));
  }
}

TEST_CASE("008 nested over the limit: refused when loading and when saving") {
  std::string deep = small_file();
  deep += std::string(200, '\x4b') + std::string(200, '\x4c');  // protobuf groups within groups
  CHECK(has(refusal(framed(deep), GraphFormat::binary), "nested more than"));
  CHECK(refusal("version: 1 graph { op { attr { " + std::string(10000, '{'), GraphFormat::text) != "accepted");
  std::string bodies = "version: 1 graph { } ";
  for (int i = 0; i <= kMaxNesting; ++i) bodies += "graph { parent: " + std::to_string(i) + " } ";
  CHECK(has(refusal(bodies, GraphFormat::text), "nested more than 32 deep"));

  Graph graph;
  const Value one = graph.constant(1);
  const std::function<Values(int)> nest = [&](int depth) {
    if (depth == 0) return Values{one + 1};
    return cond(
        less(one, 2), [&] { return nest(depth - 1); }, [&] { return Values{one * 1}; });
  };
  nest(kMaxNesting + 1);
  CHECK_THROWS_WITH_AS(static_cast<void>(encode_graph(graph, GraphFormat::binary)), doctest::Contains("nested more"),
                       Error);
}

TEST_CASE("009 cycle, printed") {
  const std::string text =
      refused_ops(kA +
                  "op { name: 'x' op: 'Add' input: 'a' input: 'y' } op { name: 'y' op: 'Neg' input: 'z' } "
                  "op { name: 'z' op: 'Neg' input: 'x' }");
  CHECK(has(text, "cycle of 3"));
  CHECK(has(text, "\"x\" (Add) takes \"y\" (Neg)"));
  CHECK(has(text, "\"z\" (Neg) takes \"x\" (Add)"));
  CHECK(has(refused_ops("op { name: 'x' op: 'Neg' input: 'x' }"), "\"x\" (Neg) takes \"x\" (Neg)"));
}

TEST_CASE("010 cycle of control edges, printed") {
  const std::string text = refused_ops(kA +
                                       "op { name: 'x' op: 'Neg' input: 'a' after: 'y' } "
                                       "op { name: 'y' op: 'Neg' input: 'x' }");
  CHECK(has(text, "\"x\" (Neg) runs after \"y\" (Neg)"));
}

TEST_CASE("011 malformed loop or branch") {
  const std::string bodies = "attr { name: 'cond' body: 1 } attr { name: 'body' body: 2 } ";
  const std::string parameter =
      "op { name: 'p' op: 'Parameter' attr { name: 'dtype' dtype: FLOAT32 } attr { name: 'shape' shape { dim { size: "
      "2 } } } } parameter: 'p' ";
  const std::string body = "graph { parent: 0 " + parameter + " result: 'p' } ";
  CHECK(has(refusal(loop_file(bodies, body + body), GraphFormat::text), "condition"));  // not a bool scalar
  CHECK(has(refusal(loop_file(bodies, body), GraphFormat::text), "graph 2, is not there"));
  CHECK(has(refusal(loop_file("attr { name: 'cond' body: 1 } attr { name: 'body' body: 1 } ", body), GraphFormat::text),
            "belongs to another op"));
  CHECK(has(refusal(loop_file(bodies, body + "graph { parent: 0 parameter: 'q' }"), GraphFormat::text), "no op \"q\""));
  CHECK(has(refusal(loop_file(bodies, body + "graph { parent: 0 capture: 'a' }"), GraphFormat::text),
            "captures more than it has parameters"));
  CHECK(has(refusal("version: 1 graph { } graph { parent: 0 }", GraphFormat::text), "is the body of no op"));
  CHECK(has(refused_ops("op { name: 'p' op: 'Parameter' attr { name: 'dtype' dtype: INT32 } attr { name: 'shape' shape "
                        "{ } } }"),
            "outside of a body"));
}

TEST_CASE("012 self-recursive subgraph") {
  CHECK(has(refusal("version: 1 graph { } graph { parent: 1 }", GraphFormat::text), "is a body in itself"));
  CHECK(has(refusal("version: 1 graph { } graph { parent: 2 } graph { parent: 1 }", GraphFormat::text),
            "comes before the graph that it is in"));
  const std::string recursive =
      "graph { parent: 0 op { name: 'c' op: 'While' input: 'p' attr { name: 'body' body: 1 } } "
      "op { name: 'p' op: 'Parameter' attr { name: 'dtype' dtype: FLOAT32 } attr { name: 'shape' shape { dim { size: 2 "
      "} } } } parameter: 'p' }";
  CHECK(has(refusal(loop_file("attr { name: 'body' body: 1 }", recursive), GraphFormat::text), "contains itself"));
  CHECK(has(refusal(loop_file("attr { name: 'body' body: 0 }", ""), GraphFormat::text), "contains itself"));
}

TEST_CASE("013 duplicate name") {
  CHECK(has(refused_ops(kA + kA), "two ops have the name \"a\""));
  CHECK(has(refused_ops(kA, "entry { name: 'e' } entry { name: 'e' }"), "two entries have the name \"e\""));
  const std::string fetch = "fetch { name: 'y' value: 'a' } ";
  CHECK(has(refused_ops(kA, "entry { name: 'e' " + fetch + fetch + "}"), "is there twice"));
}

TEST_CASE("014 dangling input") {
  CHECK(has(refused_ops(kA + "op { name: 'x' op: 'Neg' input: 'aa' }"), "\"x\" (Neg): there is no op \"aa\""));
  CHECK(has(refused_ops(kA + "op { name: 'x' op: 'Neg' input: 'a' after: 'q' }"), "there is no op \"q\""));
  CHECK(has(refused_ops(kA, "entry { name: 'e' fetch { name: 'y' value: 'q' } }"), "there is no value \"q\""));
  CHECK(has(refused_ops(kA, "entry { name: 'e' target: 'q' }"), "there is no op \"q\""));
}

TEST_CASE("015 output index out of range") {
  CHECK(has(refused_ops(kA + "op { name: 'x' op: 'Neg' input: 'a:1' }"), "\"a:1\" is not there: \"a\" has 1 output"));
  CHECK(has(refused_ops(kA + "op { name: 'x' op: 'Neg' input: 'a:99999999999999999999' }"), "is not there"));
  CHECK(has(refused_ops(kA, "entry { name: 'e' fetch { name: 'y' value: 'a:1' } }"), "there is no value \"a:1\""));
}

TEST_CASE("016 name that is empty, has NUL, is not UTF-8, or is 1 MB long") {
  const auto named = [](const std::string& name) {
    return refused_ops(constant(name, "dtype: FLOAT32 floats { value: 1 }"));
  };
  CHECK(has(named(""), "an op's name is empty"));
  CHECK(has(named("a\\000b"), "has a NUL in it: \"a\\x00b\""));
  CHECK(has(named("a\\377"), "is not UTF-8: \"a\\xff\""));
  CHECK(has(named(std::string(1 << 20, 'n')), "is too long"));
  CHECK(has(refused_ops(kA, "entry { name: '' }"), "an entry's name is empty"));
  CHECK(has(refused_ops(kA, "entry { name: 'e' fetch { name: 'y\\000' value: 'a' } }"), "has a NUL"));
}

TEST_CASE("017 unknown op, with the nearest") {
  CHECK(has(refused_ops(kA + "op { name: 'x' op: 'MatMull' input: 'a' input: 'a' }"),
            "did you mean MatMul?\n  try: if it is in a library of your own: --ops LIB.so"));
  CHECK(has(refused_ops(kA + "op { name: 'x' op: 'Qqqqqqqqqqq' }"),
            "there is no op \"Qqqqqqqqqqq\"\n  try: if it is in a library of your own: --ops LIB.so"));
}

TEST_CASE("018 unknown op version") {
  CHECK(has(refused_ops(kA + "op { name: 'x' op: 'Neg' version: 2 input: 'a' }"), "Neg@2, this ferry knows Neg@1"));
  CHECK(has(refused_ops(kA + "op { name: 'x' op: 'Neg' version: 0 input: 'a' }"), "Neg@0"));
}

TEST_CASE("019 attribute missing, unknown or of the wrong type") {
  CHECK(has(refused_ops("op { name: 'x' op: 'Constant' }"), "attribute 'value' is missing"));
  CHECK(has(refused_ops("op { name: 'x' op: 'Constant' attr { name: 'value' int: 3 } }"), "must be of type tensor"));
  CHECK(has(refused_ops("op { name: 'x' op: 'Constant' attr { name: 'value' } }"), "has no value"));
  CHECK(has(refused_ops(kA + "op { name: 'x' op: 'Neg' input: 'a' attr { name: 'q' bool: true } }"),
            "unknown attribute 'q'"));
  const std::string twice = "attr { name: 'value' tensor { dtype: INT32 ints { value: 1 } } } ";
  CHECK(has(refused_ops("op { name: 'x' op: 'Constant' " + twice + twice + "}"), "is there twice"));
}

TEST_CASE("020 dtype mismatch") {
  const std::string b = constant("b", "dtype: INT32 size: 2 ints { value: [1, 2] }");
  CHECK(has(refused_ops(kA + b + "op { name: 'x' op: 'Add' input: 'a' input: 'b' }"), "float32 and int32"));
  CHECK(has(refused_ops(kA + "op { name: 'x' op: 'Neg' input: 'a' type_of_output: 0 }",
                        "type { dtype: INT32 shape { dim { size: 2 } } }"),
            "int32[2] in the file, inference gives float32[2]"));
  CHECK(has(refused_ops(constant("c", "dtype: DTYPE_UNKNOWN size: 1 bytes: 'x'")), "dtype is missing or unknown"));
}

TEST_CASE("021 shape mismatch") {
  CHECK(
      has(refused_ops(kA + constant("i", "dtype: INT64 size: 1 ints { value: 0 }") +
                      "op { name: 'r' op: 'RoiAlign' input: 'a' input: 'a' input: 'i' attr { name: 'columns' int: 1 } "
                      "attr { name: 'half_pixel' bool: true } attr { name: 'largest' bool: false } attr { name: "
                      "'rows' int: 1 } attr { name: 'scale' float: 1 } }"),
          "images are [n,channels,rows,columns], not [2]"));
  const std::string b = constant("b", "dtype: FLOAT32 size: 3 floats { value: [1, 2, 3] }");
  CHECK(has(refused_ops(kA + b + "op { name: 'x' op: 'Add' input: 'a' input: 'b' }"), "2 and 3"));
  CHECK(has(refused_ops(kA + "op { name: 'x' op: 'Neg' input: 'a' type_of_output: 0 }",
                        "type { dtype: FLOAT32 shape { dim { size: 3 } } }"),
            "float32[3] in the file, inference gives float32[2]"));
}

TEST_CASE("022 negative dim") {
  CHECK(has(refused_ops(constant("c", "dtype: FLOAT32 size: -1 bytes: ''")), "negative dim -1"));
  CHECK(has(refused_ops("op { name: 'x' op: 'Input' attr { name: 'dtype' dtype: INT32 } attr { name: 'shape' shape { "
                        "dim { size: -5 } } } }"),
            "negative dim -5"));
}

TEST_CASE("023 product of dims overflows") {
  CHECK(has(refused_ops(constant("c", "dtype: FLOAT32 size: 4611686018427387904 size: 8 bytes: ''")), "overflows"));
  CHECK(has(refused_ops(constant("c", "dtype: FLOAT64 size: 2000000000000000000 bytes: ''")), "overflows"));
}

TEST_CASE("024 zero-size tensor is valid") {
  CHECK(refused_ops(constant("c", "dtype: FLOAT32 size: 0 size: 5 bytes: ''") +
                    "op { name: 'x' op: 'Neg' input: 'c' }") == "accepted");
  Graph graph;
  graph.constant(Tensor(DType::int64, {3, 0}));
  for (GraphFormat format : {GraphFormat::binary, GraphFormat::text}) {
    const std::string content = encode_graph(graph, format).content;
    CHECK(decode_graph(std::as_bytes(std::span(content)), format, "zero", default_ops())->type(0).str() ==
          "int64[3,0]");
  }
}

TEST_CASE("025 constant's bytes are not shape times dtype") {
  CHECK(has(refused_ops(constant("c", "dtype: FLOAT32 size: 2 bytes: '1234567'")), "needs 8 bytes, 7 are there"));
  CHECK(has(refused_ops(constant("c", "dtype: INT32 size: 2 ints { value: 1 }")), "has 1 numbers"));
  CHECK(has(refused_ops(constant("c", "dtype: UINT8 size: 1 ints { value: 256 }")), "256 is no uint8"));
  CHECK(has(refused_ops(constant("c", "dtype: INT32 size: 1 floats { value: 1e300 }")), "needs ints"));
  CHECK(has(refused_ops(constant("c", "dtype: INT8 size: 1 ints { value: -129 }")), "-129 is no int8"));
  CHECK(has(refused_ops(constant("c", "dtype: UINT64 size: 1 ints { value: -1 }")), "-1 is no uint64"));
  CHECK(has(refused_ops(constant("c", "dtype: FLOAT16 size: 1 floats { value: 70000 }")), "is no float16"));
  CHECK(has(refused_ops(constant("c", "dtype: BFLOAT16 size: 3 bytes: '12345'")), "needs 6 bytes, 5 are there"));
  CHECK(has(refused_ops(constant("c", "dtype: BOOL size: 1 bytes: '\\002'")), "other than 0 and 1"));
  CHECK(has(refused_ops(constant("c", "dtype: INT32 size: 1")), "exactly one of"));
}

TEST_CASE("026 a million ops, 027 a chain a million deep") {
  constexpr int kOps = 1000000;
  Graph graph;
  const Value one = graph.constant(1);
  Value value = one;
  for (int i = 0; i < kOps; ++i) value = value + one;
  graph.fetch("predict", "end", value);
  const std::string content = encode_graph(graph, GraphFormat::binary).content;
  const auto back = decode_graph(std::as_bytes(std::span(content)), GraphFormat::binary, "chain.pb", default_ops());
  REQUIRE(back->size() == graph.size());
  CHECK(back->op(kOps).name() == graph.op(kOps).name());
  CHECK(back->op(kOps).inputs()[0] == value.id() - 1);
}

TEST_CASE("032 large tensors are looked for beside the file only") {
  const test::TempFolder folder;
  local_files().write(folder / "secret.safetensors", std::string(8, '\0'));
  const std::string file =
      "version: 1 graph { op { name: 'c' op: 'Constant' attr { name: 'value' tensor { dtype: FLOAT32 size: 1 beside: "
      "'../../secret' } } } }";
  local_files().write(folder / "m.pbtxt", file);
  Tensor other(DType::float32, {1});
  Graph graph;
  Tensor large(DType::float32, {600, 512});
  graph.constant(large);
  save_graph(graph, folder / "n.pb");
  std::filesystem::copy_file(folder / "n.pb.safetensors", folder / "m.pbtxt.safetensors");
  try {
    static_cast<void>(load_graph(folder / "m.pbtxt", default_ops()));
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(error.code() == Code::file);
    CHECK(has(error.text(), "\"../../secret\" is not in the .safetensors file"));
  }
}

TEST_CASE("033 FIFO, folder or device given as a graph file") {
  const test::TempFolder folder;
  REQUIRE(::mkfifo((folder / "fifo.pb").c_str(), 0600) == 0);
  std::filesystem::create_directory(folder / "folder.pb");
  for (const std::string& path : {folder / "fifo.pb", folder / "folder.pb", std::string("/dev/zero")}) {
    try {
      static_cast<void>(load_graph(path, default_ops()));
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.code() == Code::file);
      CHECK(has(error.text(), path));
    }
  }
}
