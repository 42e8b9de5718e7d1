#include "graph/types/dtype.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/error.hpp"

namespace ferry {
namespace {

struct Names {
  DType dtype;
  std::string_view name, npy;
};

constexpr Names kNames[] = {
    {DType::boolean, "bool", "|b1"},    {DType::uint8, "uint8", "|u1"},    {DType::uint16, "uint16", "<u2"},
    {DType::uint32, "uint32", "<u4"},   {DType::uint64, "uint64", "<u8"},  {DType::int8, "int8", "|i1"},
    {DType::int16, "int16", "<i2"},     {DType::int32, "int32", "<i4"},    {DType::int64, "int64", "<i8"},
    {DType::float16, "float16", "<f2"}, {DType::bfloat16, "bfloat16", ""}, {DType::float32, "float32", "<f4"},
    {DType::float64, "float64", "<f8"}, {DType{}, "invalid", ""}};

const Names& names_of(DType dtype) {
  const Names* last = std::end(kNames) - 1;
  return *std::find_if(std::begin(kNames), last, [dtype](const Names& names) { return names.dtype == dtype; });
}

/// Whether `larger` holds every value of `smaller`; both are integer dtypes.
bool includes(DType larger, DType smaller) {
  const bool sign_fits = kUnsignedInts.has(smaller) || kSignedInts.has(larger);
  const bool grows = kUnsignedInts.has(smaller) && kSignedInts.has(larger);
  return sign_fits && (grows ? size_of(larger) > size_of(smaller) : size_of(larger) >= size_of(smaller));
}

DType promoted_ints(DType a, DType b) {
  for (DType dtype : {a, b, DType::int16, DType::int32, DType::int64})
    if (includes(dtype, a) && includes(dtype, b)) return dtype;
  return DType::float64;
}

}  // namespace

std::string DTypeSet::str() const {
  std::string text;
  for (DType dtype : kDTypes)
    if (has(dtype)) text.append(text.empty() ? "" : ", ").append(name_of(dtype));
  return text;
}

DType promoted(DType a, DType b) {
  if (a == b || b == DType::boolean) return a;
  if (a == DType::boolean) return b;
  if (is_integer(a) && is_integer(b)) return promoted_ints(a, b);
  const auto float_bytes = [](DType dtype) {
    return is_float(dtype) ? size_of(dtype) : std::min<std::size_t>(8, 2 * size_of(dtype));
  };
  const std::size_t bytes = std::max(float_bytes(a), float_bytes(b));
  for (DType dtype : {a, b})
    if (is_float(dtype) && size_of(dtype) == bytes && !(is_float(a) && is_float(b) && bytes == 2)) return dtype;
  return bytes == 8 ? DType::float64 : DType::float32;
}

bool holds(DType dtype, double number) {
  if (dtype == DType::boolean) return number == 0 || number == 1;
  return dispatch(dtype, [number](auto zero) {
    using T = decltype(zero);
    using Limits = std::numeric_limits<T>;
    if constexpr (std::is_integral_v<T>)  // both bounds are exact in float64: powers of two, or 0
      return number == std::trunc(number) && number >= static_cast<double>(Limits::lowest()) &&
             number < std::ldexp(1.0, Limits::digits);
    else
      return !std::isfinite(number) || std::isfinite(static_cast<double>(static_cast<T>(number)));
  });
}

std::string_view name_of(DType dtype) {
  return names_of(dtype).name;
}

std::string_view npy_descr_of(DType dtype) {
  return names_of(dtype).npy;
}

DType dtype_named(std::string_view name) {
  std::string known;
  for (DType dtype : kDTypes) {
    if (name_of(dtype) == name) return dtype;
    known.append(known.empty() ? "" : ", ").append(name_of(dtype));
  }
  throw Error(Code::file, "unknown dtype '" + std::string(name) + "'").hint("one of " + known);
}

}  // namespace ferry
