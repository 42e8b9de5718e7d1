// Tile regions on GPUs have generated kernels, which are compiled for the host here. Chains of all ops that may be part
// of a region give the bits of the CPU's kernels op by op.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "kernels/cuda_on_host.hpp"
#include "ops/control/state.hpp"
#include "ops/math/math.hpp"
#include "ops/train/optim.hpp"
#include "placement/planner.hpp"
#include "plan/verify/verify.hpp"
#include "tests/cuda/cuda_kernels.hpp"
#include "tests/cuda/run_fused.hpp"
#include "tests/op_cases/case.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/has.hpp"
#include "tests/support/throws.hpp"

namespace ferry::test {
namespace {

/// Random numbers for inputs, as the cases of ops have them.
Tensor numbers(Dice& dice, DType dtype, const std::vector<std::int64_t>& sizes, const In& range = {}) {
  Tensor tensor(dtype, sizes);
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    for (T& element : tensor.template mutable_data<T>()) {
      const double number = range.low + (range.high - range.low) * static_cast<double>(dice.below(1'001)) / 1'000;
      if constexpr (std::is_same_v<T, bool>)
        element = dice.one_in(2);
      else
        element = static_cast<T>(std::is_unsigned_v<T> ? std::abs(number) : number);
    }
  });
  return tensor;
}

/// A graph of elementwise ops on values of one shape and on some that are broadcast to it.
class ChainOfOps {
 public:
  ChainOfOps(std::uint64_t seed, std::vector<std::int64_t> sizes) : dice_(seed), sizes_(std::move(sizes)) {}

  /// Adds the op of a case; false if its result has another shape.
  bool add(const Case& which, DType dtype) {
    Values x;
    for (std::size_t i = 0; i < which.shapes[0].size(); ++i)
      x.push_back(operand(which.input(i).dtype.value_or(dtype), i == 0));
    const Values y = which.build(x);
    if (y.size() != 1 || y[0].type().shape != Shape(std::span<const std::int64_t>(sizes_))) return false;
    made_[y[0].type().dtype].push_back(y[0]);
    all_.push_back(y[0]);
    return true;
  }

  /// Some results are fetched, the last one always. Returns the number of regions.
  std::size_t check() {
    std::size_t regions = 0;
    Values fetches;
    for (std::size_t i = 0; i < all_.size(); ++i)
      if (i + 1 == all_.size() || dice_.one_in(4)) fetches.push_back(all_[i]);
    const std::vector<Tensor> wanted = Evaluator(graph).run(fetches, {feeds_.begin(), feeds_.end()});
    for (const auto simulated : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(1)}) {
      const Ran ran = run_fused(graph, {.fetches = fetches, .feeds = feeds_, .steps = 2}, simulated);
      regions = ran.regions.size();
      for (std::size_t i = 0; i < fetches.size(); ++i) {
        CAPTURE(fetches[i].name());
        CAPTURE(ran.values[i].str());
        CAPTURE(wanted[i].str());
        CHECK(same_numbers(ran.values[i], wanted[i]));
      }
    }
    return regions;
  }

  Graph graph;

 private:
  Value operand(DType dtype, bool whole) {
    const auto made = made_.find(dtype);
    if (made != made_.end() && dice_.one_in(2)) return dice_.of(made->second);
    std::vector<std::int64_t> sizes = sizes_;
    if (!whole && dice_.one_in(2)) {
      sizes.erase(sizes.begin(), sizes.begin() + dice_.below(std::ssize(sizes) + 1));
      for (std::int64_t& size : sizes)
        if (dice_.one_in(3)) size = 1;
    }
    std::vector<Value>& known = inputs_[{dtype, sizes}];
    if (known.size() < 2) {
      const std::string name = "x" + std::to_string(feeds_.size());
      feeds_[name] = numbers(dice_, dtype, sizes);
      known.push_back(graph.input(name, dtype, Shape(std::span<const std::int64_t>(sizes))));
      return known.back();
    }
    return dice_.of(known);
  }

