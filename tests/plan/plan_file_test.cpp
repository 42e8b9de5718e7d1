#include "plan/file/plan_file.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/hash.hpp"
#include "tests/plan/plans.hpp"
#include "tests/support/has.hpp"

using namespace ferry;

namespace {

using ferry::test::has;

std::string refusal(std::span<const std::byte> bytes) {
  try {
    static_cast<void>(decode_plan(bytes, "a.plan"));
  } catch (const Error& error) {
    CHECK(error.code() == Code::file);
    CHECK(error.text().starts_with("a.plan: "));
    return error.text();
  }
  return "accepted";
}

/// Changes a plan and encodes it, so that its hash fits; returns why it is refused.
template <class F>
std::string refusal_after(F change) {
  Plan plan = test::every_field();
  change(plan);
  return refusal(encode_plan(plan));
}

}  // namespace

TEST_CASE("a plan comes back from its bytes with every field") {
  const Plan plan = test::every_field();
  const std::vector<std::byte> bytes = encode_plan(plan);
  const Plan back = decode_plan(bytes, "memory");
  CHECK(encode_plan(back) == bytes);
  CHECK(back.topology.tasks == plan.topology.tasks);
  CHECK(back.topology.between_hosts == plan.topology.between_hosts);
  CHECK(back.topology.host_gpu == plan.topology.host_gpu);
  CHECK(back.topology.gpus_on_host == plan.topology.gpus_on_host);
  CHECK(back.topology.gpus_between_hosts == plan.topology.gpus_between_hosts);
  CHECK(back.strings == plan.strings);
  CHECK(back.lines == plan.lines);
  REQUIRE(back.attrs.size() == plan.attrs.size());
  for (std::size_t i = 0; i < plan.attrs.size(); ++i) CHECK(back.attrs[i].same(plan.attrs[i]));
  CHECK(back.groupings == plan.groupings);
  CHECK(back.windows == plan.windows);
  CHECK(back.feeds == plan.feeds);
  CHECK(back.fetches == plan.fetches);
  CHECK(back.channels == plan.channels);
  CHECK(back.schedules == plan.schedules);
  CHECK(back.collectives == plan.collectives);
  CHECK(back.classes == plan.classes);
  CHECK(back.class_of == plan.class_of);
  CHECK(back.bucket_bytes == plan.bucket_bytes);
}

TEST_CASE("the bits of floats and the sizes of shapes survive") {
  const Plan back = decode_plan(encode_plan(test::every_field()), "memory");
  const Attrs& attrs = back.attrs[0];
  CHECK(std::signbit(attrs.get<double>("float")));
  CHECK(attrs.get<Shape>("shape") == Shape{2, "batch", Dim::at_most(3), Dim::unknown()});
  CHECK(attrs.get<Tensor>("tensor").same_bits(Tensor::of<float>({2}, {1.5F, -0.0F})));
}

TEST_CASE("the costs of sums and of computing survive, and change the fingerprint") {
  Plan plan = test::every_field();
  const std::vector<std::byte> usual = encode_plan(plan);
  const std::uint64_t before = fingerprint(plan);
  plan.topology.compute.product_flop = 7.25;
  CHECK(fingerprint(plan) != before);
  plan.topology.compute = {.call = 1,
                           .wait = 2,
                           .memory_byte = 3,
                           .cache_byte = 4,
                           .cache_bytes = 5,
                           .product_flop = 6,
                           .convolution_flop = 7,
                           .reduction_flop = 8,
                           .element_flop = 9,
                           .parallel_flops = 0.25,
                           .parallel_bytes = 0.5};
  plan.topology.sums_on_host = {1e-6, 2e9};
  plan.topology.sums_between_hosts = {3e-6, 4e9};
  const Plan back = decode_plan(encode_plan(plan), "memory");
  CHECK(static_cast<const PlanningCosts&>(back.topology) == static_cast<const PlanningCosts&>(plan.topology));
  plan.topology.compute = {};
  plan.topology.sums_on_host = plan.topology.sums_between_hosts = std::nullopt;
  CHECK(encode_plan(plan) == usual);
}

TEST_CASE("costs of computing that are out of range are refused") {
  const auto refused = [](double ComputeCosts::*figure, double value) {
    return refusal_after([&](Plan& plan) { plan.topology.compute.*figure = value; }).find("out of range") !=
           std::string::npos;
  };
  CHECK(refused(&ComputeCosts::call, -1));
  CHECK(refused(&ComputeCosts::product_flop, std::numeric_limits<double>::quiet_NaN()));
  CHECK(refused(&ComputeCosts::memory_byte, std::numeric_limits<double>::infinity()));
  CHECK(refused(&ComputeCosts::parallel_flops, 1.5));
  CHECK_FALSE(refused(&ComputeCosts::call, 1));
}

