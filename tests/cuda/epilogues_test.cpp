// Epilogues of products on GPUs: by the library of matrix products as it stores, or by a generated kernel behind it,
// they give the bits that the CPU's kernels give op by op.
#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <string>

#include "ops/array/reshape.hpp"
#include "ops/math/activation.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/reduce.hpp"
#include "placement/planner.hpp"
#include "plan/verify/verify.hpp"
#include "tests/cuda/run_fused.hpp"
#include "tests/support/dice.hpp"
#include "tests/support/evaluate.hpp"
#include "tests/support/has.hpp"

namespace ferry::test {
namespace {

/// Makes a library of products be there while it lives.
struct OfferedBlas {
  explicit OfferedBlas(bool is_there) { cuda::offer_blas(is_there); }
  ~OfferedBlas() { cuda::offer_blas(false); }
  OfferedBlas(const OfferedBlas&) = delete;
  OfferedBlas& operator=(const OfferedBlas&) = delete;
};

/// A product and what may follow it. Its factors are whole numbers. float32 holds their sums exactly, and 16-bit floats
/// do not: a value rounded once has other bits than a value rounded after each op.
class Products {
 public:
  explicit Products(DType dtype, const Shape& a = {9, 40}, const Shape& b = {40, 12})
      : dtype_(dtype), a_(fed(a, 30, 1)), b_(fed(b, 30, 1)) {}
  /// Make it after its addend, which is then fed before it.
  Value product() { return matmul(a_, b_); }
  /// An input of numbers up to `most`, multiples of 1 / `parts`.
  Value fed(const Shape& shape, int most = 3, int parts = 7) {
    const std::string name = "x" + std::to_string(feeds_.size());
    Tensor tensor(dtype_, shape.sizes());
    dispatch(dtype_, [&](auto zero) {
      using T = decltype(zero);
      for (T& element : tensor.template mutable_data<T>())
        element = static_cast<T>((dice_.below(2 * most * parts + 1) - most * parts) / static_cast<double>(parts));
    });
    feeds_.emplace(name, std::move(tensor));
    return graph.input(name, dtype_, shape);
  }
  TensorMap& feeds() { return feeds_; }

  /// Runs `y` on GPUs with and without a library of products, and compares with the CPU. Returns the kernels.
  std::string check(const Value& y) {
    std::string kernels;
    const std::vector<Tensor> wanted = Evaluator(graph).run({y}, {feeds_.begin(), feeds_.end()});
    for (const bool offered : {false, true})
      for (const auto simulated : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(1)}) {
        const OfferedBlas blas(offered);
        const Ran ran = run_fused(graph, {.fetches = {y}, .feeds = feeds_, .steps = 3}, simulated);
        kernels = ran.kernels;
        CAPTURE(name_of(dtype_));
        CAPTURE(offered);
        CAPTURE(ran.values[0].str());
        CAPTURE(wanted[0].str());
        CHECK(same_numbers(ran.values[0], wanted[0]));
      }
    return kernels;
  }
  /// The number of products of a step to which the library adds a value.
  int sums(const Value& y) {
    const OfferedBlas blas(true);
    const int before = cuda::sums_of_blas();
    static_cast<void>(run_fused(graph, {.fetches = {y}, .feeds = feeds_}));
    return cuda::sums_of_blas() - before;
  }

  Graph graph;

 private:
  const DType dtype_;
  Dice dice_{1};
  TensorMap feeds_;
  const Value a_, b_;
};

constexpr DType kTried[] = {DType::float32,  DType::float64, DType::float16,
                            DType::bfloat16, DType::int32,   DType::int64};

}  // namespace

TEST_CASE("what follows a product gives the bits of the ops one by one, whoever does it") {
  for (const DType dtype : kTried) {
    Products p(dtype);
    const Value row = p.fed({12}), rows = p.fed({1, 12}), column = p.fed({9, 1}), all = p.fed({9, 12}), one = p.fed({});
    CHECK(p.check(p.product() + row) == "MatMul+Add");
    CHECK(p.check(all + p.product()) == "MatMul+Add");
    CHECK(p.check(relu(p.product() + row)) == "MatMul+Add+Relu");
    CHECK(p.check(relu(p.product())) == "MatMul+Relu");
    CHECK(p.check(all - (p.product() + rows)) == "MatMul+Add+Sub");
    CHECK(p.check(p.product() + column) == "MatMul+Add");
    CHECK(p.check((p.product() + one) * all) == "MatMul+Add+Mul");
    if (is_float(dtype)) CHECK(p.check(tanh(p.product() + row) / all) == "MatMul+Add+Tanh+Div");
  }
}

