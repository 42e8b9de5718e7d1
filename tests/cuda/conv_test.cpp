// Convolutions of CUDA devices and their gradients, of images of several blocks. The numbers are small integers. Floats
// hold their products and sums exactly, so the CPU's results in float64 must be the same.
#include <doctest/doctest.h>

#include "ops/array/array.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/logic.hpp"
#include "ops/math/random.hpp"
#include "ops/op_set.hpp"
#include "tests/cuda/cuda_kernels.hpp"

namespace ferry::test {
namespace {

using cuda::Order;

struct Convolved {
  Shape image, filter;
  Ints strides = {1, 1}, padding = {0, 0, 0, 0}, dilations = {1, 1};
  std::int64_t groups = 1;

  [[nodiscard]] Sliding sliding() const { return {.strides = strides, .padding = padding, .dilations = dilations}; }
  [[nodiscard]] Attrs attrs() const {
    return {{"dilations", dilations}, {"groups", groups}, {"padding", padding}, {"strides", strides}};
  }
};

Value gradient(std::string_view name, const Values& inputs, const Convolved& conv) {
  return inputs[0].graph().add(*default_ops().find(name), inputs, conv.attrs(), SourceLine())[0];
}

/// Offers a library of convolutions during its lifetime. The library has no plan for strides above 6.
class ByLibrary {
 public:
  ByLibrary() { cuda::offer_dnn(true); }
  ~ByLibrary() { cuda::offer_dnn(false); }
  ByLibrary(const ByLibrary&) = delete;
  ByLibrary& operator=(const ByLibrary&) = delete;
  [[nodiscard]] std::int64_t runs() const { return cuda::runs_of_dnn() - before_; }

 private:
  std::int64_t before_ = cuda::runs_of_dnn();
};

/// From -2 to 2.
Value whole(Graph& g, const Shape& shape) {
  return cast(cast(uniform(g, shape, -2.9, 2.9), DType::int32), DType::float64);
}

/// The convolution and all gradients, in that dtype.
Values all_of(const Value& x, const Value& w, const Value& dy, const Convolved& conv, DType dtype) {
  const Value image = cast(x, dtype), filter = cast(w, dtype), output = cast(dy, dtype);
  return {conv2d(image, filter, conv.sliding(), conv.groups),
          gradient("Conv2DGradInput", {output, filter, image}, conv),
          gradient("Conv2DGradFilter", {output, image, filter}, conv),
          conv2d_transpose(output, filter, conv.sliding(), conv.groups)};
}

void check(const Convolved& conv, std::initializer_list<DType> dtypes) {
  Graph g;
  const Value x = whole(g, conv.image), w = whole(g, conv.filter);
  const Value dy = whole(g, conv2d(x, w, conv.sliding(), conv.groups).type().shape);
  const Values exact = all_of(x, w, dy, conv, DType::float64);
  for (const DType dtype : dtypes) {
    CAPTURE(name_of(dtype));
    Values rounded;
    for (const Value& value : exact) rounded.push_back(cast(value, dtype));
    const std::vector<Tensor> wanted = Evaluator(g).run(rounded);
    const Values values = all_of(x, w, dy, conv, dtype);
    for (const Order order : {Order::forward, Order::backward, Order::shuffled}) {
      const std::vector<Tensor> got = run_on_cuda(values, order);
      for (std::size_t i = 0; i < got.size(); ++i) {
        CAPTURE(i);
        CHECK(got[i].same_bits(wanted[i]));
      }
    }
    const ByLibrary library;
    const std::vector<Tensor> got = run_on_cuda(values, Order::forward);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i].same_bits(wanted[i]));
    CHECK(library.runs() == (conv.strides[0] > 6 ? 0 : std::ssize(values)));
  }
}

}  // namespace

TEST_CASE("convolutions on CUDA are the CPU's") {
  check({.image = {2, 19, 15, 13}, .filter = {70, 19, 3, 3}, .padding = {1, 1, 1, 1}},
        {DType::float32, DType::float64, DType::float16, DType::bfloat16});
  check({.image = {3, 33, 12, 11}, .filter = {20, 33, 1, 1}}, {DType::float32});
  check({.image = {3, 9, 12, 11}, .filter = {20, 9, 1, 1}, .strides = {2, 3}}, {DType::float32});
}

