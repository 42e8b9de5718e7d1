// Nodes of every op that is imported, with inputs and attributes drawn at random: each is refused with an Error, or
// gives a legal graph that runs or fails with an Error.
#include <doctest/doctest.h>

#include <sstream>

#include "base/format.hpp"
#include "graph/legality.hpp"
#include "ops/onnx/converters.hpp"
#include "tests/onnx/models.hpp"
#include "tests/support/dice.hpp"

using namespace ferry;
using namespace ferry::test;

namespace {

constexpr int kNodesOfEachOp = 25;
constexpr std::int64_t kMostBytes = 1 << 20;  // a node with a larger value is not run

const std::vector<std::string> kTypes{"1", "1", "1", "1",  "7",
                                      "7", "6", "9", "11", "2"};  // ONNX's numbers, float32 often
const std::vector<std::vector<std::string>> kShapes{{},
                                                    {"1"},
                                                    {"3"},
                                                    {"2", "3"},
                                                    {"3", "2"},
                                                    {"0", "3"},
                                                    {"2", "3", "4"},
                                                    {"1", "4", "5", "5"},
                                                    {"4", "1", "3", "3"},
                                                    {"1", "2", "3", "3", "3"},
                                                    {"batch", "3"},
                                                    {"4"}};
const std::vector<std::string> kNumbers{"0",
                                        "0",
                                        "1",
                                        "1",
                                        "1",
                                        "2",
                                        "2",
                                        "3",
                                        "4",
                                        "-1",
                                        "-2",
                                        "5",
                                        "7",
                                        "-7",
                                        "4294967296",
                                        "9223372036854775807",
                                        "-9223372036854775808"};
const std::vector<std::string> kReals{"0", "1", "0.5", "-1", "2", "1e30", "nan", "inf"};
const std::vector<std::string> kTexts{"SAME_UPPER", "SAME_LOWER",    "VALID",  "NOTSET", "constant",  "edge",
                                      "reflect",    "wrap",          "linear", "cubic",  "nearest",   "none",
                                      "sum",        "mean",          "add",    "max",    "ij,jk->ik", "i...->...",
                                      "forward",    "bidirectional", "DCR",    "CRD",    "tanh",      ""};
const std::vector<std::string> kIntegers{"axis",
                                         "keepdims",
                                         "group",
                                         "ceil_mode",
                                         "to",
                                         "blocksize",
                                         "num_outputs",
                                         "transA",
                                         "transB",
                                         "hidden_size",
                                         "dtype",
                                         "num_scan_inputs",
                                         "largest",
                                         "batch_dims",
                                         "select_last_index",
                                         "allowzero",
                                         "k",
                                         "upper",
                                         "exclusive",
                                         "reverse",
                                         "start",
                                         "end",
                                         "num_heads",
                                         "q_num_heads",
                                         "kv_num_heads",
                                         "is_causal",
                                         "storage_order",
                                         "onesided",
                                         "inverse",
                                         "num_groups",
                                         "sample_size",
                                         "size",
                                         "output_height",
                                         "output_width",
                                         "sampling_ratio",
                                         "align_corners",
                                         "training_mode",
                                         "layout",
                                         "block_size",
                                         "noop_with_empty_axes",
                                         "new_axis",
                                         "ignore_index",
                                         "count_include_pad",
                                         "p",
                                         "time_axis",
                                         "batch_axis",
                                         "detect_negative",
                                         "interleaved",
                                         "rotary_embedding_dim",
                                         "fmod",
                                         "center_point_box",
                                         "sorted",
                                         "value_int",
                                         "periodic"};
const std::vector<std::string> kLists{"axes",
                                      "perm",
                                      "pads",
                                      "kernel_shape",
                                      "strides",
                                      "dilations",
                                      "shape",
                                      "split",
                                      "starts",
                                      "ends",
                                      "output_shape",
                                      "output_padding",
                                      "scan_input_axes",
                                      "scan_output_axes",
                                      "scan_input_directions",
                                      "value_ints"};
const std::vector<std::string> kFactors{
    "alpha", "beta",   "epsilon", "lambd",         "bias",     "gamma", "ratio",
    "min",   "max",    "value",   "spatial_scale", "momentum", "scale", "extrapolation_value",
    "seed",  "softcap"};
const std::vector<std::string> kModes{"auto_pad",
                                      "mode",
                                      "direction",
                                      "reduction",
                                      "equation",
                                      "nearest_mode",
                                      "coordinate_transformation_mode",
                                      "approximate",
                                      "padding_mode"};

/// Writes the text of a model with one node.
class ModelWriter {
 public:
  explicit ModelWriter(Dice& dice) : dice_(dice) {}

  std::string model(const onnx::ConvertOp& converter) {
    const std::size_t dot = converter.op.rfind('.');
    const bool own = dot == std::string_view::npos;
    const std::string op(own ? converter.op : converter.op.substr(dot + 1));
    const std::string domain(own ? "" : converter.op.substr(0, dot));
    const int inputs = dice_.one_in(4) ? dice_.below(9) : 1 + dice_.below(3),
              outputs = 1 + dice_.below(dice_.one_in(3) ? 4 : 1);
    std::string graph, names, results;
    for (int i = 0; i < inputs; ++i) {
      const bool given = !dice_.one_in(20);
      if (given) graph += one_input("x" + std::to_string(i));
      names += std::string(i == 0 ? "" : ",") + (given ? "x" + std::to_string(i) : "");
    }
    for (int i = 0; i < outputs; ++i) {
      results += std::string(i == 0 ? "" : ",") + "y" + std::to_string(i);
      graph += value("output", "y" + std::to_string(i), "float32", {});
    }
    graph += node(results, op, names, "domain: '" + domain + "' " + attributes());
    const std::string versions =
        "opset_import { domain: '" + domain + "' version: " + std::to_string(converter.since) + " } ";
    return model_file("ir_version: 8 " + versions + "graph { " + graph + " }");
  }

