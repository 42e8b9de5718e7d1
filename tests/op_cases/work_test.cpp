// Compares the planned work of every op with the operations that its reference counts, or with a formula that is
// written here by itself; and every op has one of the two.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <random>
#include <set>

#include "graph/graph_facts.hpp"
#include "graph/op/op_work.hpp"
#include "kernels/shared/top_line.hpp"
#include "ops/array/array.hpp"
#include "ops/array/indexing.hpp"
#include "ops/array/reshape.hpp"
#include "ops/array/sort.hpp"
#include "ops/control/comm.hpp"
#include "ops/control/control.hpp"
#include "ops/data/data.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/op_set.hpp"
#include "tests/op_cases/case.hpp"

namespace ferry::test {
namespace {

std::vector<Type> outputs_of(const Op& op) {
  std::vector<Type> types;
  for (int o = 0; o < op.outputs(); ++o) types.push_back(op.graph().type(op.output(o)));
  return types;
}

OpWork work_of(const Op& op) {
  return op.def().work(GraphFacts(op), outputs_of(op));
}

/// The only op of that name in the graph; nothing if there are several.
std::optional<Op> only_op(const Graph& graph, std::string_view name) {
  std::optional<Op> found;
  for (OpId id = 0; id < graph.size(); ++id) {
    if (graph.op(id).def().name != name) continue;
    if (found) return std::nullopt;
    found = graph.op(id);
  }
  return found;
}

bool has_bounded(const Op& op) {
  bool any = false;
  for (const Type& type : outputs_of(op)) any = any || type.shape.bounded();
  for (const ValueId input : op.inputs()) any = any || op.graph().type(input).shape.bounded();
  return any;
}

/// Whether windows of the op reach into padding: the reference counts only the products inside.
bool has_padding(const Attrs& attrs) {
  const AttrValue* const padding = attrs.find("padding");
  const Ints* const sizes = padding == nullptr ? nullptr : std::get_if<Ints>(padding);
  return sizes != nullptr && std::ranges::any_of(*sizes, [](std::int64_t size) { return size > 0; });
}

/// Flops of ops with a reference that does not count, from the sizes of the inputs and outputs.
double count(const Shape& shape) {
  return static_cast<double>(shape.count());
}
double size(const Op& op, int input, int dim) {
  const Shape& shape = op.graph().type(op.inputs()[input]).shape;
  return static_cast<double>(shape[dim < 0 ? shape.rank() + dim : dim].size());
}
double elements(const Op& op, int input) {
  return count(op.graph().type(op.inputs()[input]).shape);
}

/// A product or a division and a subtraction for each element below the pivots, in loops as an elimination has them.
double eliminated(std::int64_t n) {
  double flops = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    flops += 1;
    for (std::int64_t r = k + 1; r < n; ++r) flops += 1 + 2 * static_cast<double>(n - 1 - k);
  }
  return flops;
}

double determinants(const Op& op) {
  const double n = size(op, 0, -1);
  return n == 0 ? 0 : elements(op, 0) / (n * n) * eliminated(static_cast<std::int64_t>(n));
}
double minors(const Op& op) {
  return elements(op, 0) * eliminated(static_cast<std::int64_t>(size(op, 0, -1)) - 1);
}

/// Elements of the inputs of cases that are tried: references of larger ones take long.
constexpr std::int64_t kMostElements = 5000;

using Formula = double (*)(const Op&);
const std::map<std::string_view, Formula> kFormulas{
    {"ArgMax", [](const Op& op) { return elements(op, 0); }},
    {"ArgMin", [](const Op& op) { return elements(op, 0); }},
    {"Cofactors", minors},
    {"CumProd", [](const Op& op) { return elements(op, 0); }},
    {"CumSum", [](const Op& op) { return elements(op, 0); }},
    {"Det", determinants},
    {"GRUCell", [](const Op& op) { return 30 * elements(op, 0); }},  // a sigmoid or tanh of each gate, and some more
    {"GRUCellGrad", [](const Op& op) { return 40 * elements(op, 0); }},
    {"LSTMCell", [](const Op& op) { return 30 * elements(op, 0); }},
    {"LSTMCellGrad", [](const Op& op) { return 40 * elements(op, 0); }},
    {"NonZero", [](const Op& op) { return elements(op, 0); }},
    {"RoiAlign", [](const Op& op) { return 30 * count(outputs_of(op)[0].shape); }},
    {"ScatterAdd", [](const Op& op) { return elements(op, 0); }},
    {"SoftmaxCrossEntropy", [](const Op& op) { return 15 * elements(op, 0); }},
    {"SoftmaxCrossEntropyGrad", [](const Op& op) { return 15 * elements(op, 1); }},
    {"SumLike", [](const Op& op) { return elements(op, 0); }}};

/// Checks an op of a case; returns whether its flops were compared with a count or a formula.
bool check_case(const Case& which, std::size_t shape) {
  const DTypeSet dtypes = dtypes_of(which);
  const DType dtype = dtypes.has(DType::float32)
                          ? DType::float32
                          : *std::ranges::find_if(kDTypes, [&](DType one) { return dtypes.has(one); });
  const std::vector<Tensor> inputs = inputs_for(which, shape, dtype);
  if (elements_of(inputs) > kMostElements) return false;
  const CaseGraph made(which, inputs);
  const std::optional<Op> op = only_op(made.graph, which.op);
  if (!op || op->def().is(kView)) return false;
  CAPTURE(which.op);
  CAPTURE(shape);
  const OpWork work = work_of(*op);
  CHECK(work.bytes >= 0);
  if (op->def().flops == 0) return false;
  if (const auto formula = kFormulas.find(which.op); formula != kFormulas.end()) {
    CHECK(work.flops == doctest::Approx(formula->second(*op)));
    return true;
  }
  if (has_bounded(*op)) return false;
  const std::int64_t before = counted().operations;
  static_cast<void>(which.reference({inputs.begin(), inputs.end()}));
  const auto operations = static_cast<double>(counted().operations - before);
  if (operations == 0 && work.flops > 0) return false;
  const double each = op->def().flops_of != nullptr ? 1 : op->def().flops;
  if (has_padding(op->attrs()))
    CHECK(work.flops >= each * operations);
  else
    CHECK(work.flops == doctest::Approx(each * operations));
  return true;
}

/// A number that counts its comparisons.
struct Counting {
  float number = 0;
  static inline std::int64_t comparisons = 0;
  friend bool operator<(Counting a, Counting b) {
    ++comparisons;
    return a.number < b.number;
  }
  friend bool operator==(Counting a, Counting b) { return a.number == b.number; }
  friend bool operator!=(Counting a, Counting b) { return a.number != b.number; }
};

/// The comparisons in which TopK's algorithm finds the k largest of n random numbers.
double comparisons_of_top(std::int64_t n, std::int64_t k) {
  std::mt19937 random(1);
  std::vector<Counting> line(static_cast<std::size_t>(n));
  for (Counting& one : line) one.number = static_cast<float>(random());
  std::vector<std::int64_t> found(static_cast<std::size_t>(k));
  Counting::comparisons = 0;
  TopLine<Counting>(line.data(), n, found.data(), k, 1, true).pick();
  return static_cast<double>(Counting::comparisons);
}

/// The comparisons in which a sort orders n random numbers.
double comparisons_of_sort(std::int64_t n) {
  std::mt19937 random(1);
  std::vector<Counting> line(static_cast<std::size_t>(n));
  for (Counting& one : line) one.number = static_cast<float>(random());
  Counting::comparisons = 0;
  std::sort(line.begin(), line.end());
  return static_cast<double>(Counting::comparisons);
}

/// The type of ops that a graph cannot have, since placement adds them.
OpWork work_of_added(const OpDef& def, std::vector<Type> inputs, const std::vector<Type>& outputs) {
  Graph graph;
  std::vector<ValueId> ids;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    ids.push_back(graph.input("x" + std::to_string(i), inputs[i].dtype, inputs[i].shape).id());
  const Attrs attrs;
  return def.work(GraphFacts(graph, ids, attrs), outputs);
}

}  // namespace

