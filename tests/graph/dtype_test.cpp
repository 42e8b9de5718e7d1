// Dtypes: the rounding of 16-bit floats, the promotion of two dtypes, and tensors of every dtype in every file format.
#include "graph/types/dtype.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "graph/file/graph_file.hpp"
#include "graph/file/tensor_file.hpp"
#include "graph/types/tensor.hpp"
#include "ops/op_set.hpp"
#include "tests/support/temp_folder.hpp"

namespace ferry {
namespace {

template <class T>
double number(std::uint16_t bits) {
  return static_cast<double>(T::from_bits(bits));
}

/// Checks the rounding of every number of the format, of the middle between two, and of the doubles beside that.
template <class T>
void check_rounding() {
  const std::uint16_t endless = std::numeric_limits<T>::infinity().bits();
  std::int64_t wrong = 0;
  const auto gives = [&wrong](double x, std::uint16_t bits) {
    wrong += T(x).bits() != bits || T(-x).bits() != (bits | 0x8000);
    if (static_cast<double>(static_cast<float>(x)) == x) wrong += T(static_cast<float>(x)).bits() != bits;
  };
  for (std::uint16_t bits = 0; bits < endless; ++bits) {
    const double here = number<T>(bits);
    const double next = bits + 1 < endless ? number<T>(static_cast<std::uint16_t>(bits + 1))
                                           : here + (here - number<T>(static_cast<std::uint16_t>(bits - 1)));
    const double middle = (here + next) / 2;
    const auto above = static_cast<std::uint16_t>(bits + 1);
    gives(here, bits);
    gives(middle, bits % 2 == 0 ? bits : above);
    gives(std::nextafter(middle, 0), bits);
    gives(std::nextafter(middle, INFINITY), above);
  }
  CHECK(wrong == 0);
  CHECK(T(INFINITY).bits() == endless);
  CHECK(T(1e300).bits() == endless);
  for (std::uint32_t bits = endless + 1U; bits < 0x8000; ++bits)
    wrong += !std::isnan(number<T>(static_cast<std::uint16_t>(bits)));
  for (double nan : {double{NAN}, -double{NAN}}) wrong += !std::isnan(static_cast<double>(T(nan)));
  CHECK(wrong == 0);
}

/// The lowest number of the dtype, 1, and the largest.
Tensor extremes(DType dtype) {
  Tensor tensor(dtype, {3});
  dispatch(dtype, [&](auto zero) {
    using T = decltype(zero);
    tensor.mutable_data<T>()[0] = std::numeric_limits<T>::lowest();
    tensor.mutable_data<T>()[1] = T(1);
    tensor.mutable_data<T>()[2] = std::numeric_limits<T>::max();
  });
  return tensor;
}

}  // namespace

TEST_CASE("16-bit floats are rounded to the nearest, of two the even one") {
  check_rounding<Float16>();
  check_rounding<BFloat16>();
  CHECK(number<Float16>(0x0001) == 0x1p-24);
  CHECK(number<Float16>(0x3c00) == 1);
  CHECK(number<Float16>(0x7bff) == 65504);
  CHECK(number<BFloat16>(0x3f80) == 1);
  CHECK(static_cast<int>(Float16(3)) == 3);
  CHECK(Float16(0.0) == Float16(-0.0));
  CHECK(!(Float16(NAN) == Float16(NAN)));
}

// numpy 1.24's promote_types; rows and columns as in kDTypes, bfloat16 left out.
TEST_CASE("two dtypes give what numpy gives") {
  const std::string_view table[] = {
      "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64",
      "uint8 uint8 uint16 uint32 uint64 int16 int16 int32 int64 float16 float32 float64",
      "uint16 uint16 uint16 uint32 uint64 int32 int32 int32 int64 float32 float32 float64",
      "uint32 uint32 uint32 uint32 uint64 int64 int64 int64 int64 float64 float64 float64",
      "uint64 uint64 uint64 uint64 uint64 float64 float64 float64 float64 float64 float64 float64",
      "int8 int16 int32 int64 float64 int8 int16 int32 int64 float16 float32 float64",
      "int16 int16 int32 int64 float64 int16 int16 int32 int64 float32 float32 float64",
      "int32 int32 int32 int64 float64 int32 int32 int32 int64 float64 float64 float64",
      "int64 int64 int64 int64 float64 int64 int64 int64 int64 float64 float64 float64",
      "float16 float16 float32 float64 float64 float16 float32 float64 float64 float16 float32 float64",
      "float32 float32 float32 float64 float64 float32 float32 float64 float64 float32 float32 float64",
      "float64 float64 float64 float64 float64 float64 float64 float64 float64 float64 float64 float64"};
  std::size_t row = 0;
  for (DType a : kDTypes) {
    if (a == DType::bfloat16) continue;
    std::string got;
    for (DType b : kDTypes)
      if (b != DType::bfloat16) got.append(got.empty() ? "" : " ").append(name_of(promoted(a, b)));
    CHECK(got == table[row++]);
  }
  CHECK(promoted(DType::bfloat16, DType::float16) == DType::float32);
  CHECK(promoted(DType::float16, DType::bfloat16) == DType::float32);
  CHECK(promoted(DType::bfloat16, DType::bfloat16) == DType::bfloat16);
  CHECK(promoted(DType::bfloat16, DType::uint8) == DType::bfloat16);
  CHECK(promoted(DType::int16, DType::bfloat16) == DType::float32);
  CHECK(promoted(DType::float32, DType::bfloat16) == DType::float32);
}

TEST_CASE("a dtype holds numbers of its range") {
  CHECK(holds(DType::int8, -128));
  CHECK(!holds(DType::int8, 128));
  CHECK(!holds(DType::uint16, -1));
  CHECK(!holds(DType::uint32, 0.5));
  CHECK(holds(DType::uint64, 0x1p63));
  CHECK(!holds(DType::uint64, 0x1p64));
  CHECK(holds(DType::float16, 65519));
  CHECK(!holds(DType::float16, 65520));
  CHECK(holds(DType::float16, INFINITY));
  CHECK(holds(DType::bfloat16, 65520));
  CHECK(!holds(DType::boolean, 2));
}

TEST_CASE("tensors of every dtype are printed as numbers") {
  CHECK(extremes(DType::uint64).str() == "[0 1 18446744073709551615]");
  CHECK(extremes(DType::int8).str() == "[-128 1 127]");
  CHECK(extremes(DType::float16).str() == "[-6.55e+04 1 6.55e+04]");
  CHECK(Tensor::of<BFloat16>({2}, {BFloat16(0.1), BFloat16(-256)}).str() == "[0.1 -256]");
  CHECK(Tensor::of<Float16>({1}, {Float16(0.1)}).type().str() == "float16[1]");
}

TEST_CASE("tensors of every dtype come back from safetensors as they were") {
  const test::TempFolder folder;
  NamedTensors saved;
  for (DType dtype : kDTypes) saved.emplace(name_of(dtype), extremes(dtype));
  write_tensors(local_files(), folder / "all.safetensors", saved);
  const NamedTensors read = read_tensors(local_files(), folder / "all.safetensors");
  REQUIRE(read.size() == std::size(kDTypes));
  for (const auto& [name, tensor] : read) CHECK(tensor.same_bits(saved.at(name)));
}

TEST_CASE("constants of every dtype come back from graph files as they were") {
  for (GraphFormat format : {GraphFormat::binary, GraphFormat::text}) {
    Graph g;
    for (DType dtype : kDTypes) {
      g.constant(extremes(dtype)).named(name_of(dtype));
      g.input("in_" + std::string(name_of(dtype)), dtype, {"n"});
    }
    const GraphContent content = encode_graph(g, format);
    const auto read = decode_graph(std::as_bytes(std::span(content.content)), format, "memory", default_ops());
    REQUIRE(read->size() == g.size());
    for (OpId id = 0; id < g.size(); ++id) CHECK(read->op(id).attrs().same(g.op(id).attrs()));
  }
}

}  // namespace ferry