 private:
  /// An input that is fed, or a constant of a few int64 elements.
  std::string one_input(const std::string& name) {
    if (!dice_.one_in(3)) return value("input", name, dice_.of(kTypes), dice_.of(kShapes));
    std::vector<std::int64_t> numbers(static_cast<std::size_t>(dice_.below(5)));
    for (std::int64_t& number : numbers) number = std::stoll(dice_.of(kNumbers));
    if (numbers.size() == 1 && dice_.one_in(2)) return initializer(name, {}, numbers);
    return initializer(name, {static_cast<std::int64_t>(numbers.size())}, numbers);
  }

  std::string attributes() {
    std::string text;
    const int rarity = dice_.of(std::vector<int>{4, 20, 100});
    const auto maybe = [&](const std::vector<std::string>& names, const auto& make) {
      for (const std::string& name : names)
        if (dice_.one_in(rarity)) text += make(name);
    };
    maybe(kIntegers, [&](const std::string& name) { return attribute(name, "i: " + dice_.of(kNumbers), "INT"); });
    maybe(kLists, [&](const std::string& name) {
      std::string list;
      for (int i = dice_.below(6); i > 0; --i) list += "ints: " + dice_.of(kNumbers) + " ";
      return attribute(name, list, "INTS");
    });
    if (text.find("'value'") == std::string::npos)
      maybe(kFactors, [&](const std::string& name) { return attribute(name, "f: " + dice_.of(kReals), "FLOAT"); });
    maybe(kModes, [&](const std::string& name) { return attribute(name, "s: '" + dice_.of(kTexts) + "'", "STRING"); });
    if (dice_.one_in(2))
      for (const char* name : {"body", "then_branch", "else_branch"})
        text += attribute(name, "g { " + body() + " }", "GRAPH");
    return text;
  }

  std::string body() {
    std::string graph;
    const int inputs = dice_.below(4);
    for (int i = 0; i < inputs; ++i) graph += value("input", "b" + std::to_string(i), "float32", {});
    graph += node("c", dice_.one_in(2) ? "Relu" : "Not", dice_.one_in(2) && inputs > 0 ? "b0" : "x0");
    for (int i = dice_.below(4); i >= 0; --i)
      graph += value("output", dice_.one_in(2) && inputs > 0 ? "b0" : "c", "float32", {});
    return graph;
  }

  Dice& dice_;
};

bool small(const Graph& graph) {
  for (ValueId id = 0; id < graph.values(); ++id) {
    const Type& type = graph.type(id);
    if (!type.shape.known() || type.bytes() > kMostBytes) return false;
  }
  return graph.subgraphs() == 0;  // a loop may not end
}

/// Imports the model, after removing attributes that its node's op does not know, and inputs and outputs beyond the
/// number that it has.
onnx::Imported import_known(onnx::Model model, const onnx::ImportOptions& with) {
  for (;;) {
    try {
      return onnx::import_model(model, with);
    } catch (const Error& error) {
      const std::string text = error.text();
      const auto unknown = [&](const onnx::Attribute& one) {
        return text.find("attribute \"" + one.name + "\" is not known of") != std::string::npos;
      };
      onnx::ModelNode& node = model.graph.nodes[0];
      const auto too_many = [&](const char* what, const onnx::Strings& values) {
        return text.find(formatted("it has {} {}, and ", values.size(), what)) != std::string::npos;
      };
      if (too_many("inputs", node.inputs)) {
        node.inputs.pop_back();
      } else if (too_many("outputs", node.outputs)) {
        node.outputs.pop_back();
        model.graph.outputs.pop_back();
      } else if (std::erase_if(node.attributes, unknown) == 0) {
        throw;
      }
    }
  }
}

/// Imports the model, and runs it unless it is large. Gives 1 when it was imported, else 0.
int import_and_run(const std::string& file) {
  try {
    const onnx::Model model = decode(file);
    onnx::ImportOptions with = options();
    for (const onnx::ValueDef& input : model.graph.inputs)
      for (int d = 0; d < input.shape->rank(); ++d)
        if (const std::string& symbol = (*input.shape)[d].symbol(); !symbol.empty()) with.dims[symbol] = 2;
    const auto imported = import_known(model, with);
    const Graph& graph = *imported.graph;
    check_legal(graph);
    if (!small(graph)) return 1;
    Evaluator::Feeds feeds;
    const Entry& entry = graph.entries().at("predict");
    for (const Entry::Named& feed : entry.feeds)
      feeds.emplace(feed.name, Tensor(graph.type(feed.value).dtype, graph.type(feed.value).shape.sizes()));
    Values fetches;
    for (const Entry::Named& fetch : entry.fetches) fetches.push_back(imported.graph->value(fetch.value));
    static_cast<void>(Evaluator(graph).run(fetches, feeds));
    return 1;
  } catch (const Error& error) {
    CHECK(error.code() != Code::bug);
    CHECK(error.text().size() < 8000);
    return 0;
  }
}

}  // namespace

TEST_CASE("random nodes of every op are refused, or give a graph that is legal") {
  Dice dice(2026);
  int imported = 0, all = 0;
  for (const onnx::ConvertOp& converter : onnx::all_converters())
    for (int i = 0; i < kNodesOfEachOp; ++i) {
      const std::string file = ModelWriter(dice).model(converter);
      CAPTURE(converter.op);
      CAPTURE(i);
      imported += import_and_run(file);
      ++all;
    }
  MESSAGE(imported, " of ", all, " nodes were imported");
  CHECK(imported * 50 > all);
}
