// Gathers, scatters and one-hot on CUDA devices: the bits of the CPU's kernels, also of sums, and their refusals.
#include <doctest/doctest.h>

#include "tests/cuda/both.hpp"

namespace ferry::test {
namespace {

using Sizes = std::vector<std::int64_t>;

KernelCall gather(Tensor x, Tensor indices, std::int64_t axis, Sizes output) {
  const DType dtype = x.dtype();
  return {"Gather", {{"axis", axis}}, {{std::move(x)}, {std::move(indices)}}, {Tensor(dtype, std::move(output))}};
}

KernelCall scatter_add(DType dtype, const Sizes& y, Tensor indices, const Sizes& like, std::int64_t axis) {
  return {"ScatterAdd",
          {{"axis", axis}},
          {{some_numbers(dtype, y)}, {std::move(indices)}, {Tensor(dtype, like)}},
          {Tensor(dtype, like)}};
}

KernelCall scatter_elements(const std::string& how, DType dtype, const Sizes& x, Tensor indices, std::int64_t axis) {
  const Sizes updates = indices.sizes();
  return {"ScatterElements",
          {{"axis", axis}, {"how", how}},
          {{some_numbers(dtype, x)}, {std::move(indices)}, {some_numbers(dtype, updates, 3)}},
          {Tensor(dtype, x)}};
}

KernelCall scatter_blocks(const std::string& how, DType dtype, const Sizes& x, Tensor indices, const Sizes& updates,
                          std::int64_t batch_dims) {
  return {"ScatterND",
          {{"batch_dims", batch_dims}, {"how", how}},
          {{some_numbers(dtype, x)}, {std::move(indices)}, {some_numbers(dtype, updates, 3)}},
          {Tensor(dtype, x)}};
}

Tensor one_bad(Sizes sizes, std::int64_t bad) {
  Tensor indices(DType::int64, std::move(sizes));
  indices.mutable_data<std::int64_t>().back() = bad;
  return indices;
}

}  // namespace

TEST_CASE("gathers move rows of any number of bytes") {
  for (const DType dtype : {DType::int8, DType::boolean, DType::bfloat16, DType::float32, DType::float64})
    for (const std::int64_t width : {1, 2, 6, 7, 16, 40}) {
      CAPTURE(name_of(dtype));
      CAPTURE(width);
      CHECK(same_on_both(
          gather(some_numbers(dtype, {3, 50, width}), some_indices(DType::int32, {5, 31}, 50), 1, {3, 5, 31, width})));
    }
  CHECK(
      same_on_both(gather(some_numbers(DType::float32, {700}), some_indices(DType::int64, {9'001}, 700), -1, {9'001})));
  CHECK(same_on_both(gather(some_numbers(DType::float32, {4, 0}), some_indices(DType::int64, {3}, 4), 0, {3, 0})));
}

TEST_CASE("elements and blocks are gathered from several dims") {
  for (const std::int64_t axis : {0, 1, 2}) {
    const Sizes sizes = {axis == 0 ? 40 : 5, axis == 1 ? 33 : 6, axis == 2 ? 70 : 7};
    const Tensor indices = some_indices(DType::int32, sizes, axis + 5);
    CHECK(same_on_both({"GatherElements",
                        {{"axis", axis}},
                        {{some_numbers(DType::int16, {5, 6, 7})}, {indices}},
                        {Tensor(DType::int16, sizes)}}));
  }
  CHECK(same_on_both({"GatherND",
                      {{"batch_dims", std::int64_t{0}}},
                      {{some_numbers(DType::float32, {5, 5, 9})}, {some_indices(DType::int64, {300, 2}, 5)}},
                      {Tensor(DType::float32, {300, 9})}}));
  CHECK(same_on_both({"GatherND",
                      {{"batch_dims", std::int64_t{1}}},
                      {{some_numbers(DType::float64, {3, 4, 4, 2})}, {some_indices(DType::int32, {3, 7, 2}, 4)}},
                      {Tensor(DType::float64, {3, 7, 2})}}));
}

TEST_CASE("one-hot rows are of any dtype, also where the depth is split") {
  for (const DType dtype : {DType::boolean, DType::uint8, DType::float16, DType::int32, DType::float64})
    for (const DType index : {DType::int8, DType::int16, DType::int32, DType::int64})
      CHECK(same_on_both({"OneHot",
                          {{"depth", std::int64_t{60}}, {"dtype", dtype}},
                          {{some_indices(index, {7, 40}, 80)}},
                          {Tensor(dtype, {7, 40, 25}), {7, 40, 60}, {0, 0, 20}}}));
  Tensor huge = Tensor::of<std::uint64_t>({3}, {1, ~std::uint64_t{0}, 2});
  CHECK(same_on_both(
      {"OneHot", {{"depth", std::int64_t{3}}, {"dtype", DType::float32}}, {{huge}}, {Tensor(DType::float32, {3, 3})}}));
}

TEST_CASE("rows are added in the order of their indices") {
  for (const DType dtype : {DType::float32, DType::float64, DType::bfloat16, DType::int32, DType::uint8}) {
    CAPTURE(name_of(dtype));
    // Many to a row, few to a row, none to most; in one tile that is sorted, and in several with a short last tile.
    CHECK(same_on_both(scatter_add(dtype, {5'000, 3}, some_indices(DType::int32, {5'000}, 4), {4, 3}, 0)));
    CHECK(same_on_both(scatter_add(dtype, {2'049, 2}, some_indices(DType::int64, {2'049}, 700), {700, 2}, 0)));
    CHECK(same_on_both(scatter_add(dtype, {6, 2, 65}, some_indices(DType::int64, {6, 2}, 9'000), {9'000, 65}, 0)));
    CHECK(same_on_both(scatter_add(dtype, {3, 1'024, 5}, some_indices(DType::int64, {1'024}, 17), {3, 17, 5}, 1)));
    CHECK(same_on_both(scatter_add(dtype, {1'500}, some_indices(DType::int64, {1'500}, 1), {1}, 0)));
  }
  CHECK(same_on_both(scatter_add(DType::float32, {0, 3}, some_indices(DType::int32, {0}, 4), {4, 3}, 0)));
}

