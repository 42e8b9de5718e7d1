// The functions that ops compute for one element, written once for the CPU and CUDA.
//
// Integers wrap around, as in numpy. Maximum and minimum propagate NaN, and 0 is larger than -0.
#pragma once

#include <cmath>
#include <type_traits>

#include "kernels/scalar_math.hpp"

namespace ferry::functors {

/// Computes f(a, b) in the unsigned type of T's size (at least int's), where overflow wraps; for floats in T itself.
template <class T, class F>
FERRY_HD constexpr T wrapping(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    using Wide = std::conditional_t<sizeof(T) <= 4, std::uint32_t, std::uint64_t>;
    return static_cast<T>(f(static_cast<Wide>(a), static_cast<Wide>(b)));
  } else {
    return f(a, b);
  }
}

struct Add {
  template <class T>
  FERRY_HD constexpr T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x + y; });
  }
};
struct Sub {
  template <class T>
  FERRY_HD constexpr T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x - y; });
  }
};
struct Mul {
  template <class T>
  FERRY_HD constexpr T operator()(T a, T b) const {
    return wrapping(a, b, [](auto x, auto y) { return x * y; });
  }
};
/// a / b. For integers the quotient is rounded toward zero, and b must not be 0.
struct Div {
  template <class T>
  FERRY_HD constexpr T operator()(T a, T b) const {
    if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
      if (b == T(-1)) return Sub()(T(0), a);  // the smallest number wraps around
    }
    return static_cast<T>(a / b);
  }
};
// Of 0 and -0, Maximum returns 0 and Minimum -0 in either order of the operands, so that the result of a fold does not
// depend on its order. If one operand is a number for which is_simple_beside() holds, the simpler BesideOne gives the
// same result, for either order of a and b.
struct Maximum {
  struct BesideOne {
    template <class T>
    T operator()(T a, T b) const {
      return a > b || a != a ? a : b;
    }
  };
  template <class T>
  static bool is_simple_beside(T b) {
    return b == b && !(b == T(0) && std::signbit(static_cast<double>(b)));
  }
  template <class T>
  FERRY_HD constexpr T operator()(T a, T b) const {
    return a > b || a != a ? a : a == 0 && b == 0 ? static_cast<T>(a + b) : b;
  }
};
struct Minimum {
  struct BesideOne {
    template <class T>
    T operator()(T a, T b) const {
      return a < b || a != a ? a : b;
    }
  };
  template <class T>
  static bool is_simple_beside(T b) {
    return b == b && !(b == T(0) && !std::signbit(static_cast<double>(b)));
  }
  template <class T>
  FERRY_HD constexpr T operator()(T a, T b) const {
    return a < b || a != a ? a : a == 0 && b == 0 ? static_cast<T>(-(-a - b)) : b;
  }
};
struct Neg {
  template <class T>
  FERRY_HD constexpr T operator()(T a) const {
    if constexpr (std::is_integral_v<T>)
      return Sub()(T(0), a);
    else
      return -a;
  }
};
struct Abs {
  template <class T>
  FERRY_HD constexpr T operator()(T a) const {
    return a < T(0) ? Neg()(a) : a + T(0);  // -0 + 0 is 0
  }
};
struct Sign {
  template <class T>
  FERRY_HD constexpr T operator()(T a) const {
    return a > T(0) ? T(1) : (a < T(0) ? static_cast<T>(-1) : a);  // keeps NaN and zeros
  }
};
struct Square {
  template <class T>
  FERRY_HD constexpr T operator()(T a) const {
    return Mul()(a, a);
  }
};
struct Relu {
  template <class T>
  FERRY_HD constexpr T operator()(T a) const {
    return a < T(0) ? T(0) : a;
  }
};

/// The gradient of relu from the gradient of its result y.
struct ReluGrad {
  template <class T>
  FERRY_HD constexpr T operator()(T dy, T y) const {
    return y > T(0) ? dy : T(0);
  }
};