TEST_CASE("the flops of every op are the operations that its reference counts, or a formula of this test") {
  std::set<std::string_view> checked{"TopK",        "Unique", "NonMaxSuppression", "RandomUniform", "RandomUniformLike",
                                     "RandomNormal"};  // below
  for (const Case& which : op_cases())
    if (default_ops().find(which.op) != nullptr)
      for (std::size_t shape = 0; shape < which.shapes.size(); ++shape)
        if (check_case(which, shape)) checked.insert(which.op);
  // Files are read once; what a file's format takes is known only when it is read.
  const std::set<std::string_view> files{"ReadIdx",         "ReadCsv",    "ReadNpy",           "ReadRaw",
                                         "ReadSafetensors", "ReadLibsvm", "ReadLibsvmWeights", "ReadImages"};
  for (const OpDef* def : default_ops().all()) {
    CAPTURE(def->name);
    const bool no_flops = def->flops == 0 || def->is(kView) || def->is(kControlFlow);
    CHECK((no_flops || checked.contains(def->name) || files.contains(def->name)));
  }
}

TEST_CASE("every op has a formula of its work") {
  std::vector<const OpDef*> all = default_ops().all();
  all.insert(all.end(), std::begin(kCommOps), std::end(kCommOps));
  for (const OpDef* def : all) {
    CAPTURE(def->name);
    const bool by_points = !def->index.empty() || def->index_of != nullptr;
    CHECK((by_points || def->flops_of != nullptr || def->flops == 0 || def->is(kControlFlow)));
  }
}

