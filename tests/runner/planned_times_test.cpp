#include "runner/report/planned_times.hpp"

#include <doctest/doctest.h>

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
  CHECK(on_host.at("Neg y") == doctest::Approx(50e-9 + 8e6 / 1e10));
}

}  // namespace
}  // namespace ferry