  Dice dice_;
  const std::vector<std::int64_t> sizes_;
  std::map<DType, std::vector<Value>> made_;
  std::map<std::pair<DType, std::vector<std::int64_t>>, std::vector<Value>> inputs_;
  Values all_;
  TensorMap feeds_;
};

/// Cases of ops, and the dtypes with which they may be part of a region.
struct Fusable {
  const Case* which;
  DType dtype;
};
std::vector<Fusable> fusable() {
  std::vector<Fusable> all;
  for (const Case& which : op_cases()) {
    const Kernel* const kernel = cuda_kernels().find(which.op);
    if (kernel == nullptr || kernel->scalar.function.empty()) continue;
    for (const DType dtype : kDTypes) {
      bool may = dtypes_of(which).has(dtype) && kernel->takes.has(dtype);
      for (std::size_t i = 0; i < which.shapes[0].size(); ++i)
        may = may && kernel->scalar.of.has(which.input(i).dtype.value_or(dtype));
      if (may) all.push_back({&which, dtype});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("chains of all ops that may be part of a region give the CPU's bits") {
  std::map<DType, std::vector<Fusable>> of_dtype;
  for (const Fusable& one : fusable()) of_dtype[one.dtype].push_back(one);
  std::set<std::string_view> tried;
  for (const auto& ops_of : of_dtype) {
    const DType dtype = ops_of.first;
    CAPTURE(name_of(dtype));
    ChainOfOps chain(static_cast<std::uint64_t>(dtype), {3, 5, 4});
    for (const Fusable& one : ops_of.second)
      if (chain.add(*one.which, dtype)) tried.insert(one.which->op);
    CHECK((chain.check() > 0 || !kComputed.has(dtype)));
  }
  for (const Kernel* kernel : cuda_kernels().all()) {
    CAPTURE(kernel->op);
    CHECK((kernel->scalar.function.empty() || kernel->op == "Narrow" || tried.contains(kernel->op)));
  }
}

TEST_CASE("regions of random ops and shapes give the CPU's bits") {
  const std::vector<Fusable> ops = fusable();
  const std::vector<std::vector<std::int64_t>> shapes{{}, {1}, {7}, {64}, {5, 8}, {2, 3, 6}, {3, 4, 5, 8}, {130, 3}};
  std::size_t regions = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    ChainOfOps chain(seed, shapes[seed - 1]);
    const DType dtypes[] = {dice.of(ops).dtype, dice.of(ops).dtype};
    for (int added = 0; added < 12;) {
      const Fusable one = dice.of(ops);
      if (std::ranges::find(dtypes, one.dtype) != std::end(dtypes)) added += chain.add(*one.which, one.dtype) ? 1 : 0;
    }
    regions += chain.check();
  }
  CHECK(regions > shapes.size() / 2);  // ops that are drawn need not share values
}

namespace {

const KernelsOfDevices& kernels() {
  static const KernelsOfDevices all(cpu_kernels(), cuda::devices_on_host());
  return all;
}

/// The plan of tanh((x * scale + bias) * 2) on a GPU of each task, where `with_regions` of them can run regions.
Plan planned(int tasks, int with_regions, std::int64_t elements = 6) {
  Graph g;
  const auto here = g.line({"model.cpp", 7});
  const Value x = g.input("x", DType::float32, {2, elements / 2});
  const Value scale = g.input("scale", DType::float32, {elements / 2}), bias = g.input("bias", DType::float32, {2, 1});
  const Value y = tanh((x * scale + bias) * 2.0).named("y");
  Topology topology = Topology::local(tasks);
  for (int task = 0; task < tasks; ++task) {
    topology.tasks[task].gpus = 1;
    topology.tasks[task].gpu_regions = task < with_regions;
  }
  PlanOptions options;
  options.default_device = DeviceKind::gpu;
  options.check_passes = true;
  Signature signature;
  for (const Value& fed : {x, scale, bias}) signature.feeds.push_back({fed.id(), 0, fed.type().shape.sizes()});
  signature.fetches = {y.id()};
  return make_plan(g, signature, topology, kernels(), options).plan;
}

Instruction* tiles_of(Plan& plan) {
  auto& all = plan.classes[0].instructions;
  const auto found = std::ranges::find(all, Opcode::tiles, &Instruction::what);
  return found == all.end() ? nullptr : &*found;
}

std::string refusal(const Plan& plan) {
  return verify(plan, {nullptr, &kernels()}).reason;
}

}  // namespace

TEST_CASE("kernels of a GPU become a region of any size, if all tasks with GPUs can run it") {
  for (const std::int64_t elements : {2, 6, 1'000'000}) {
    Plan plan = planned(1, 1, elements);
    CHECK(refusal(plan) == "");
    const Instruction* const tiles = tiles_of(plan);
    REQUIRE(tiles != nullptr);
    CHECK(plan.string(tiles->op) == "Mul+Add+Mul+Tanh");
    CHECK(plan.classes[0].on_queue(*tiles));
    CHECK(tiles->inputs.count == 4);
  }
  Plan some = planned(2, 1), all = planned(2, 2), none = planned(1, 0);
  CHECK(tiles_of(some) == nullptr);
  CHECK(tiles_of(all) != nullptr);
  CHECK(tiles_of(none) == nullptr);
}

TEST_CASE("the verifier refuses flaws of a GPU's regions") {
  const Plan good = planned(1, 1);
  const auto refused = [&](const auto& spoil) {
    Plan plan = good;
    spoil(plan, *tiles_of(plan));
    return refusal(plan);
  };
  CHECK(has(refused([](Plan& plan, Instruction&) { plan.topology.tasks[0].gpu_regions = false; }),
            "GPUs of this job run kernels one by one"));
  CHECK(has(refused([](Plan&, Instruction& tiles) { tiles.other = 0; }), "makes another value than"));
  CHECK(refused([](Plan&, Instruction& tiles) { tiles.strand = 0; }) != "");
  CHECK(refused([](Plan&, Instruction& tiles) { ++tiles.strand; }) != "");
  CHECK(has(refused([](Plan& plan, Instruction& tiles) {
              PlanClass& role = plan.classes[0];
              role.instructions[role.regions[tiles.region()].instructions.first].strand = 0;
            }),
            "cannot be run tile by tile"));
}

TEST_CASE("a region updates variables in place") {
  Graph g;
  const std::vector<float> zeros(10, 0);
  const Value w = g.variable("w", g.constant(Tensor::of<float>({10}, zeros)));
  const Value gradient = g.input("gradient", DType::float32, {10});
  const Values updates = momentum({{w, gradient}}, 0.1);
  const std::vector<float> ones(10, 1);
  const TensorMap feeds{{"gradient", Tensor::of<float>({10}, ones)}};
  const Value now = (w * 2.0).named("now");
  const Ran ran = run_fused(g, {.fetches = {now}, .targets = updates, .feeds = feeds, .steps = 3});
  CHECK(ran.regions.size() == 1);
  Evaluator evaluator(g);
  std::vector<Tensor> wanted;
  for (int step = 0; step < 3; ++step) wanted = evaluator.run({now}, {feeds.begin(), feeds.end()}, updates);
  CHECK(ran.values[0].same_bits(wanted[0]));
}

TEST_CASE("integers are divided by kernels of their own, which say what is wrong") {
  Graph g;
  const Value x = g.input("x", DType::int32, {4}), d = g.input("d", DType::int32, {4});
  const Value y = (((x + x) * x) / d).named("quotient");
  const auto fed = [&](std::int32_t divisor) {
    return RunRequest{.fetches = {y},
                      .feeds = {{"x", Tensor::of<std::int32_t>({4}, {1, 2, 3, 4})},
                                {"d", Tensor::of<std::int32_t>({4}, {1, 1, divisor, 1})}}};
  };
  const Ran ran = run_fused(g, fed(3));
  CHECK(ran.regions.size() == 1);
  CHECK(ran.values[0].data<std::int32_t>()[2] == 6);
  CHECK(says(error_of([&] { static_cast<void>(run_fused(g, fed(0))); }), "\"quotient\""));
}

}  // namespace ferry::test