/// a, or a * b if a is negative.
struct LeakyRelu {
  template <class T>
  FERRY_HD constexpr T operator()(T a, T b) const {
    return a < T(0) ? Mul()(a, b) : a;
  }
};
/// a, or b (exp(a) - 1) if a is not positive, without cancellation near 0.
struct Elu {
  template <class T>
  FERRY_HD constexpr T operator()(T a, T b) const {
    const T below = a > T(0) ? T(0) : a;
    // Half of a subnormal number may be 0. For numbers this small, exp(x) - 1 is x.
    const T risen = below > T(-0x1p-60) ? below : math::tanh(below * T(0.5)) * (math::exp(below) + T(1));
    return a > T(0) ? a : risen * b;
  }
};

/// Elu with the constants alpha and gamma of self-normalizing networks (Klambauer et al., 2017).
struct Selu {
  template <class T>
  FERRY_HD constexpr T operator()(T a) const {
    return Mul()(Elu()(a, T(1.67326319217681884765625)), T(1.05070102214813232421875));
  }
};

struct Exp {
  template <class T>
  FERRY_HD constexpr T operator()(T a) const {
    return math::exp(a);
  }
};
struct Log {
  template <class T>
  FERRY_HD constexpr T operator()(T a) const {
    return math::log(a);
  }
};
struct Sqrt {
  template <class T>
  FERRY_HD T operator()(T a) const {
    return std::sqrt(a);
  }
};
struct Rsqrt {
  template <class T>
  FERRY_HD T operator()(T a) const {
    return T(1) / std::sqrt(a);
  }
};
struct Tanh {
  template <class T>
  FERRY_HD constexpr T operator()(T a) const {
    return math::tanh(a);
  }
};
struct Sigmoid {
  template <class T>
  FERRY_HD constexpr T operator()(T a) const {
    return math::sigmoid(a);
  }
};
/// Swish is a * sigmoid(a). HardSwish is a * h(a), where h(a) is a / 6 + 1/2 clipped to [0, 1]. The bits are the same
/// as with one op for each operation.
struct Swish {
  template <class T>
  FERRY_HD constexpr T operator()(T a) const {
    return a * math::sigmoid(a);
  }
};
struct HardSwish {
  template <class T>
  FERRY_HD constexpr T operator()(T a) const {
    const T line = a * T(1.0 / 6) + T(0.5), above = line < T(0) ? T(0) : line;
    return a * (above > T(1) ? T(1) : above);
  }
};
struct Erf {
  template <class T>
  FERRY_HD constexpr T operator()(T a) const {
    return math::erf(a);
  }
};
struct Floor {
  template <class T>
  FERRY_HD T operator()(T a) const {
    return std::floor(a);
  }
};
struct Ceil {
  template <class T>
  FERRY_HD T operator()(T a) const {
    return std::ceil(a);
  }
};
/// Rounds to the nearest integer; halves round to the even integer.
struct Round {
  template <class T>
  FERRY_HD T operator()(T a) const {
    return std::rint(a);
  }
};
/// a to the power of b. For integers the result is modulo 2^bits. If an integer b is negative, the result is 1 / a^-b
/// rounded toward zero, or 0 if a is 0.
struct Pow {
  template <class T>
  FERRY_HD T operator()(T a, T b) const {
    if constexpr (std::is_integral_v<T>) {
      if (b < T(0))
        return a == T(1) || (a == static_cast<T>(-1) && b % 2 == 0) ? T(1) : (a == static_cast<T>(-1) ? a : T(0));
      T result = 1;
      for (; b > T(0); b = static_cast<T>(b / 2), a = Mul()(a, a))
        if (b % 2 == 1) result = Mul()(result, a);
      return result;
    } else {
      return math::pow(a, b);
    }
  }
};
/// The remainder of a / b, with the sign of a. An integer b must not be 0.
struct Fmod {
  template <class T>
  FERRY_HD T operator()(T a, T b) const {
    if constexpr (std::is_floating_point_v<T>) {
      return std::fmod(a, b);
    } else {
      if constexpr (std::is_signed_v<T>)
        if (b == T(-1)) return T(0);  // the smallest number divided by -1 overflows
      return static_cast<T>(a % b);
    }
  }
};
/// The remainder of a / b, with the sign of b; a zero also has this sign.
struct Mod {
  template <class T>
  FERRY_HD T operator()(T a, T b) const {
    const T rest = Fmod()(a, b);
    if constexpr (std::is_floating_point_v<T>)
      if (rest == T(0)) return math::with_sign(math::magnitude(rest), b);
    return rest != T(0) && (rest < T(0)) != (b < T(0)) ? static_cast<T>(rest + b) : rest;
  }
};

