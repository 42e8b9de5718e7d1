// Extents: kernels compute the extent of a bounded output, and leave the sizes of any other as the plan gives them.
#include <doctest/doctest.h>

#include <array>
#include <vector>

#include "kernels/kernel.hpp"
#include "tests/support/threads.hpp"

namespace ferry {
namespace {

/// A float32 array of ones.
struct Ones {
  explicit Ones(std::vector<std::int64_t> dims, bool is_bounded = false)
      : sizes(std::move(dims)), begin(sizes.size()), bounded(is_bounded) {
    std::size_t count = 1;
    for (std::int64_t size : sizes) count *= static_cast<std::size_t>(size);
    data.assign(count, 1.0F);
  }
  Array array() { return {reinterpret_cast<std::byte*>(data.data()), DType::float32, sizes, sizes, begin, bounded}; }

  std::vector<std::int64_t> sizes, begin;
  std::vector<float> data;
  bool bounded;
};

void run_kernel(const char* op, std::vector<Array> inputs, Array& output) {
  const Kernel* kernel = cpu_kernels().find(op);
  const Attrs attrs;
  const auto state =
      kernel->prepare != nullptr ? kernel->prepare({"op", attrs, {}, {}, nullptr, {}, 0, true}) : nullptr;
  test::Threads parallel;
  KernelRun run{inputs, {&output, 1}, state.get(), {}, parallel, false, 0, {}};
  kernel->run(run);
}

TEST_CASE("a bounded output has the extent of its inputs") {
  Ones found({3, 2}, true), row({1, 2}), sum({5, 2}, true);
  Array output = sum.array();
  run_kernel("Add", {found.array(), row.array()}, output);
  CHECK(output.sizes[0] == 3);
  CHECK(sum.data == std::vector<float>{2, 2, 2, 2, 2, 2, 1, 1, 1, 1});

  Ones like({5, 2}, true);
  output = like.array();
  run_kernel("BroadcastLike", {row.array(), found.array()}, output);
  CHECK(output.sizes[0] == 3);

  Ones batch({3, 2, 2}, true), matrix({2, 2}), product({5, 2, 2}, true);
  output = product.array();
  run_kernel("MatMul", {batch.array(), matrix.array()}, output);
  CHECK(output.sizes[0] == 3);
  CHECK(product.data[11] == 2.0F);
  CHECK(product.data[12] == 1.0F);
}

TEST_CASE("an output that is not bounded keeps its part's size, whatever stands for the whole value") {
  Ones value({1}), part({2, 2});
  Ones whole({6, 2});
  Array unread = whole.array();
  unread.data = nullptr;
  Array output = part.array();
  run_kernel("BroadcastLike", {value.array(), unread}, output);
  CHECK(output.sizes[0] == 2);
  CHECK(part.data == std::vector<float>{1, 1, 1, 1});
}

}  // namespace
}  // namespace ferry