TEST_CASE("ops that order are planned with the comparisons that they make, within a factor of 1.5") {
  constexpr double kCompareFlops = 2;  // of a comparison and a test for NaN
  for (const auto& [n, k] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {1000, 1}, {1000, 10}, {1000, 100}, {1000, 1000}, {50'000, 100}}) {
    CAPTURE(n);
    CAPTURE(k);
    Graph graph;
    const TopK best = top_k(graph.input("x", DType::float32, {3, n}), k, 1);
    const double counted = 3 * comparisons_of_top(n, k) * kCompareFlops;
    const double planned = work_of(best.values.op()).flops;
    CHECK(planned < 1.5 * counted);
    CHECK(planned > counted / 1.5);
  }
  Graph graph;
  const Value x = graph.input("x", DType::float32, {20'000, 1});
  // rows are compared in both directions
  const double counted = 2 * kCompareFlops * comparisons_of_sort(20'000),
               planned = work_of(unique(x).values.op()).flops;
  CHECK(planned < 1.5 * counted);
  CHECK(planned > counted / 1.5);
}

TEST_CASE("random numbers are planned by their number") {
  Graph graph;
  CHECK(work_of(uniform(graph, {5, 3}).op()).flops == 15 * 100);
  CHECK(work_of(uniform_like(graph.input("x", DType::int64, {5, 3})).op()).flops == 15 * 100);
  CHECK(work_of(uniform_like(graph.input("y", DType::int64, {5, 3})).op()).bytes == 60);
  CHECK(work_of(normal(graph, {5, 3}).op()).flops == 15 * 340);
}

TEST_CASE("ops that read some elements are planned with these alone") {
  Graph graph;
  const Value x = graph.input("x", DType::float32, {1000, 8});
  const Value indices = graph.input("indices", DType::int64, {5});
  CHECK(work_of(gather(x, indices).op()).bytes == 2 * 5 * 8 * 4 + 5 * 8);
  CHECK(work_of(slice(x, 0, 10, 15).op()).bytes == 2 * 5 * 8 * 4);
  CHECK(work_of(batch({x}, 20)[0].op()).bytes == 2 * 20 * 8 * 4);
  CHECK(work_of(matmul(x, graph.input("w", DType::float32, {8, 16})).op()).bytes == 4.0 * (8000 + 128 + 16000));
  CHECK(work_of(max_pool2d(graph.input("images", DType::float32, {2, 3, 8, 8}), {3, 3}, {}).op()).flops ==
        2 * 3 * 6 * 6 * 9);
  const Type rows{DType::float32, {1000, 8}}, part{DType::float32, {10, 8}};
  CHECK(work_of_added(kTakePart, {rows}, {part}).bytes == 2 * 320);
  CHECK(work_of_added(kAddUp, {part, part, part}, {part}).flops == 2 * 80);
}

TEST_CASE("views, variables, constants and ops with bodies have no work of their own") {
  Graph graph;
  const Value x = graph.input("x", DType::float32, {4, 4}), constant = graph.constant(Tensor(DType::float32, {4, 4}));
  const Value w = graph.variable("w", constant);
  const Values looped = while_loop(
      {x}, [](const Values& v) { return less(sum(v[0]), 3); }, [](const Values& v) { return Values{v[0] + 1}; });
  for (const Value& value : {x, w, constant, reshape(x, {16}), looped[0]}) {
    const OpWork work = work_of(value.op());
    CHECK(work.flops == 0);
    CHECK(work.bytes == 0);
  }
}

TEST_CASE("the kind of an op's work follows from its definition") {
  Graph graph;
  const Value a = graph.input("a", DType::float32, {8, 6}), b = graph.input("b", DType::float32, {6, 10}),
              x = graph.input("x", DType::float32, {2, 3, 9, 9}), w = graph.input("w", DType::float32, {4, 3, 3, 3});
  const auto kind_of = [](const Value& value) { return work_of(value.op()).kind; };
  CHECK(kind_of(matmul(a, b)) == WorkKind::product);
  CHECK(kind_of(conv2d(x, w)) == WorkKind::convolution);
  CHECK(kind_of(sum(a, {0})) == WorkKind::reduction);
  CHECK(kind_of(max(a, {1})) == WorkKind::reduction);
  CHECK(kind_of(a + a) == WorkKind::element);
  CHECK(kind_of(tanh(a)) == WorkKind::element);
  CHECK(kind_of(max_pool2d(x, {3, 3}, {})) == WorkKind::element);
  CHECK(kind_of(transpose(a)) == WorkKind::element);
}

TEST_CASE("a task has the work of its parts") {
  Graph graph;
  const Value a = graph.input("a", DType::float32, {8, 6}), b = graph.input("b", DType::float32, {6, 10});
  const Op product = matmul(a, b).op();
  const auto of_parts = [](const Op& op, std::vector<Shape> inputs, const Shape& output) {
    OpParts parts;
    for (Shape& shape : inputs) parts.inputs.push_back({DType::float32, std::move(shape)});
    parts.outputs.push_back({DType::float32, output});
    return work_of_parts(op.def(), GraphFacts(op), outputs_of(op), parts);
  };
  CHECK(of_parts(product, {{8, 6}, {6, 10}}, {8, 10}).flops == 960);
  CHECK(of_parts(product, {{2, 6}, {6, 10}}, {2, 10}).flops == 240);
  CHECK(of_parts(product, {{8, 3}, {3, 10}}, {8, 10}).flops == 480);  // sums that are partial
  CHECK(of_parts(product, {{4, 3}, {3, 10}}, {4, 10}).flops == 240);  // on a mesh of two axes
  CHECK(of_parts(product, {{4, 3}, {3, 10}}, {4, 10}).bytes == 4 * (12 + 30 + 40));
  const Value x = graph.input("x", DType::float32, {2, 3, 9, 9}), w = graph.input("w", DType::float32, {4, 3, 3, 3});
  const Op conv = conv2d(x, w).op();  // by rows: 4 of the 7, which read 6
  CHECK(of_parts(conv, {{2, 3, 6, 9}, {4, 3, 3, 3}}, {2, 4, 4, 7}).flops == 2.0 * 2 * 4 * 4 * 7 * 3 * 3 * 3);
  const Op pool = max_pool2d(x, {3, 3}, {}).op();
  CHECK(of_parts(pool, {{1, 3, 9, 9}}, {1, 3, 7, 7}).flops == 3 * 7 * 7 * 9);
}

}  // namespace ferry::test
