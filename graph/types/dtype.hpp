// Element types. The names are numpy's; the enumerators' numbers are part of the file formats of graphs and plans.
// docs/reference/dtypes.md describes the dtypes for users.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>

#include "graph/types/half.hpp"

#pragma GCC visibility push(default)
namespace ferry {

enum class DType : std::uint8_t {
  boolean = 1,
  uint8,
  int32,
  int64,
  float32,
  float64,
  float16,
  bfloat16,
  int8,
  int16,
  uint16,
  uint32,
  uint64
};

inline constexpr DType kDTypes[] = {DType::boolean,  DType::uint8,   DType::uint16, DType::uint32, DType::uint64,
                                    DType::int8,     DType::int16,   DType::int32,  DType::int64,  DType::float16,
                                    DType::bfloat16, DType::float32, DType::float64};

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::uint8:
    case DType::int8:
      return 1;
    case DType::float16:
    case DType::bfloat16:
    case DType::int16:
    case DType::uint16:
      return 2;
    case DType::int32:
    case DType::uint32:
    case DType::float32:
      return 4;
    case DType::int64:
    case DType::uint64:
    case DType::float64:
      return 8;
  }
  return 0;
}

class DTypeSet {
 public:
  constexpr DTypeSet(std::initializer_list<DType> dtypes) {
    for (DType dtype : dtypes) bits_ |= bit(dtype);
  }
  [[nodiscard]] constexpr bool has(DType dtype) const { return (bits_ & bit(dtype)) != 0; }
  /// The union of both sets.
  [[nodiscard]] constexpr DTypeSet operator|(DTypeSet other) const {
    other.bits_ |= bits_;
    return other;
  }
  /// "int32, int64".
  [[nodiscard]] std::string str() const;

 private:
  static constexpr std::uint32_t bit(DType dtype) { return 1U << static_cast<unsigned>(dtype); }
  std::uint32_t bits_ = 0;
};

inline constexpr DTypeSet kFloats{DType::float16, DType::bfloat16, DType::float32, DType::float64};
inline constexpr DTypeSet kSignedInts{DType::int8, DType::int16, DType::int32, DType::int64};
inline constexpr DTypeSet kUnsignedInts{DType::uint8, DType::uint16, DType::uint32, DType::uint64};
inline constexpr DTypeSet kInts = kSignedInts | kUnsignedInts;
inline constexpr DTypeSet kSigned = kSignedInts | kFloats;
inline constexpr DTypeSet kNumbers = kInts | kFloats;
inline constexpr DTypeSet kAnyType = kNumbers | DTypeSet{DType::boolean};
/// The dtypes of indices into dims.
inline constexpr DTypeSet kIndices{DType::int32, DType::int64};

[[nodiscard]] constexpr bool is_float(DType dtype) {
  return kFloats.has(dtype);
}
[[nodiscard]] constexpr bool is_integer(DType dtype) {
  return kInts.has(dtype);
}

/// The result dtype of an op on values of dtypes a and b, as in numpy.promote_types. bool and another dtype give the
/// other dtype. Two integers give the smallest integer dtype that holds both, but uint64 and a signed integer give
/// float64. Of an integer and a float, the integer counts as a float (8 bits as float16, 16 bits as float32, more as
/// float64), and the result is the wider float. float16 and bfloat16 give float32.
[[nodiscard]] DType promoted(DType a, DType b);

/// Whether this dtype can hold the number: exactly for bool and integers; for floats after rounding, unless rounding
/// makes a finite number infinite.
[[nodiscard]] bool holds(DType dtype, double number);

/// "float32", "bool", …
[[nodiscard]] std::string_view name_of(DType dtype);

/// The dtype as .npy files write it ("<f4"); empty for bfloat16, which numpy lacks.
[[nodiscard]] std::string_view npy_descr_of(DType dtype);

/// The dtype of that name. Throws Error(file), with a list of the known names, if there is none.
[[nodiscard]] DType dtype_named(std::string_view name);

template <class T>
inline constexpr DType kDTypeOf{};  // 0: T is not an element type
template <>
inline constexpr DType kDTypeOf<bool> = DType::boolean;
template <>
inline constexpr DType kDTypeOf<std::uint8_t> = DType::uint8;
template <>
inline constexpr DType kDTypeOf<std::uint16_t> = DType::uint16;
template <>
inline constexpr DType kDTypeOf<std::uint32_t> = DType::uint32;
template <>
inline constexpr DType kDTypeOf<std::uint64_t> = DType::uint64;
template <>
inline constexpr DType kDTypeOf<std::int8_t> = DType::int8;
template <>
inline constexpr DType kDTypeOf<std::int16_t> = DType::int16;
template <>
inline constexpr DType kDTypeOf<std::int32_t> = DType::int32;
template <>
inline constexpr DType kDTypeOf<std::int64_t> = DType::int64;
template <>
inline constexpr DType kDTypeOf<Float16> = DType::float16;
template <>
inline constexpr DType kDTypeOf<BFloat16> = DType::bfloat16;
template <>
inline constexpr DType kDTypeOf<float> = DType::float32;
template <>
inline constexpr DType kDTypeOf<double> = DType::float64;

/// The dtype of a C++ element type: dtype_of<float>() is DType::float32.
template <class T>
[[nodiscard]] constexpr DType dtype_of() {
  static_assert(kDTypeOf<T> != DType{}, "not an element type: see graph/types/dtype.hpp");
  return kDTypeOf<T>;
}

/// Calls f with a value of the C++ element type: dispatch(dtype, [&](auto zero) { using T = decltype(zero); … }).
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::boolean:
      return f(bool{});
    case DType::uint8:
      return f(std::uint8_t{});
    case DType::uint16:
      return f(std::uint16_t{});
    case DType::uint32:
      return f(std::uint32_t{});
    case DType::uint64:
      return f(std::uint64_t{});
    case DType::int8:
      return f(std::int8_t{});
    case DType::int16:
      return f(std::int16_t{});
    case DType::int32:
      return f(std::int32_t{});
    case DType::int64:
      return f(std::int64_t{});
    case DType::float16:
      return f(Float16{});
    case DType::bfloat16:
      return f(BFloat16{});
    case DType::float32:
      return f(float{});
    case DType::float64:
      break;
  }
  return f(double{});
}

}  // namespace ferry
#pragma GCC visibility pop
