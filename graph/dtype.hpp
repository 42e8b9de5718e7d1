// Element types. The names are numpy's; the order is part of the plan's format.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace ferry {

enum class DType : std::uint8_t { boolean = 1, uint8, int32, int64, float32, float64 };

inline constexpr DType kDTypes[] = {DType::boolean, DType::uint8,   DType::int32,
                                    DType::int64,   DType::float32, DType::float64};

/// Bytes of one element.
[[nodiscard]] constexpr std::size_t size_of(DType dtype) {
  switch (dtype) {
    case DType::boolean:
    case DType::uint8:
      return 1;
    case DType::int32:
    case DType::float32:
      return 4;
    case DType::int64:
    case DType::float64:
      return 8;
  }
  return 0;
}

[[nodiscard]] constexpr bool is_float(DType dtype) {
  return dtype == DType::float32 || dtype == DType::float64;
}
[[nodiscard]] constexpr bool is_integer(DType dtype) {
  return !is_float(dtype) && dtype != DType::boolean;
}

/// "float32", "bool", …
[[nodiscard]] std::string_view name_of(DType dtype);

/// The dtype of that name; Error(file) lists the known ones otherwise.
[[nodiscard]] DType dtype_named(std::string_view name);

/// The dtype of a C++ element type: dtype_of<float>() is DType::float32.
template <class T>
[[nodiscard]] constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, bool>) return DType::boolean;
  if constexpr (std::is_same_v<T, std::uint8_t>) return DType::uint8;
  if constexpr (std::is_same_v<T, std::int32_t>) return DType::int32;
  if constexpr (std::is_same_v<T, std::int64_t>) return DType::int64;
  if constexpr (std::is_same_v<T, float>) return DType::float32;
  if constexpr (std::is_same_v<T, double>) return DType::float64;
}

/// Calls f with a value of the C++ element type: dispatch(dtype, [&](auto zero) { using T = decltype(zero); … }).
template <class F>
decltype(auto) dispatch(DType dtype, F&& f) {
  switch (dtype) {
    case DType::boolean:
      return f(bool{});
    case DType::uint8:
      return f(std::uint8_t{});
    case DType::int32:
      return f(std::int32_t{});
    case DType::int64:
      return f(std::int64_t{});
    case DType::float32:
      return f(float{});
    case DType::float64:
      break;
  }
  return f(double{});
}

}  // namespace ferry