TEST_CASE("batches of products have epilogues") {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16}) {
    const auto add = [&](const Shape& a, const Shape& b, const Shape& added) {
      CAPTURE(added.str());
      Products p(dtype, a, b);
      const Value more = p.fed(added);
      CHECK(p.check(p.product() + more) == "MatMul+Add");
    };
    add({3, 9, 20}, {3, 20, 12}, {12});
    add({3, 9, 20}, {3, 20, 12}, {3, 9, 12});
    add({3, 9, 20}, {3, 20, 12}, {3, 1, 12});
    add({3, 1, 2, 5, 8}, {1, 4, 2, 8, 7}, {3, 4, 2, 5, 7});  // several calls of the library
    add({3, 1, 2, 5, 8}, {1, 4, 2, 8, 7}, {7});
    add({1, 20}, {20, 12}, {12});
    add({9, 20}, {20, 1}, {1});
    add({9, std::int64_t{0}}, {std::int64_t{0}, 12}, {12});
  }
}

TEST_CASE("the library adds one value to a product of float32 as it stores, and what has other bits it does not") {
  Products p(DType::float32);
  const Value row = p.fed({12}), column = p.fed({9, 1}), all = p.fed({9, 12});
  CHECK(p.sums(p.product() + row) == 1);
  CHECK(p.sums(p.product() + all) == 1);
  CHECK(p.sums(all + p.product()) == 1);
  CHECK(p.sums(p.product() + column) == 0);
  CHECK(p.sums(relu(p.product() + row)) == 0);  // its relu may lose NaN
  CHECK(p.sums(p.product() + row + all) == 0);
  CHECK(p.sums(p.product() - row) == 0);
  Products crossed(DType::float32, {3, 1, 2, 5, 8}, {1, 4, 2, 8, 7});
  const Value seven = crossed.fed({7});
  CHECK(crossed.sums(crossed.product() + seven) > 1);
  Products doubles(DType::float64);
  const Value doubles_row = doubles.fed({12}), doubles_all = doubles.fed({9, 12});
  CHECK(doubles.sums(doubles.product() + doubles_all) == 1);
  CHECK(doubles.sums(doubles.product() + doubles_row) == 0);  // it has no bias for them
  Products halves(DType::float16);
  const Value halves_row = halves.fed({12});
  CHECK(halves.sums(halves.product() + halves_row) == 0);
}

TEST_CASE("NaN and the sign of zero come through an epilogue") {
  for (const DType dtype : {DType::float32, DType::float16}) {
    Products p(dtype);
    const Value factors = p.fed({9, 12}), y = relu(p.product() * factors);
    dispatch(dtype, [&](auto zero) {
      using T = decltype(zero);
      const auto all = p.feeds().at("x2").template mutable_data<T>();
      all[5] = static_cast<T>(std::numeric_limits<float>::quiet_NaN());
      all[6] = static_cast<T>(-0.0F);
      all[7] = static_cast<T>(0.0F);
    });
    CHECK(p.check(y) == "MatMul+Mul+Relu");
  }
}

TEST_CASE("kernels that would be one by themselves are not torn apart") {
  Products p(DType::float32);
  const Value row = p.fed({12}), all = p.fed({9, 12});
  const Value sum = p.product() + row;
  CHECK(p.check(sum * sigmoid(sum)) == "MatMul, Add+Sigmoid+Mul");
  const Value scaled = all * row;
  CHECK(p.check(scaled + p.product()) == "MatMul, Mul+Add");
  const Value y = p.product() + all;
  CHECK(p.check(y - max(y, {1}, true)) == "MatMul+Add, Max, Sub");
}

