// The kernels of CUDA devices, compiled for the host: every case of an op that has one gives what the reference gives,
// and the same bits in every order of the threads.
#include <doctest/doctest.h>

#include <set>
#include <string_view>

#include "ops/op_set.hpp"
#include "tests/cuda/cuda_kernels.hpp"
#include "tests/op_cases/case.hpp"

namespace ferry::test {
namespace {

using cuda::Order;

constexpr std::int64_t kMostElements = 2'000;

std::vector<Tensor> outputs_of(const CaseGraph& made, const std::vector<Tensor>& inputs, Order order) {
  return run_on_cuda(made.y, order, feeds_of(inputs));
}

/// The case with inputs of shape number `shape`, if it is small, gives what the reference gives.
void check_case(const Case& which, DType dtype, std::size_t shape) {
  const std::vector<Tensor> inputs = inputs_for(which, shape, dtype);
  if (elements_of(inputs) > kMostElements) return;
  CAPTURE(which.op);
  CAPTURE(name_of(dtype));
  CAPTURE(shape);
  const CaseGraph made(which, inputs);
  const std::vector<Nd> wanted = which.reference({inputs.begin(), inputs.end()});
  const std::vector<Tensor> forward = outputs_of(made, inputs, Order::forward);
  REQUIRE(forward.size() == wanted.size());
  for (std::size_t i = 0; i < forward.size(); ++i) CHECK(difference(forward[i], wanted[i]) == "");
  for (const Order order : {Order::backward, Order::shuffled}) {
    const std::vector<Tensor> other = outputs_of(made, inputs, order);
    for (std::size_t i = 0; i < forward.size(); ++i) CHECK(forward[i].same_bits(other[i]));
  }
}

void check_all_of(const Case& which) {
  for (const DType dtype : kDTypes)
    for (std::size_t shape = 0; shape < which.shapes.size(); ++shape)
      if (dtypes_of(which).has(dtype)) check_case(which, dtype, shape);
}

}  // namespace

TEST_CASE("kernels for CUDA give what the reference gives, in any order of threads") {
  for (const Case& which : op_cases()) check_all_of(which);
}

TEST_CASE("convolutions by a library give what the reference gives") {
  cuda::offer_dnn(true);
  const std::int64_t before = cuda::runs_of_dnn();
  for (const Case& which : op_cases())
    if (which.op.starts_with("Conv2D")) check_all_of(which);
  cuda::offer_dnn(false);
  CHECK(cuda::runs_of_dnn() - before > 300);
}

TEST_CASE("an op that has a kernel on CPUs has one for CUDA, unless it always runs on the host") {
  const std::set<std::string_view> of_open_sizes{"Arange",    "NonZero",  "NonMaxSuppression", "Unique",
                                                 "FillBound", "ExtentOf", "WithExtent"};
  const std::set<std::string_view> packs_for_cpus{"PackedFilter", "PackedMatrix", "PackedRows"};
  const std::shared_ptr<const KernelTable> cuda = cuda::kernels_on_host(cpu_kernels());
  for (const Kernel* kernel : cpu_kernels().all()) {
    const OpDef* const def = default_ops().find(kernel->op);
    const bool on_host =
        def != nullptr && (def->is(kStateful) || def->is(kEffect) || def->is(kLocal) || def->is(kOnHost));
    const bool without = on_host || of_open_sizes.contains(kernel->op) || packs_for_cpus.contains(kernel->op);
    CAPTURE(kernel->op);
    CHECK((cuda->find(kernel->op) == nullptr) == without);
  }
}

}  // namespace ferry::test