struct BitAnd {
  template <class T>
  FERRY_HD constexpr T operator()(T a, T b) const {
    return static_cast<T>(a & b);
  }
};
struct BitOr {
  template <class T>
  FERRY_HD constexpr T operator()(T a, T b) const {
    return static_cast<T>(a | b);
  }
};
struct BitXor {
  template <class T>
  FERRY_HD constexpr T operator()(T a, T b) const {
    return static_cast<T>(a ^ b);
  }
};
// If b is negative or at least the number of bits, the result of a shift is 0, or -1 for a negative number shifted
// right.
struct ShiftLeft {
  template <class T>
  FERRY_HD constexpr T operator()(T a, T b) const {
    const bool fits = b >= T(0) && b < T(8 * sizeof(T));
    return fits ? wrapping(a, b, [](auto x, auto y) { return x << y; }) : T(0);
  }
};
struct ShiftRight {
  template <class T>
  FERRY_HD constexpr T operator()(T a, T b) const {
    const bool fits = b >= T(0) && b < T(8 * sizeof(T));
    return fits ? static_cast<T>(a >> b) : (a < T(0) ? static_cast<T>(-1) : T(0));
  }
};

struct Equal {
  template <class T>
  FERRY_HD constexpr bool operator()(T a, T b) const {
    return a == b;
  }
};
struct NotEqual {
  template <class T>
  FERRY_HD constexpr bool operator()(T a, T b) const {
    return a != b;
  }
};
struct Less {
  template <class T>
  FERRY_HD constexpr bool operator()(T a, T b) const {
    return a < b;
  }
};
struct LessEqual {
  template <class T>
  FERRY_HD constexpr bool operator()(T a, T b) const {
    return a <= b;
  }
};
struct Greater {
  template <class T>
  FERRY_HD constexpr bool operator()(T a, T b) const {
    return a > b;
  }
};
struct GreaterEqual {
  template <class T>
  FERRY_HD constexpr bool operator()(T a, T b) const {
    return a >= b;
  }
};
struct And {
  FERRY_HD constexpr bool operator()(bool a, bool b) const { return static_cast<bool>(a & b); }
};
struct Or {
  FERRY_HD constexpr bool operator()(bool a, bool b) const { return static_cast<bool>(a | b); }
};
struct Not {
  FERRY_HD constexpr bool operator()(bool a) const { return !a; }
};
struct Select {
  template <class T>
  FERRY_HD constexpr T operator()(bool condition, T a, T b) const {
    return condition ? a : b;
  }
};

/// Conversion to another dtype. A float outside the range of an integer type becomes the nearest end of the range, and
/// NaN becomes 0. A conversion to bool gives whether the number is not 0.
template <class To>
struct Cast {
  template <class From>
  FERRY_HD constexpr To operator()(From a) const {
    if constexpr (std::is_same_v<To, bool>) {
      return a != From(0);
    } else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<From>) {
      constexpr auto kLow = static_cast<From>(std::numeric_limits<To>::min());
      constexpr To kHalf = std::numeric_limits<To>::max() / 2 + 1;  // a power of two
      constexpr From kEnd = static_cast<From>(kHalf) * From(2);     // max + 1, exactly
      const bool fits = a > kLow - From(1) && a < kEnd;
      const To inside = static_cast<To>(fits ? a : From(0));
      const To outside =
          a >= kEnd ? std::numeric_limits<To>::max() : (a < From(0) ? std::numeric_limits<To>::min() : To(0));
      return fits ? inside : outside;
    } else {
      return static_cast<To>(a);
    }
  }
};

}  // namespace ferry::functors
