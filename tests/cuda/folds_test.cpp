// The kernels by which devices fold what the members of a group give: CUDA's and the simulated ones have the bits of
// the folds of hosts.
#include <doctest/doctest.h>

#include <limits>

#include "tests/cuda/both.hpp"
#include "tests/support/has.hpp"

namespace ferry::test {
namespace {

constexpr Reduce kReductions[] = {Reduce::sum, Reduce::max, Reduce::min};

/// What members give.
std::vector<Tensor> given(DType dtype, std::size_t members, std::int64_t count) {
  std::vector<Tensor> all;
  for (std::size_t m = 0; m < members; ++m) {
    all.push_back(some_numbers(dtype, {count}, m));
    if (dtype == DType::float32 && m == members / 2) {
      all.back().mutable_data<float>()[0] = std::numeric_limits<float>::quiet_NaN();
      all.back().mutable_data<float>()[1] = -0.0F;
    }
  }
  return all;
}

Tensor folded_by_host(Reduce reduce, const std::vector<Tensor>& inputs) {
  Tensor folded = copy_of(inputs[0]);
  for (std::size_t m = 1; m < inputs.size(); ++m)
    cpu_kernels().fold()(reduce, folded.dtype(), folded.mutable_bytes().data(), folded.bytes().data(),
                         inputs[m].bytes().data(), folded.count());
  return folded;
}

/// The fold of all elements but the first `shift`; with `into`, the output is that input.
Tensor folded_by(const KernelTable& kernels, Reduce reduce, const std::vector<Tensor>& inputs, std::int64_t shift,
                 std::optional<std::size_t> into) {
  const Kernel* const kernel = kernels.find(fold_kernel(reduce));
  REQUIRE(kernel != nullptr);
  std::vector<Tensor> all;
  for (const Tensor& input : inputs) all.push_back(copy_of(input));
  all.push_back(into ? all[*into] : copy_of(inputs[0]));
  std::vector<std::int64_t> sizes{inputs[0].count() - shift}, begin{0};
  std::vector<Array> arrays;
  for (Tensor& tensor : all) {
    const DType dtype = tensor.dtype();
    std::byte* const data = tensor.mutable_bytes().data();
    arrays.push_back({data + shift * static_cast<std::int64_t>(size_of(dtype)), dtype, sizes, sizes, begin});
  }
  const std::vector<Type> types(arrays.size(), {inputs[0].dtype(), Shape(std::span<const std::int64_t>(sizes))});
  const Attrs none;
  const BoundKernel bound = bind(kernels, *kernel,
                                 {.name = "fold",
                                  .attrs = none,
                                  .inputs = std::span(types).first(inputs.size()),
                                  .outputs = std::span(types).last(1),
                                  .data_folder = {}});
  ThisThread parallel;
  const std::int64_t step = 0;
  KernelRun run{.inputs = std::span(arrays).first(inputs.size()),
                .outputs = std::span(arrays).last(1),
                .state = bound.state.get(),
                .scratch = {},
                .parallel = parallel,
                .step = step,
                .iterations = {}};
  bound.run(run);
  return all.back();
}

}  // namespace

TEST_CASE("devices fold what members give with the bits of hosts, also in place") {
  const std::shared_ptr<const KernelTable> simulated = simulated_devices(1).kernels(cpu_kernels());
  for (const DType dtype : kDTypes)
    for (const Reduce reduce : kReductions)
      for (const std::size_t members : {std::size_t{1}, std::size_t{2}, std::size_t{5}, kMostFoldInputs}) {
        const std::vector<Tensor> inputs = given(dtype, members, 37);
        const Tensor wanted = folded_by_host(reduce, inputs);
        CAPTURE(name_of(dtype));
        CAPTURE(name_of(reduce));
        CAPTURE(members);
        const auto check = [&](const KernelTable& kernels, std::int64_t shift, std::optional<std::size_t> into) {
          const Tensor found = folded_by(kernels, reduce, inputs, shift, into);
          const std::size_t bytes = static_cast<std::size_t>(shift) * size_of(dtype);
          CHECK(std::ranges::equal(found.bytes().subspan(bytes), wanted.bytes().subspan(bytes)));
        };
        check(*simulated, 0, {});
        check(*simulated, 0, members - 1);
        for (const cuda::Order order : {cuda::Order::forward, cuda::Order::backward, cuda::Order::shuffled}) {
          cuda::run_threads(order);
          check(cuda_kernels(), 0, {});
          check(cuda_kernels(), 0, members - 1);
          check(cuda_kernels(), 3, {});
          cuda::run_threads(cuda::Order::forward);
        }
      }
}

TEST_CASE("a fold on a device is refused for inputs that are not like its output, or too many") {
  const Type small{DType::float32, Shape({2})}, large{DType::float32, Shape({3})};
  const auto refusal = [&](const std::vector<Type>& inputs) {
    const Attrs none;
    const std::vector<Type> outputs{small};
    return error_of([&] {
             static_cast<void>(cuda_kernels().find("FoldSum")->prepare(
                 {.name = "fold", .attrs = none, .inputs = inputs, .outputs = outputs, .data_folder = {}}));
           })
        .text();
  };
  const std::string wanted = "a fold on a device has one output, and 1 to 64 inputs like it";
  for (const std::vector<Type>& inputs : {std::vector<Type>{}, {small, large}, std::vector<Type>(65, small)})
    CHECK(has(refusal(inputs), wanted));
}

}  // namespace ferry::test