TEST_CASE("convolutions on CUDA with strides, dilations and uneven padding") {
  check({.image = {2, 9, 17, 20}, .filter = {12, 9, 3, 4}, .strides = {2, 3}, .padding = {2, 0, 1, 3}},
        {DType::float32, DType::bfloat16});
  check({.image = {2, 9, 17, 20}, .filter = {12, 9, 3, 3}, .padding = {1, 4, 2, 0}, .dilations = {2, 3}},
        {DType::float32});
  // Strides and dilations with a divisor in common, and positions that no tap reaches.
  check({.image = {1, 8, 19, 22},
         .filter = {9, 8, 3, 2},
         .strides = {4, 5},
         .padding = {3, 1, 0, 2},
         .dilations = {2, 3}},
        {DType::float32});
  check({.image = {1, 8, 13, 14}, .filter = {9, 8, 2, 2}, .strides = {7, 9}, .padding = {3, 4, 3, 4}},
        {DType::float32});
}

TEST_CASE("convolutions on CUDA in groups") {
  check({.image = {2, 18, 9, 8}, .filter = {27, 6, 3, 3}, .padding = {1, 1, 1, 1}, .groups = 3},
        {DType::float32, DType::float16});
  check({.image = {3, 5, 21, 17}, .filter = {10, 1, 3, 3}, .strides = {2, 2}, .padding = {1, 1, 1, 1}, .groups = 5},
        {DType::float32, DType::float64});
}

TEST_CASE("gradients on CUDA in parts along many positions") {
  check({.image = {2, 9, 40, 41}, .filter = {8, 9, 3, 3}, .padding = {1, 1, 1, 1}}, {DType::float32, DType::bfloat16});
}

TEST_CASE("a convolution on CUDA by large tiles") {
  Graph g;
  const Value x = whole(g, {1, 2, 131, 130}), w = whole(g, {65, 2, 2, 2});
  const Tensor wanted = Evaluator(g).run({cast(conv2d(x, w), DType::float32)})[0];
  CHECK(run_on_cuda({conv2d(cast(x, DType::float32), cast(w, DType::float32))}, Order::shuffled)[0].same_bits(wanted));
}

/// A part of an image; its rows and columns begin there.
struct ImagePart {
  Ints sizes, begin;
};

/// The output of a kernel of `table` for parts of split images with a whole filter, in the last of some runs.
/// `operands`: inputs, then the output. In each run all arrays begin a few elements behind an address that is aligned
/// to 16.
std::vector<float> part_of(const KernelTable& table, std::string_view op, std::vector<ImagePart> operands,
                           const Attrs& attrs, const std::vector<std::ptrdiff_t>& offsets = {0}) {
  const Ints whole{2, 4, 40, 40};
  std::vector<Type> types;
  std::vector<PlacedPart> parts;
  std::vector<std::vector<float>> numbers;
  for (const ImagePart& operand : operands) {
    types.push_back({DType::float32, Shape(std::span<const std::int64_t>(operand.sizes))});
    parts.push_back({whole, operand.begin});
    numbers.emplace_back(static_cast<std::size_t>(types.back().shape.count() + std::ranges::max(offsets)));
  }
  const std::span<const Type> all(types);
  const KernelSetup setup{.name = op,
                          .attrs = attrs,
                          .inputs = all.first(all.size() - 1),
                          .outputs = all.last(1),
                          .data_folder = {},
                          .parts = parts};
  const Kernel& kernel = *table.find(op);
  const BoundKernel bound = bind(table, kernel, setup);
  std::vector<std::max_align_t> scratch(static_cast<std::size_t>(scratch_of(kernel, setup)) / sizeof(std::max_align_t) +
                                        1);
  ThisThread thread;
  const std::int64_t step = 0;
  for (const std::ptrdiff_t offset : offsets) {
    std::vector<Array> arrays;
    for (std::size_t i = 0; i < operands.size(); ++i) {
      const std::span<float> from = std::span(numbers[i]).subspan(static_cast<std::size_t>(offset));
      for (std::size_t n = 0; n < from.size(); ++n) from[n] = static_cast<float>(n * 7 % 5) - 2;
      arrays.push_back(
          {reinterpret_cast<std::byte*>(from.data()), DType::float32, operands[i].sizes, whole, operands[i].begin});
    }
    KernelRun run{std::span<const Array>(arrays).first(arrays.size() - 1),
                  std::span(arrays).last(1),
                  bound.state.get(),
                  std::as_writable_bytes(std::span(scratch)),
                  thread,
                  false,
                  step,
                  {}};
    bound.run(run);
  }
  const auto begin = numbers.back().begin() + offsets.back();
  return {begin, begin + types.back().shape.count()};
}

