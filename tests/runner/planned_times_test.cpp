#include "runner/report/planned_times.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "graph/op/op_time.hpp"
#include "ops/op_set.hpp"

namespace ferry {
namespace {

constexpr std::int64_t kElements = 1'000'000;

/// A value that is copied to a GPU and negated there, or negated on the host.
Plan negated(bool on_gpu) {
  Plan plan;
  plan.topology = Topology::local(1);
  plan.topology.host_gpu = {2e-6, 4e9};
  plan.strings = {"x", "y", "Neg"};
  plan.attrs = {Attrs()};
  plan.class_of = {0};
  PlanClass& role = plan.classes.emplace_back();
  role.devices = {{}, {DeviceKind::gpu}};
  role.queues = {{1, PlanQueue::Role::compute}, {1, PlanQueue::Role::in}};
  for (const std::uint32_t device : {0U, 1U, on_gpu ? 1U : 0U}) {
    Buffer buffer;
    buffer.device = device;
    buffer.sizes = {kElements};
    buffer.bytes = 4 * kElements;
    role.buffers.push_back(std::move(buffer));
  }
  role.operands = {0, 1, on_gpu ? 1U : 0U, 2};
  Instruction copy, neg;
  copy.what = Opcode::copy;
  copy.strand = 2;
  copy.name = 0;
  copy.inputs = {0, 1};
  copy.outputs = {1, 1};
  neg.strand = on_gpu ? 1 : 0;
  neg.op = 2;
  neg.name = 1;
  neg.attrs = 0;
  neg.inputs = {2, 1};
  neg.outputs = {3, 1};
  role.instructions = {copy, neg};
  role.regions = {{Region::Kind::setup, {0, 0}}, {Region::Kind::step, {0, 2}}};
  return plan;
}

TEST_CASE("kernels of GPUs and copies to them are reckoned with by their own speeds") {
  const auto on_gpu = planned_times(negated(true), 0, default_ops()),
             on_host = planned_times(negated(false), 0, default_ops());
  CHECK(on_gpu.at("copy x") == doctest::Approx(2e-6 + 4e6 / 4e9));
  CHECK(on_gpu.at("Neg y") == doctest::Approx(3e-6 + 8e6 / 3e12));
  CHECK(on_host.at("Neg y") == doctest::Approx(50e-9 + 8e6 / 2.5e10));
}

/// A convolution of a 1 x 1 x 32 x 32 image with 16 filters of 5 x 5, which takes the filter in a packed form, too, if
/// `packed`; then, in one tile region with it if `fused`, a Relu.
Plan convolved(bool packed, bool fused) {
  Plan plan;
  plan.topology = Topology::local(1);
  plan.strings = {"x", "w", "p", "y", "z", "Conv2D", "Relu", "PackedFilter"};
  plan.attrs = {Attrs{
      {"dilations", Ints{1, 1}}, {"groups", std::int64_t{1}}, {"padding", Ints{0, 0, 0, 0}}, {"strides", Ints{1, 1}}}};
  plan.class_of = {0};
  PlanClass& role = plan.classes.emplace_back();
  role.devices = {{}};
  const std::vector<std::vector<std::int64_t>> sizes{
      {1, 1, 32, 32}, {16, 1, 5, 5}, {400}, {1, 16, 28, 28}, {1, 16, 28, 28}};
  for (const auto& each : sizes) {
    Buffer buffer;
    buffer.sizes = each;
    buffer.bytes = 4;
    for (const std::int64_t size : each) buffer.bytes *= static_cast<std::uint64_t>(size);
    role.buffers.push_back(std::move(buffer));
  }
  role.operands = {0, 1, 2, 3, 4};
  Instruction pack, conv, relu, tiles;
  pack.op = 7;
  pack.name = 2;
  pack.inputs = {1, 1};
  pack.outputs = {2, 1};
  conv.op = 5;
  conv.name = 3;
  conv.attrs = 0;
  conv.inputs = {0, packed ? 3U : 2U};
  conv.outputs = {3, 1};
  relu.op = 6;
  relu.name = 4;
  relu.inputs = {3, 1};
  relu.outputs = {4, 1};
  tiles.what = Opcode::tiles;
  tiles.op = 5;
  tiles.name = 4;
  tiles.target = 2;
  tiles.inputs = conv.inputs;
  tiles.outputs = relu.outputs;
  role.regions = {{Region::Kind::setup, {0, 1}}, {Region::Kind::step, {1, fused ? 1U : 2U}}};
  role.instructions = {pack, conv, relu};
  if (fused) {
    role.instructions = {pack, tiles, conv, relu};
    role.regions.push_back({Region::Kind::tile, {2, 2}});
  }
  return plan;
}

constexpr double kConvFlops = 2.0 * 16 * 28 * 28 * 25, kReluFlops = 16 * 28 * 28;

TEST_CASE("the costs of a plan's topology determine its planned times") {
  Plan plan = convolved(false, false);
  const double before = planned_step_seconds(plan, 0, default_ops());
  plan.topology.compute.convolution_flop *= 2;
  CHECK(planned_step_seconds(plan, 0, default_ops()) - before ==
        doctest::Approx(kConvFlops * ComputeCosts().convolution_flop * 1e-12));
  plan.topology.compute.call += 1000;
  CHECK(planned_times(plan, 0, default_ops()).at("Conv2D y") ==
        doctest::Approx((ComputeCosts().call + 1000 + 2 * kConvFlops * ComputeCosts().convolution_flop) * 1e-12));
  plan.topology.compute.parallel_flops = 0.5;
  plan.classes[0].threads = 2;
  CHECK(planned_times(plan, 0, default_ops()).at("Conv2D y") ==
        doctest::Approx((ComputeCosts().call + 1000 + 1.5 * kConvFlops * ComputeCosts().convolution_flop) * 1e-12));
}

TEST_CASE("the packed form of an input does not change the planned time of a kernel") {
  const auto plain = planned_times(convolved(false, false), 0, default_ops()),
             packed = planned_times(convolved(true, false), 0, default_ops());
  const ComputeCosts cost;
  CHECK(plain.at("Conv2D y") == doctest::Approx((cost.call + kConvFlops * cost.convolution_flop) * 1e-12));
  CHECK(packed.at("Conv2D y") == plain.at("Conv2D y"));
}

TEST_CASE("a value inside a fused region costs no memory traffic, and the setup is no part of a step") {
  const ComputeCosts cost;
  const double relu = std::max(2 * kReluFlops * 4 * cost.cache_byte, kReluFlops * cost.element_flop);
  CHECK(planned_step_seconds(convolved(true, false), 0, default_ops()) ==
        doctest::Approx((2 * cost.call + kConvFlops * cost.convolution_flop + relu) * 1e-12));
  CHECK(planned_step_seconds(convolved(true, true), 0, default_ops()) ==
        doctest::Approx((cost.call + kConvFlops * cost.convolution_flop + kReluFlops * cost.element_flop) * 1e-12));
}

}  // namespace
}  // namespace ferry
