#include "ops/data.hpp"

#include "base/error.hpp"
#include "base/text.hpp"
#include "ops/build.hpp"

namespace ferry {
namespace {

std::vector<Shape> file_shape(const OpFacts& facts) {
  const std::string& path = facts.attr<std::string>("path");
  if (path.empty() || path.front() == '/' || path.find('\0') != std::string::npos)
    OpFacts::fail("the path " + in_quotes(path) + " is not one beneath the data folder");
  for (std::string_view part : split(path, '/'))
    if (part == "..") OpFacts::fail("the path " + in_quotes(path) + " is not one beneath the data folder");
  const Shape& shape = facts.attr<Shape>("shape");
  if (!shape.known() || shape.bounded()) OpFacts::fail("the sizes of " + shape.str() + " are not all known");
  return {shape};
}

std::vector<Shape> csv_shape(const OpFacts& facts) {
  std::vector<Shape> shapes = file_shape(facts);
  if (shapes[0].rank() != 2) OpFacts::fail("a table has two dims, not " + shapes[0].str());
  if (facts.attr<std::int64_t>("skip") < 0) OpFacts::fail("skip is negative");
  return shapes;
}

std::string file_index(const OpFacts& facts) {
  return "->" + term(Letters().next(facts.attr<Shape>("shape").rank()));
}

std::vector<Shape> batch_shape(const OpFacts& facts) {
  const auto size = facts.attr<std::int64_t>("batch");
  if (size < 1) OpFacts::fail("a batch of " + std::to_string(size));
  if (facts.inputs() == 0) OpFacts::fail("takes at least one input");
  std::vector<Shape> shapes;
  for (int i = 0; i < facts.inputs(); ++i) {
    Shape shape = facts.shape(i);
    if (shape.rank() == 0) OpFacts::fail("input " + std::to_string(i) + " is a scalar and has no rows");
    if (!shape[0].known() || shape[0].bounded())
      OpFacts::fail("the number of rows of input " + std::to_string(i) + " " + shape.str() + " is not known");
    if (shape[0] != facts.shape(0)[0])
      OpFacts::fail("input " + std::to_string(i) + " has " + shape[0].str() + " rows, the first " +
                    facts.shape(0)[0].str());
    if (shape[0].size() < size) OpFacts::fail("a batch of " + std::to_string(size) + " of " + shape[0].str() + " rows");
    shape[0] = size;
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

/// "[n]a,[n]->ra,r": rows of the batch may be split, the arrays must be whole.
std::string batch_index(const OpFacts& facts) {
  Letters letters;
  const std::string all = whole(letters.next());
  const std::string rows = letters.next();
  std::string in, out;
  for (int i = 0; i < facts.inputs(); ++i) {
    const std::string rest = letters.next(facts.shape(i).rank() - 1);
    in += (i == 0 ? "" : ",") + all + rest;
    out += (i == 0 ? "" : ",") + rows + rest;
  }
  return in + "->" + out;
}

constexpr AttrDef kFileAttrs[] = {{"dtype", "dtype"}, {"path", "string"}, {"shape", "shape"}};
constexpr AttrDef kCsvAttrs[] = {{"dtype", "dtype"}, {"path", "string"}, {"shape", "shape"}, {"skip", "int"}};
constexpr AttrDef kBatchAttrs[] = {{"batch", "int"}, {"seed", "int"}, {"shuffle", "bool"}};
constexpr std::string_view kNoInputs = "it has no inputs";

constexpr OpDef kReadIdx{.name = "ReadIdx",
                         .types = "->@dtype",
                         .attrs = kFileAttrs,
                         .index_of = file_index,
                         .infer = file_shape,
                         .flags = kStateful | kOnce,
                         .no_grad = kNoInputs};

constexpr OpDef kReadCsv{.name = "ReadCsv",
                         .types = "->@dtype",
                         .attrs = kCsvAttrs,
                         .index_of = file_index,
                         .infer = csv_shape,
                         .flops = 100,
                         .flags = kStateful | kOnce,
                         .no_grad = kNoInputs};

constexpr OpDef kReadNpy{.name = "ReadNpy",
                         .types = "->@dtype",
                         .attrs = kFileAttrs,
                         .index_of = file_index,
                         .infer = file_shape,
                         .flags = kStateful | kOnce,
                         .no_grad = kNoInputs};

constexpr OpDef kBatch{.name = "Batch",
                       .types = "*...->*...",
                       .attrs = kBatchAttrs,
                       .index_of = batch_index,
                       .infer = batch_shape,
                       .flops = 0,
                       .flags = kRandom,
                       .no_grad = "which rows it takes is not differentiable"};

constexpr const OpDef* kDataOps[] = {&kReadIdx, &kReadCsv, &kReadNpy, &kBatch};

Value read(const OpDef& def, Graph& graph, std::string_view path, DType dtype, const Shape& shape,
           const SourceLine& line) {
  return graph.add(def, {}, {{"dtype", dtype}, {"path", std::string(path)}, {"shape", shape}}, line)[0];
}

}  // namespace

Value read_idx(Graph& graph, std::string_view path, DType dtype, const Shape& shape, source_location at) {
  return read(kReadIdx, graph, path, dtype, shape, at);
}

Value read_npy(Graph& graph, std::string_view path, DType dtype, const Shape& shape, source_location at) {
  return read(kReadNpy, graph, path, dtype, shape, at);
}

Value read_csv(Graph& graph, std::string_view path, DType dtype, const Shape& shape, std::int64_t skip,
               source_location at) {
  return graph.add(kReadCsv, {}, {{"dtype", dtype}, {"path", std::string(path)}, {"shape", shape}, {"skip", skip}},
                   at)[0];
}

Values batch(std::span<const Value> arrays, std::int64_t size, bool shuffle, std::int64_t seed, source_location at) {
  return make(kBatch, arrays, {{"batch", size}, {"seed", seed}, {"shuffle", shuffle}}, at);
}

std::span<const OpDef* const> data_ops() {
  return kDataOps;
}

}  // namespace ferry