TEST_CASE("convolutions of parts of split images on CUDA are the CPU's") {
  const Attrs attrs{
      {"dilations", Ints{1, 2}}, {"groups", std::int64_t{1}}, {"padding", Ints{2, 1, 1, 2}}, {"strides", Ints{2, 3}}};
  const ImagePart filter{{5, 4, 3, 2}, {0, 0, 0, 0}};
  const ImagePart image{{2, 4, 13, 14}, {0, 0, 9, 10}}, output{{2, 5, 6, 5}, {0, 0, 5, 3}};
  const ImagePart other_image{{2, 4, 12, 11}, {0, 0, 8, 12}};  // with other remainders
  const auto check_part = [&](std::string_view op, const std::vector<ImagePart>& operands) {
    CAPTURE(op);
    const std::vector<float> wanted = part_of(cpu_kernels(), op, operands, attrs);
    CHECK(part_of(cuda_kernels(), op, operands, attrs) == wanted);
    const ByLibrary library;
    CHECK(part_of(cuda_kernels(), op, operands, attrs) == wanted);
    return library.runs();
  };
  CHECK(check_part("Conv2D", {image, filter, output}) == 1);
  CHECK(check_part("Conv2DGradFilter", {output, image, filter, filter}) == 1);
  const ImagePart earlier_image{{2, 4, 12, 11}, {0, 0, 7, 8}};  // with a row in front of the first window
  CHECK(check_part("Conv2D", {earlier_image, filter, output}) == 0);
  for (const ImagePart& to : {image, other_image, earlier_image}) {
    const int by_library = to.begin == earlier_image.begin ? 0 : 1;
    CHECK(check_part("Conv2DTranspose", {output, filter, to}) == by_library);
    CHECK(check_part("Conv2DGradInput", {output, filter, to, to}) == by_library);
  }
}

TEST_CASE("a convolution by the library is planned again for arrays that are aligned less") {
  const Attrs attrs{
      {"dilations", Ints{1, 1}}, {"groups", std::int64_t{1}}, {"padding", Ints{1, 1, 1, 1}}, {"strides", Ints{1, 1}}};
  const std::vector<ImagePart> operands{
      {{2, 4, 9, 8}, {0, 0, 0, 0}}, {{3, 4, 3, 3}, {0, 0, 0, 0}}, {{2, 3, 9, 8}, {0, 0, 0, 0}}};
  const std::vector<float> wanted = part_of(cpu_kernels(), "Conv2D", operands, attrs);
  const ByLibrary library;
  CHECK(part_of(cuda_kernels(), "Conv2D", operands, attrs, {0, 1, 2}) == wanted);
  CHECK(library.runs() == 3);
}

TEST_CASE("convolutions of 8-bit integers on CUDA are the CPU's") {
  Graph g;
  const auto bytes = [&](const Shape& shape, DType dtype) {
    const bool is_signed = dtype == DType::int8;
    return cast(cast(uniform(g, shape, is_signed ? -128 : 0, is_signed ? 127 : 255), DType::int32), dtype);
  };
  Values all;
  for (const DType pixels : {DType::int8, DType::uint8})
    for (const DType weights : {DType::int8, DType::uint8}) {
      const Sliding sliding{.strides = {1, 2}, .padding = {2, 0, 1, 3}, .dilations = {2, 1}};
      const Value x = bytes({2, 9, 14, 15}, pixels), w = bytes({12, 9, 3, 3}, weights);
      all.push_back(conv2d_integer(x, w, bytes({}, pixels), bytes({12}, weights), sliding));
      const Value groups = bytes({18, 3, 3, 3}, weights);
      all.push_back(conv2d_integer(x, groups, bytes({}, pixels), bytes({}, weights), sliding, 3));
    }
  const std::vector<Tensor> wanted = Evaluator(g).run(all);
  for (const Order order : {Order::forward, Order::backward, Order::shuffled}) {
    const std::vector<Tensor> got = run_on_cuda(all, order);
    for (std::size_t i = 0; i < all.size(); ++i) CHECK(got[i].same_bits(wanted[i]));
  }
}

}  // namespace ferry::test
