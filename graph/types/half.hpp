// Float16 and BFloat16: the 16-bit floating-point numbers that tensors store. ferry only converts them; kernels compute
// in float32.
//
//     Tensor t = Tensor::of<Float16>({2}, {Float16(1.5), Float16(70000)});   // 1.5, infinity
//     static_cast<float>(t.data<Float16>()[0]);                              // 1.5
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

#pragma GCC visibility push(default)
namespace ferry {

// Each format below converts a float32 to 16 bits (to nearest, ties to even) and back. The conversions have no
// branches, so that loops are vectorized. Their operations give the same bits on every machine. NaN stays NaN.

/// IEEE 754 binary16: 5 bits of exponent, 11 of precision; up to 65504. After F. Giesen, "Half to float done quick".
struct Binary16 {
  static constexpr int kDigits = 11;
  static constexpr std::uint16_t kMax = 0x7bff, kInfinity = 0x7c00;

  static constexpr std::uint16_t of(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t sign = bits & 0x80000000U;
    const std::uint32_t size = bits ^ sign;
    const std::uint32_t normal = (size + 0xc8000fffU + (size >> 13 & 1U)) >> 13;  // the bias is 112 less
    const std::uint32_t tiny =  // below 2^-14: adding 0.5 rounds to multiples of 2^-24
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
    const std::uint32_t endless = size > 0x7f800000U ? 0x7e00U : 0x7c00U;
    const std::uint32_t finite = size < 0x38800000U ? tiny : normal;
    return static_cast<std::uint16_t>((size >= 0x47800000U ? endless : finite) | sign >> 16);
  }
  static constexpr float number(std::uint16_t bits) {
    const std::uint32_t size = (bits & 0x7fffU) << 13;
    const auto scaled = std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) * 0x1p112F);
    const std::uint32_t endless = size >= 0x0f800000U ? 0x7f800000U : 0U;
    return std::bit_cast<float>(scaled | endless | (bits & 0x8000U) << 16);
  }
};

/// The upper half of a float32: 8 bits of exponent, 8 of precision.
struct Brain16 {
  static constexpr int kDigits = 8;
  static constexpr std::uint16_t kMax = 0x7f7f, kInfinity = 0x7f80;

  static constexpr std::uint16_t of(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16 & 1U)) >> 16;
    return static_cast<std::uint16_t>((bits & 0x7fffffffU) > 0x7f800000U ? bits >> 16 | 0x40U : rounded);
  }
  static constexpr float number(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }
};

/// Rounds x to odd: returns x if a float32 equals it, else the one of the two neighbouring float32s with an odd last
/// bit. Rounding the result to 16 bits gives the same as rounding x itself (S. Boldo, G. Melquiond: "Emulation of FMA
/// and correctly rounded sums", 2008).
constexpr float to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  const double back = nearest;
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const bool inexact = back < x || back > x;
  const bool beyond = (x < 0 ? -back : back) > (x < 0 ? -x : x);
  return std::bit_cast<float>(inexact ? (bits - (beyond ? 1U : 0U)) | 1U : bits);
}

template <class Format>
class Half {
 public:
  Half() = default;
  /// Rounds to the nearest, ties to even. A number beyond the range becomes infinity. An integer that float64 does not
  /// hold is first rounded to float64.
  template <class T>
  requires std::is_arithmetic_v<T>
  explicit constexpr Half(T x) : bits_(of(x)) {}
  [[nodiscard]] static constexpr Half from_bits(std::uint16_t bits) {
    Half half{};
    half.bits_ = bits;
    return half;
  }
  [[nodiscard]] constexpr std::uint16_t bits() const { return bits_; }

  /// Exact for floating-point T. For an integer T, the float32 is converted by the rules of C++.
  template <class T>
  requires std::is_arithmetic_v<T>
  explicit constexpr operator T() const { return static_cast<T>(Format::number(bits_)); }

  /// Compares as numbers: 0 equals -0, NaN equals nothing.
  friend constexpr bool operator==(Half a, Half b) { return static_cast<float>(a) == static_cast<float>(b); }

 private:
  template <class T>
  static constexpr std::uint16_t of(T x) {
    if constexpr (std::is_same_v<T, float>)
      return Format::of(x);
    else
      return Format::of(to_odd(static_cast<double>(x)));
  }

  std::uint16_t bits_;
};

using Float16 = Half<Binary16>;
using BFloat16 = Half<Brain16>;

}  // namespace ferry
#pragma GCC visibility pop

namespace std {
template <class Format>
struct numeric_limits<ferry::Half<Format>> {
  using Half = ferry::Half<Format>;
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, has_infinity = true;
  static constexpr int digits = Format::kDigits;
  static constexpr Half max() { return Half::from_bits(Format::kMax); }
  static constexpr Half lowest() { return Half::from_bits(Format::kMax | 0x8000U); }
  static constexpr Half infinity() { return Half::from_bits(Format::kInfinity); }
};
}  // namespace std