TEST_CASE("the fingerprint tells plans apart, tensors included") {
  Plan plan = test::every_field();
  const std::uint64_t before = fingerprint(plan);
  CHECK(fingerprint(test::every_field()) == before);
  plan.attrs[0].set("tensor", Tensor::of<float>({2}, {1.5F, 0.0F}));
  CHECK(fingerprint(plan) != before);
  plan = test::every_field();
  plan.classes[0].instructions[0].strand = 1;
  CHECK(fingerprint(plan) != before);
}

TEST_CASE("the bytes of a plan are the same from every compiler") {
  CHECK(hex_digest(encode_plan(test::every_field())) == "89b5a71d651ebbc2d635fc69d5f4fb82");
}

TEST_CASE("a plan with an index out of range is refused even when its hash fits") {
  CHECK(refusal_after([](Plan&) {}) == "accepted");
  CHECK(has(refusal_after([](Plan& p) { p.lines[0].file = 99; }), "a line's file"));
  CHECK(has(refusal_after([](Plan& p) { p.class_of[0] = 7; }), "a class is out of range"));
  CHECK(has(refusal_after([](Plan& p) { p.channels[0].to = 2; }), "a channel"));
  CHECK(has(refusal_after([](Plan& p) { p.feeds[0].sizes = {-1}; }), "negative dim"));
  CHECK(has(refusal_after([](Plan& p) { p.collectives[0].parts = {INT64_MAX}; }), "overflow"));
  CHECK(has(refusal_after([](Plan& p) { p.schedules[0].steps[0].peer.value = -1; }), "a schedule's step"));
  CHECK(has(refusal_after([](Plan& p) {
              p.schedules[0].kind = CollectiveKind::all_to_all;
              p.schedules[0].members = 100000;
              p.schedules[0].period = 0;
              p.schedules[0].whole = false;
            }),
            "too many members"));
  CHECK(has(refusal_after([](Plan& p) { p.classes[0].buffers[0].sizes = {INT64_MAX, 8}; }), "size"));
  CHECK(has(refusal_after([](Plan& p) { p.classes[0].operands[0] = 77; }), "operand"));
  CHECK(has(refusal_after([](Plan& p) { p.classes[0].instructions[0].inputs = {1, kNone}; }), "instruction"));
  CHECK(has(refusal_after([](Plan& p) { p.classes[0].regions[1].instructions = {3, 900}; }), "region"));
  CHECK(has(refusal_after([](Plan& p) { p.bucket_bytes = -2; }), "the size of its buckets is -2"));
}

TEST_CASE("a plan with an unknown kind is refused") {
  CHECK(has(refusal_after([](Plan& p) { p.classes[0].instructions[0].what = static_cast<Opcode>(99); }),
            "names no kind"));
  CHECK(has(refusal_after([](Plan& p) { p.channels[0].dtype = static_cast<DType>(77); }), "dtype number 77"));
  CHECK(has(refusal_after([](Plan& p) { p.schedules[0].kind = static_cast<CollectiveKind>(50); }), "names no kind"));
}

TEST_CASE("plans of all sizes come back: no table is misaligned by the one before") {
  for (std::uint32_t more = 0; more < 64; ++more) {
    Plan plan = test::every_field();
    plan.strings.push_back(std::string(more % 8, 'x'));
    plan.lines.resize(1 + more % 3, plan.lines[0]);
    plan.channels.resize(1 + more % 4, plan.channels[0]);
    PlanClass& role = plan.classes[0];
    role.buffers.resize(role.buffers.size() + more % 5, role.buffers[0]);
    role.waits.resize(role.waits.size() + more % 7, role.waits[0]);
    const Plan back = decode_plan(encode_plan(plan), "memory");
    CHECK(back.channels == plan.channels);
    CHECK(back.classes == plan.classes);
  }
}

TEST_CASE("a large plan comes back") {
  Plan plan = test::every_field();
  PlanClass& role = plan.classes[0];
  const Buffer buffer = role.buffers[0];
  const std::uint32_t first = static_cast<std::uint32_t>(role.buffers.size());
  for (std::uint32_t i = 0; i < 200000; ++i) role.buffers.push_back(buffer);
  for (std::uint32_t i = 0; i < 200000; ++i) role.operands.push_back(first + i);
  const Plan back = decode_plan(encode_plan(plan), "memory");
  CHECK(back.classes == plan.classes);
}
