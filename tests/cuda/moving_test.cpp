// Kernels for CUDA devices that move elements, on arrays of several blocks, whole and in parts: they give the CPU's
// bits.
#include <doctest/doctest.h>

#include <tuple>
#include <vector>

#include "graph/types/halo.hpp"
#include "tests/cuda/given.hpp"
#include "tests/support/throws.hpp"

namespace ferry::test {
namespace {

void check(Given given) {
  Dice dice(1);
  for (Operand& operand : given.in) operand.fill(dice);
  check_filled(given, dice);
}

/// f(dtype, shift) for elements of all sizes, on addresses that are aligned for groups or not.
template <class F>
void for_layouts(const F& f) {
  for (const DType dtype : {DType::uint8, DType::float16, DType::float32, DType::float64})
    for (const std::size_t shift : {0U, 1U}) f(dtype, shift);
}

}  // namespace

TEST_CASE("transposes of any sizes") {
  const struct {
    Ints sizes, perm;
  } cases[] = {{{3, 100, 70}, {0, 2, 1}},
               {{70, 9, 40}, {1, 0, 2}},
               {{50, 12, 4}, {1, 0, 2}},
               {{2, 32, 9, 65}, {0, 3, 1, 2}},
               {{2, 9, 65, 32}, {0, 2, 3, 1}},
               {{130, 64}, {1, 0}},
               {{5, 3, 2}, {2, 0, 1}},
               {{7, 300}, {-1, 0}},
               {{0, 4}, {1, 0}},
               {{}, {}},
               {{9, 10, 11, 12}, {3, 2, 1, 0}}};
  for_layouts([&](DType dtype, std::size_t shift) {
    for (const auto& [sizes, perm] : cases) {
      Ints turned;
      for (const std::int64_t d : perm) turned.push_back(sizes[d < 0 ? sizes.size() - 1 : static_cast<std::size_t>(d)]);
      check(unary("Transpose", {{"perm", perm}}, {dtype, sizes, shift}, {dtype, turned}));
      check(unary("Transpose", {{"perm", perm}}, {dtype, sizes}, {dtype, turned, shift}));
    }
  });
}

TEST_CASE("broadcasts, flips, slices and what undoes them") {
  for_layouts([](DType dtype, std::size_t shift) {
    check(unary("BroadcastTo", {}, {dtype, {1, 37, 1}, shift}, {dtype, {5, 37, 64}}));
    check(unary("BroadcastTo", {}, {dtype, {37, 48}}, {dtype, {5, 37, 48}, shift}));
    check(unary("BroadcastTo", {}, {dtype, {}}, {dtype, {3, 333}, shift}));
    check(unary("ReshapeRows", {}, {dtype, {30, 12}, shift}, {dtype, {60, 6}}));
    check(unary("Flip", {{"axes", Ints{1, -2}}}, {dtype, {9, 37, 8}, shift}, {dtype, {9, 37, 8}}));
    check(unary("Flip", {{"axes", Ints{2}}}, {dtype, {9, 37, 8}}, {dtype, {9, 37, 8}, shift}));
    const Attrs blocks{{"axes", Ints{0, 1}}, {"begin", Ints{2, 4}}, {"end", Ints{-2, 36}}, {"step", Ints{1, 1}}};
    check(unary("Slice", blocks, {dtype, {9, 40, 16}, shift}, {dtype, {5, 32, 16}}));
    check(unary("Slice", blocks, {dtype, {9, 40}}, {dtype, {5, 32}, shift}));
    const Attrs steps{{"axes", Ints{0, -1}}, {"begin", Ints{1, 3}}, {"end", Ints{9, 99}}, {"step", Ints{3, 2}}};
    check(unary("Slice", steps, {dtype, {9, 40, 16}, shift}, {dtype, {3, 40, 7}}));
    for (const auto& [attrs, of, sizes] :
         {std::tuple{blocks, Ints{5, 32, 16}, Ints{9, 40, 16}}, std::tuple{blocks, Ints{5, 32}, Ints{9, 40}},
          std::tuple{steps, Ints{3, 40, 7}, Ints{9, 40, 16}}}) {
      Given back = unary("Unslice", attrs, {dtype, of, shift}, {dtype, sizes});
      back.in.emplace_back(dtype, sizes);
      check(back);
    }
    // Parts: rows 3 to 6 of the result get elements 1 and 2 of the slice, and these elements are here.
    Given part = unary("Unslice", steps, Operand(dtype, {2, 40, 7}, shift).part_of({3, 40, 7}, {1, 0, 0}),
                       Operand(dtype, {4, 40, 16}).part_of({9, 40, 16}, {3, 0, 0}));
    part.in.emplace_back(dtype, Ints{4, 40, 16});
    check(part);
    Given nothing = unary("Unslice", steps, Operand(dtype, {1, 40, 7}).part_of({3, 40, 7}, {2, 0, 0}),
                          Operand(dtype, {1, 40, 16}, shift).part_of({9, 40, 16}, {0, 0, 0}));
    nothing.in.emplace_back(dtype, Ints{1, 40, 16});
    check(nothing);
  });
}

TEST_CASE("arrays are padded") {
  const auto padded = [](const Ints& low, const Ints& high) {
    return Attrs{{"low", low}, {"high", high}, {"value", -1.5}};
  };
  for_layouts([&](DType dtype, std::size_t shift) {
    check(unary("Pad", padded({0, 1, 2}, {0, 3, 1}), {dtype, {5, 30, 31}, shift}, {dtype, {5, 34, 34}}));
    check(unary("Pad", padded({2, 1, 0}, {0, 0, 0}), {dtype, {5, 30, 32}}, {dtype, {7, 31, 32}, shift}));
    check(unary("Pad", padded({0, 16}, {0, 32}), {dtype, {50, 16}, shift}, {dtype, {50, 64}}));
    check(unary("Pad", padded({3, 4}, {0, 0}), {dtype, {0, 16}}, {dtype, {3, 20}, shift}));
    check(unary("Pad", padded({3}, {1}), {dtype, {1}}, {dtype, {5}}));
    check(unary("Pad", padded({}, {}), {dtype, {}}, {dtype, {}}));
  });
}

TEST_CASE("arrays are joined and split") {
  for_layouts([](DType dtype, std::size_t shift) {
    for (const std::int64_t axis : {0, 1, -1}) {
      const auto dim = static_cast<std::size_t>(axis < 0 ? axis + 3 : axis);
      Given join("Concat", {{"axis", axis}}), cut("Split", {{"axis", axis}});
      Ints sizes{8, 24, 16};
      std::int64_t whole = 0;
      for (const std::int64_t size : {8, 3, 0, 32}) {
        sizes[dim] = size;
        whole += size;
        join.in.emplace_back(dtype, sizes, shift);
        cut.out.emplace_back(dtype, sizes, shift);
      }
      sizes[dim] = whole;
      join.out.emplace_back(dtype, sizes);
      cut.in.emplace_back(dtype, sizes);
      check(join);
      check(cut);
    }
    check(unary("TakePart", {}, Operand(dtype, {8, 40, 6}).part_of({9, 40, 6}, {1, 0, 0}),
                Operand(dtype, {3, 20, 6}, shift).part_of({9, 40, 6}, {2, 20, 0})));
    for (const std::int64_t dim : {0, 1}) {
      const Attrs parts{{"dim", dim}, {"parts", std::int64_t{3}}};
      check(unary("JoinParts", parts, {dtype, {8, 40, 6}, shift}, {dtype, {8, 40, 6}}));
      check(unary("CutParts", parts, {dtype, {8, 40, 6}}, {dtype, {8, 40, 6}, shift}));
    }
  });
}

TEST_CASE("windows and the rows that others have of them") {
  const Ints reads{-2, 1, 11, 1, 0, 1, 0};  // of 10 rows, by 11
  const Halo halo{10, 2, {{-2, 1, 11, 1, {}}}};
  const std::int64_t rows = halo.rows_between(0, 1).size;
  REQUIRE(rows == 1);
  const Attrs cut{{"dim", std::int64_t{0}}, {"parts", std::int64_t{2}}, {"reads", reads}};
  Attrs window = cut;
  window.set("begin", Ints{-2, 1});
  window.set("step", Ints{1, 2});
  window.set("value", 7.0);
  for_layouts([&](DType dtype, std::size_t shift) {
    check(unary("CutHalo", cut, Operand(dtype, {5, 64}).part_of({10, 64}, {0, 0}, {0, 0}), {dtype, {rows, 64}, shift}));
    Given second = unary("Window", window, Operand(dtype, {5, 64}, shift).part_of({10, 64}, {5, 0}, {1, 0}),
                         Operand(dtype, {5, 40}).part_of({11, 40}, {6, 0}, {1, 0}));
    second.in.emplace_back(dtype, Ints{rows, 64});
    check(second);
    Given first = unary("Window", window, Operand(dtype, {5, 64}, shift).part_of({10, 64}, {0, 0}, {0, 0}),
                        Operand(dtype, {6, 40}).part_of({11, 40}, {0, 0}, {0, 0}));
    first.in.emplace_back(dtype, Ints{0, 64});
    check(first);
  });
}

TEST_CASE("triangles of matrices and of their parts") {
  for_layouts([](DType dtype, std::size_t shift) {
    for (const bool upper : {true, false})
      for (const std::int64_t k : {0, -3, 20, -4000})
        for (const std::int64_t columns : {64, 33}) {
          const Attrs attrs{{"k", k}, {"upper", upper}};
          const Ints sizes{3, 40, columns};
          Given given = unary("Triangle", attrs, {dtype, sizes, shift}, {dtype, sizes, shift});
          check(given);
          given.in_place = true;
          check(given);
          check(unary("Triangle", attrs, Operand(dtype, sizes).part_of({3, 80, 99}, {0, 40, 7}),
                      Operand(dtype, sizes).part_of({3, 80, 99}, {0, 40, 7})));
        }
  });
}

TEST_CASE("sequences are reversed, and a length that is none is refused") {
  const auto reversing = [](DType dtype, std::size_t shift, std::int64_t time_axis, Ints sizes) {
    const std::int64_t batch = sizes[time_axis == 0 ? 1 : 0];
    Given given = unary("ReverseSequence", {{"time_axis", time_axis}}, {dtype, sizes, shift}, {dtype, sizes});
    given.in.emplace_back(DType::int64, Ints{batch});
    Dice dice(2);
    given.in[0].fill(dice);
    for (std::int64_t b = 0; b < batch; ++b)
      given.in[1].array().as<std::int64_t>()[b] = dice.below(sizes[time_axis] + 1);
    return given;
  };
  for_layouts([&](DType dtype, std::size_t shift) {
    Dice dice(3);
    for (const std::int64_t axis : {0, 1})
      for (const Ints& sizes : {Ints{11, 7, 32}, Ints{7, 11, 5}, Ints{20, 30}, Ints{1, 9, 4}, Ints{9, 1, 4}}) {
        Given given = reversing(dtype, shift, axis, sizes);
        check_filled(given, dice);
      }
  });
  for (const std::int64_t length : {-1, 12}) {
    Given given = reversing(DType::float32, 0, 0, {11, 7, 32});
    given.in[1].array().as<std::int64_t>()[5] = length;
    Given same = given;
    const Error wanted = error_of([&] { given.run(cpu_kernels()); });
    CHECK(says(wanted, "of sequence 5 is out of range for 11 steps"));
    CHECK(error_of([&] { same.run(cuda_kernels()); }).text() == wanted.text());
  }
}

TEST_CASE("constants and their parts, and sizes") {
  Tensor value(DType::float32, {6, 5, 4});
  for (std::size_t i = 0; i < 120; ++i) value.mutable_data<float>()[i] = static_cast<float>(i);
  Given whole("Constant", {{"value", value}});
  whole.out.emplace_back(DType::float32, Ints{6, 5, 4}, 1);
  check(whole);
  for (const auto& [sizes, begin] :
       {std::pair{Ints{2, 5, 4}, Ints{3, 0, 0}}, std::pair{Ints{6, 2, 4}, Ints{0, 3, 0}},
        std::pair{Ints{3, 2, 3}, Ints{3, 1, 1}}, std::pair{Ints{0, 5, 4}, Ints{6, 0, 0}}}) {
    Given part("Constant", {{"value", value}});
    part.out.push_back(Operand(DType::float32, sizes).part_of({6, 5, 4}, begin));
    check(part);
  }
  for (const DType dtype : {DType::int8, DType::int64, DType::float32, DType::bfloat16})
    check(unary("SizeOf", {{"axes", Ints{0, -1}}}, Operand(DType::uint8, {2, 3, 7}).part_of({4, 3, 70}, {0, 0, 0}),
                {dtype, {}}));
}

TEST_CASE("many arrays are added up in their order") {
  for (const std::size_t arrays : {1U, 3U, 64U, 65U, 200U})
    for (const std::size_t shift : {0U, 1U}) {
      Dice dice(4);
      Given floats("AddUp", {}), numbers("AddUp", {});
      for (std::size_t i = 0; i < arrays; ++i) {
        Operand& in = floats.in.emplace_back(DType::float32, Ints{30, 7}, i == 1 ? shift : 0);
        for (std::int64_t k = 0; k < 210; ++k)
          in.array().as<float>()[k] = 1.0F / static_cast<float>(1 + dice.below(99));
        numbers.in.emplace_back(DType::int32, Ints{30, 7}, i == 1 ? shift : 0).fill(dice);
      }
      floats.out.emplace_back(DType::float32, Ints{30, 7});
      numbers.out.emplace_back(DType::int32, Ints{30, 7});
      check_filled(floats, dice);
      check_filled(numbers, dice);
    }
}

}  // namespace ferry::test