namespace {

const KernelsOfDevices& kernels() {
  static const KernelsOfDevices all(cpu_kernels(), cuda::devices_on_host());
  return all;
}

/// The plan of relu(x w + bias + more) on a GPU.
Plan planned_product(bool regions = true) {
  Graph g;
  const auto here = g.line({"model.cpp", 7});
  const Value x = g.input("x", DType::float32, {4, 6}), w = g.input("w", DType::float32, {6, 8});
  const Value bias = g.input("bias", DType::float32, {8}), more = g.input("more", DType::float32, {4, 8});
  const Value y = relu(matmul(x, w) + bias + more);
  Topology topology = Topology::local(1);
  topology.tasks[0].gpus = 1;
  topology.tasks[0].gpu_regions = regions;
  PlanOptions options;
  options.default_device = DeviceKind::gpu;
  options.check_passes = true;
  Signature signature;
  for (const Value& fed : {x, w, bias, more}) signature.feeds.push_back({fed.id(), 0, fed.type().shape.sizes()});
  signature.fetches = {y.id()};
  return make_plan(g, signature, topology, kernels(), options).plan;
}

struct Found {
  explicit Found(Plan& plan) : role(plan.classes[0]) {
    const auto found = std::ranges::find(role.instructions, Opcode::tiles, &Instruction::what);
    REQUIRE(found != role.instructions.end());
    tiles = &*found;
    body = &role.instructions[role.regions[tiles->region()].instructions.first];
  }
  BufferId& input(std::size_t member, std::uint32_t k) { return role.operands[body[member].inputs[k]]; }
  Buffer& made() { return role.buffers[role.operands[tiles->outputs.first]]; }

  PlanClass& role;
  Instruction *tiles, *body;  ///< body: MatMul, Add bias, Add more, Relu
};

}  // namespace

TEST_CASE("the verifier refuses flaws of a GPU's epilogue") {
  Plan good = planned_product();
  CHECK(good.string(Found(good).tiles->op) == "MatMul+Add+Add+Relu");
  CHECK(verify(good, {nullptr, &kernels()}).reason == "");
  CHECK(std::ranges::none_of(planned_product(false).classes[0].instructions,
                             [](const Instruction& i) { return i.what == Opcode::tiles; }));
  const auto refused = [&](const auto& spoil) {
    Plan plan = good;
    Found found(plan);
    spoil(found);
    return verify(plan, {nullptr, &kernels()}).reason;
  };
  CHECK(has(refused([](Found& f) { f.body[0].strand = 0; }), "cannot yield the pieces"));
  CHECK(has(refused([](Found& f) { f.body[0].scratch = kNone; }), "cannot yield the pieces"));
  CHECK(has(refused([](Found& f) { f.body[3].strand = 0; }), "cannot be run tile by tile"));
  CHECK(has(refused([](Found& f) { f.tiles->waits.count = 0; }), "no wait orders them"));
  CHECK(has(refused([](Found& f) {
              f.role.instructions.resize(f.role.instructions.size() - 3);  // the region is the last one
              f.role.regions[f.tiles->region()].instructions.count = 1;
            }),
            "nothing follows"));
  Plan alone = good;
  alone.topology.tasks[0].gpu_regions = false;
  CHECK(has(verify(alone, {nullptr, &kernels()}).reason, "GPUs of this job run kernels one by one"));
}

TEST_CASE("the verifier refuses an epilogue on a GPU whose operands are written in between") {
  const Plan good = planned_product();
  const auto refused = [&](const auto& spoil) {
    Plan plan = good;
    Found found(plan);
    spoil(found);
    return verify(plan, {nullptr, &kernels()}).reason;
  };
  CHECK(has(refused([](Found& f) { f.role.operands[f.body[1].outputs[0]] = f.input(2, 1); }),
            "makes another value than"));
  CHECK(has(refused([](Found& f) { f.role.buffers[f.input(1, 1)].offset = f.made().offset; }), "over other elements"));
  CHECK(has(refused([](Found& f) { f.role.buffers[f.input(2, 1)].offset = f.made().offset; }), "while it reads"));
  // The copy of `more` comes after the copy of the bias.
  const std::string overwritten =
      refused([](Found& f) { f.role.buffers[f.input(2, 1)].offset = f.role.buffers[f.input(1, 1)].offset; });
  CHECK(has(overwritten, "(bias), which is not written yet or has been overwritten"));
}

}  // namespace ferry::test