TEST_CASE("scatters join updates in their order") {
  for (const std::string how : {"replace", "add", "multiply", "largest", "smallest"})
    for (const DType dtype : {DType::float32, DType::float16, DType::int32, DType::uint64}) {
      CAPTURE(how);
      CAPTURE(name_of(dtype));
      KernelCall elements = scatter_elements(how, dtype, {6, 9, 40}, some_indices(DType::int32, {6, 70, 33}, 9), 1);
      CHECK(same_on_both(elements));
      elements.in_place = true;
      CHECK(same_on_both(elements));
      CHECK(same_on_both(
          scatter_blocks(how, dtype, {4, 5, 5, 3}, some_indices(DType::int64, {4, 60, 2}, 5), {4, 60, 3}, 1)));
      CHECK(same_on_both(
          scatter_blocks(how, dtype, {7, 130}, some_indices(DType::int64, {1'100, 1}, 7), {1'100, 130}, 0)));
    }
  CHECK(same_on_both(scatter_elements("replace", DType::boolean, {50}, some_indices(DType::int32, {400}, 50), 0)));
}

TEST_CASE("numbers out of range are refused as the CPU does") {
  const auto check = [](const std::string& kind, std::int64_t bad, std::int64_t size) {
    return KernelCall{
        "CheckRange", {{"kind", kind}, {"size", size}}, {{one_bad({4}, bad)}}, {Tensor(DType::int64, {4})}};
  };
  CHECK(refusal_of_both(check("position", -1, 5)) == "the position -1 is not one of 5, 0 to 4");
  CHECK(refusal_of_both(check("label", 5, 5)) == "the label 5 is not one of 5 classes, 0 to 4");
  CHECK(refusal_of_both(check("length", 6, 5)) == "the length 6 of sequence 3 is out of range for 5 steps");
  CHECK(refusal_of_both(check("image", -1, 5)) == "the image -1 of region 3 is out of range for 5 images");
  CHECK(same_on_both(check("length", 5, 5)));
  KernelCall part = check("length", 6, 5);  // elements 10 to 13 of 20
  part.inputs[0].whole = part.output.whole = {20};
  part.inputs[0].begin = part.output.begin = {10};
  CHECK(refusal_of_both(part) == "the length 6 of sequence 13 is out of range for 5 steps");
  KernelCall reversed{"ReverseSequence",
                      {{"time_axis", std::int64_t{0}}},
                      {{some_numbers(DType::float32, {5, 4}), {5, 20}, {0, 10}}, {one_bad({4}, 6), {20}, {10}}},
                      {Tensor(DType::float32, {5, 4}), {5, 20}, {0, 10}}};
  CHECK(refusal_of_both(reversed) == "the length 6 of sequence 13 is out of range for 5 steps");
  KernelCall ignoring = check("label", -100, 5);
  ignoring.attrs.set("ignored", std::int64_t{-100});
  CHECK(same_on_both(ignoring));
}

TEST_CASE("indices out of range are refused as the CPU does") {
  CHECK(refusal_of_both(gather(some_numbers(DType::float32, {5, 3}), one_bad({4}, -6), 0, {4, 3})) ==
        "the index -6 is out of range for 5 rows, -5 to 4");
  CHECK(refusal_of_both(gather(some_numbers(DType::float32, {0, 3}), one_bad({1}, 0), 0, {1, 3})) ==
        "the index 0 is out of range for no rows");
  CHECK(refusal_of_both(scatter_add(DType::float32, {4, 3}, one_bad({4}, 5), {5, 3}, 0)) ==
        "the index 5 is out of range for 5 rows, -5 to 4");
  CHECK(refusal_of_both(scatter_elements("add", DType::float32, {5, 3}, one_bad({4, 3}, 5), 0)) ==
        "the index 5 is out of range for a dim of 5, -5 to 4");
  CHECK(refusal_of_both(scatter_blocks("replace", DType::float32, {5, 3}, one_bad({4, 2}, -4), {4}, 0)) ==
        "the index -4 is out of range for a dim of 3, -3 to 2");
  CHECK(refusal_of_both({"GatherElements",
                         {{"axis", std::int64_t{1}}},
                         {{some_numbers(DType::float32, {2, 3})}, {one_bad({2, 3}, 3)}},
                         {Tensor(DType::float32, {2, 3})}}) == "the index 3 is out of range for a dim of 3, -3 to 2");
}

}  // namespace ferry::test
