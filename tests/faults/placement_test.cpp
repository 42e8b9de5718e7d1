// Faults of placement that need hardware or kernels other than this machine's, by their numbers.
#include <doctest/doctest.h>

#include "base/error.hpp"
#include "ops/math.hpp"
#include "tests/support/plans.hpp"

namespace ferry {
namespace {

class NoTanhOnGpu final : public Capabilities {
 public:
  [[nodiscard]] bool has_kernel(std::string_view op, DeviceKind kind) const override {
    return kind == DeviceKind::cpu || op != "Tanh";
  }
  [[nodiscard]] std::uint32_t in_place(std::string_view, DeviceKind) const override { return 0; }
  [[nodiscard]] std::int64_t scratch_bytes(const OpDef&, DeviceKind, const Attrs&, std::span<const Type>,
                                           std::span<const Type>) const override {
    return 0;
  }
};

/// What planning tanh(x) on `device` says, over two tasks of which the second has two GPUs.
Error refusal(std::string_view device) {
  Graph g;
  const Value x = g.constant({1.0, 2.0});
  const auto here = g.device(device);
  const Value y = tanh(x).named("y");
  Topology topology = Topology::local(2);
  topology.tasks[1].gpus = 2;
  Signature signature;
  signature.fetches = {y.id()};
  try {
    static_cast<void>(make_plan(g, signature, topology, NoTanhOnGpu()));
  } catch (const Error& error) {
    return error;
  }
  return {Code::ok, "planned"};
}

bool has(const Error& error, std::string_view part) {
  const bool found = error.text().find(part) != std::string::npos;
  if (!found) MESSAGE("not in: ", error.text());
  return found;
}

TEST_CASE("036 a GPU that is not there: lists those that are") {
  const Error error = refusal("/task:1/gpu:2");
  CHECK(error.code() == Code::plan);
  CHECK(has(error, "there is no device /task:1/gpu:2"));
  CHECK(has(error, "task 1 has cpu:0 and gpu:0 to gpu:1"));
  CHECK(has(error, "--soft-placement"));
  CHECK(has(refusal("/task:0/gpu:0"), "task 0 has cpu:0; it has no GPU"));
}

TEST_CASE("037 no kernel for the device") {
  const Error error = refusal("/task:1/gpu:1");
  CHECK(error.code() == Code::plan);
  CHECK(has(error, "there is no gpu kernel for"));
  CHECK(has(error, "y (Tanh)"));
  CHECK(has(error, "placement_test.cpp:"));
  CHECK(has(error, "--soft-placement"));
}

}  // namespace
}  // namespace ferry
