// Tile regions that are compiled have the bits of their ops, one after another. Without the plug-in for LLVM, the same
// sessions run without compiled code.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <limits>
#include <thread>
#include <vector>

#include "base/process/plugin_file.hpp"
#include "executor/session/session.hpp"
#include "kernels/compile/object_code.hpp"
#include "kernels/compile/region_compiler.hpp"
#include "kernels/device.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/nn/norm.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/temp_folder.hpp"
#include "tests/support/throws.hpp"

namespace ferry::test {
namespace {

constexpr std::int64_t kNever = -1;

/// The folder of the cache of code, for all tests of this process.
const TempFolder& caches() {
  static const TempFolder folder;
  static const bool set = setenv("XDG_CACHE_HOME", folder.path().c_str(), 1) == 0;
  CHECK(set);
  return folder;
}

std::size_t cached() {
  const std::filesystem::path folder = caches() / "ferry/kernels";
  if (!std::filesystem::exists(folder)) return 0;
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
}

bool has_compiler() {
  return cpu_compiler().why.empty();
}

std::vector<Tensor> run(const Graph& g, const RunRequest& request, std::int64_t compile_after, int threads = 1) {
  static_cast<void>(caches());
  SessionOptions options;
  options.plan.fuse_from = 100;
  options.run.compile_after = compile_after;
  Session session(
      g, Cluster::connect(ClusterOptions{.tasks = 1, .threads = threads, .transport = "inproc", .jobs = ""}), options);
  return session.run(request);
}

/// A copy in which all NaN are alike: the one of two NaN that a sum or product returns depends on the order of its
/// operands in machine code.
Tensor with_one_nan(const Tensor& from) {
  Tensor tensor = Tensor::copy_of(from.dtype(), from.sizes(), from.bytes());
  const auto unify = [](auto elements) {
    for (auto& element : elements)
      if (element != element) element = std::numeric_limits<std::remove_reference_t<decltype(element)>>::quiet_NaN();
  };
  if (from.dtype() == DType::float32) unify(tensor.mutable_data<float>());
  if (from.dtype() == DType::float64) unify(tensor.mutable_data<double>());
  return tensor;
}

void check_same(const Graph& g, const RunRequest& request) {
  const std::vector<Tensor> expected = run(g, request, kNever);
  for (const int threads : {1, 2}) {
    const std::vector<Tensor> got = run(g, request, 0, threads);
    for (std::size_t i = 0; i < got.size(); ++i) {
      CAPTURE(i);
      CHECK(with_one_nan(got[i]).same_bits(with_one_nan(expected[i])));
    }
  }
}

/// Numbers of all sizes and signs, with zeros, subnormal numbers, infinities and NaN, in an order that depends on
/// `seed`, so that two tensors have all pairs of special values.
template <class T>
Tensor special(std::uint64_t seed) {
  using Limits = std::numeric_limits<T>;
  std::vector<T> values;
  if constexpr (Limits::is_iec559)
    values = {T(0),
              -T(0),
              T(1),
              T(-1),
              T(0.5),
              T(-2.5),
              T(88),
              T(-88),
              T(710),
              T(1e-30),
              Limits::min(),
              Limits::denorm_min(),
              -Limits::denorm_min(),
              Limits::max(),
              Limits::lowest(),
              Limits::infinity(),
              -Limits::infinity(),
              Limits::quiet_NaN()};
  else
    values = {T(0), T(1), T(-1), T(7), Limits::min(), Limits::max(), T(Limits::max() - 1)};
  std::vector<T> all;
  std::uint64_t state = seed;
  for (std::size_t k = 0; k < 3007; ++k) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t drawn = state >> 33;
    if (k < values.size() * values.size() || drawn % 3 == 0)
      all.push_back(values[(seed % 2 == 0 ? k : k / values.size()) % values.size()]);
    else
      all.push_back(
          static_cast<T>((static_cast<double>(drawn % 200'001) - 100'000) / (1 + static_cast<double>(drawn % 977))));
  }
  return Tensor::of<T>(all);
}

template <class T>
constexpr bool is_float = std::numeric_limits<T>::is_iec559;

TEST_CASE("a build with the plug-in can use it") {
  const CpuCompiler compiler = cpu_compiler();
  CHECK((compiler.version.empty() || compiler.why == ""));
}

TEST_CASE_TEMPLATE("each function of generated code has the bits of its op, for special values too", T, float, double,
                   std::int32_t, std::int64_t) {
  Graph g;
  const DType dtype = dtype_of<T>();
  const Tensor left = special<T>(2), right = special<T>(3);
  const Value x = g.input("x", dtype, Shape{{left.count()}}), y = g.input("y", dtype, Shape{{right.count()}});
  Values made{x + y, x - y, x * y, maximum(x, y), minimum(x, y), -x, sign(x), square(x), relu(x), abs(x)};
  if constexpr (is_float<T>)
    for (const Value& more : {x / y, exp(x), log(x), sqrt(x), rsqrt(x), tanh(x), sigmoid(x), erf(x), floor(x), ceil(x),
                              round(x), swish(x), hard_swish(x), elu(x), selu(x), leaky_relu(x)})
      made.push_back(more);
  RunRequest request;
  request.feeds = {{"x", left}, {"y", right}};
  const Values compared{less(x, y),
                        less_equal(x, y),
                        greater(x, y),
                        greater_equal(x, y),
                        equal(x, y),
                        not_equal(x, y),
                        logical_and(less(x, y), equal(x, x)),
                        logical_not(equal(x, y))};
  for (const Value& value : made) request.fetches.push_back(select(less(x, y), value, -value));
  for (const Value& value : compared) request.fetches.push_back(logical_or(value, less(x, y)));
  for (const DType to : {DType::boolean, DType::int32, DType::int64, DType::float32, DType::float64})
    request.fetches.push_back(cast(x + y, to));
  const std::size_t before = cached();
  check_same(g, request);
  CHECK((!has_compiler() || cached() > before));
}

TEST_CASE("broadcast inputs, values in place and values of several dtypes have the same bits when compiled") {
  Graph g;
  const Value x = g.input("x", DType::float32, {24, 8, 64});
  const Value row = g.input("row", DType::float32, {64}), column = g.input("column", DType::float32, {24, 1, 1});
  const Value middle = g.input("middle", DType::float32, {8, 1});
  const Value a = (x + row) * column, b = maximum(a, middle) - 0.5;
  const Value small = cast(b * 100.0, DType::int32);
  RunRequest request;
  request.fetches = {b, small * 2, select(less(small, 7), a, exp(b))};
  for (const Value& value : {x, row, column, middle}) {
    Tensor fed(DType::float32, value.shape().sizes());
    for (std::int64_t k = 0; float& element : fed.mutable_data<float>()) element = std::sin(static_cast<float>(k++));
    request.feeds[value.name()] = fed;
  }
  check_same(g, request);
}

TEST_CASE_TEMPLATE(
    "sums of rows have the same bits when they are compiled with elementwise ops, for special values too", T, float,
    double, std::int32_t, std::int64_t) {
  for (const std::int64_t row : {3, 16, 31, 64}) {
    Graph g;
    const Tensor left = special<T>(2), right = special<T>(3);
    const std::int64_t rows = left.count() / row;
    const Value x = g.input("x", dtype_of<T>(), {rows, row}), y = g.input("y", dtype_of<T>(), {rows, row});
    const Value scale = g.input("scale", dtype_of<T>(), {row}), one = g.input("one", dtype_of<T>(), {rows, 1});
    const Value first = sum(x, {1}, true), around = x - first * one, second = sum(square(around) + y, {1}, true);
    RunRequest request;
    request.fetches = {first, around, second, sum(y * x, {1}), select(less(around, second), around * scale + one, y)};
    const auto part = [](const Tensor& from, const Shape& shape) {
      const std::size_t bytes = Tensor(from.dtype(), shape.sizes()).bytes().size();
      return Tensor::copy_of(from.dtype(), shape.sizes(), from.bytes().first(bytes));
    };
    request.feeds = {{"x", part(left, x.shape())},
                     {"y", part(right, y.shape())},
                     {"scale", part(right, scale.shape())},
                     {"one", part(left, one.shape())}};
    check_same(g, request);
  }
}

TEST_CASE("norms of rows, and their gradients, have the same bits when they are compiled") {
  Graph g;
  const Value x = g.input("x", DType::float32, {6, 40, 96}), mask = g.input("mask", DType::float32, {40, 96});
  const Value scale = g.variable("scale", uniform(g, {96}, 0.5, 2));
  const Value offset = g.variable("offset", normal(g, {96}));
  const Value y = layer_norm(x + mask, scale, offset), z = rms_norm(y * 2.0, scale, {-1});
  RunRequest request;
  request.fetches = {y, z};
  for (const Value& gradient : gradients(sum(z * y), {x, scale, offset})) request.fetches.push_back(gradient);
  Dice dice(3);
  for (const Value& value : {x, mask}) {
    Tensor fed(DType::float32, value.shape().sizes());
    for (float& element : fed.mutable_data<float>()) element = static_cast<float>(dice.below(2001)) / 500 - 2;
    request.feeds[value.name()] = fed;
  }
  const std::size_t before = cached();
  check_same(g, request);
  CHECK((!has_compiler() || cached() > before));
}

TEST_CASE("an optimizer's steps have the same bits when they are compiled in the middle of a run") {
  Graph g;
  const Value w = g.variable("w", normal(g, {300, 40})), m = g.variable("m", normal(g, {300, 40}));
  const Value gradient = tanh(w * 3.0), next = m * 0.9 + gradient * 0.1;
  RunRequest request;
  request.fetches = {assign(w, w - next * 0.01), assign(m, next)};
  request.steps = 40;
  const std::vector<Tensor> expected = run(g, request, kNever);
  for (const std::int64_t after : {std::int64_t{0}, std::int64_t{12'000 * 5 * 17}}) {
    const std::vector<Tensor> got = run(g, request, after);
    CHECK(got[0].same_bits(expected[0]));
    CHECK(got[1].same_bits(expected[1]));
  }
}

TEST_CASE("tasks and sessions in one process share compiled regions") {
  Graph g;
  const Tensor fed = special<float>(7);
  const Value x = g.input("x", DType::float32, Shape{{fed.count()}});
  RunRequest request;
  request.fetches = {exp(tanh(x) * 0.25) + x * 3.5};
  request.feeds["x"] = fed;
  const std::vector<Tensor> expected = run(g, request, kNever);
  std::vector<std::vector<Tensor>> got(8);
  {
    std::vector<std::jthread> threads;
    for (std::vector<Tensor>& mine : got) threads.emplace_back([&] { mine = run(g, request, 0); });
  }
  for (const std::vector<Tensor>& mine : got) CHECK(mine[0].same_bits(expected[0]));
}

TEST_CASE("damaged objects are refused, or loaded without access to other memory") {
  const PluginFile file = open_plugin(kRegionCompilerFile);
  if (file.handle == nullptr) return;
  const auto* const compiler =
      reinterpret_cast<const RegionCompiler* (*)()>(dlsym(file.handle, kRegionCompilerSymbol))();
  const std::string_view text =
      "array float32 each\narray float32 written\ncall Exp.float32 0\ncall Add.float32 2 0\nstore 3 1\n";
  std::string object;
  const auto take = [](void* to, const char* bytes, std::size_t count) {
    static_cast<std::string*>(to)->assign(bytes, count);
  };
  REQUIRE(compiler->compile(text.data(), text.size(), "x86-64", take, &object));
  std::vector<float> x{0, 1, -2}, y(3);
  const ObjectCode code(object, kRegionFunction);
  const void* const arrays[] = {x.data(), y.data()};
  reinterpret_cast<RegionFunction>(code.function())(arrays, 3);
  CHECK(y[0] == 1);
  CHECK(std::string(error_of([&] { ObjectCode(object, "other"); }).what()) ==
        "compiled code cannot be loaded: it lacks its function");
  Dice dice(1);
  int refused = 0;
  for (int k = 0; k < 3000; ++k) {
    std::string damaged = object;
    damaged.resize(k % 3 == 0 ? dice.below(damaged.size()) : damaged.size());
    if (!damaged.empty()) damaged[dice.below(damaged.size())] ^= static_cast<char>(1 + dice.below(255));
    try {
      const ObjectCode loaded(damaged, kRegionFunction);
    } catch (const Error& error) {
      CHECK(error.code() == Code::resource);
      ++refused;
    }
  }
  CHECK(refused > 1000);
  for (const char* const bad :
       {"", "array float99 each\n", "call Exp.float32 0\n", "array float32 each\ncall None.float32 0\n",
        "array float32 each\nstore 7 0\n", "array float32 each\nstore 0 7\n", "else\n",
        "array float32 each\ncall Sum.float32 0\n", "rows 8\narray float32 each\ncall Sum.int32 0\n",
        "rows 8\narray float32 row\ncall Sum.float32 0\n",
        "rows 8\narray float32 each\narray float32 row_written\nstore 0 1\n"}) {
    std::string why;
    const std::string_view wrong = bad;
    const bool made = compiler->compile(wrong.data(), wrong.size(), "x86-64", take, &why);
    CHECK(made == wrong.empty());
  }
}

}  // namespace
}  // namespace ferry::test
