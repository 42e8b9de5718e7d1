// The functions of elementwise ops for one element on a GPU, for the op's own kernel and for generated kernels
// (region/). NVRTC compiles this header, too, so it includes only headers that region/std has.
#pragma once

#include "graph/types/half.hpp"
#include "kernels/functors.hpp"
#include "kernels/scalar_trig.hpp"

namespace ferry::cuda {

/// The type in which a functor computes: float32 for 16-bit floats, else the dtype itself.
template <class T>
struct Computed {
  using type = T;
};
template <class Format>
struct Computed<Half<Format>> {
  using type = float;
};

template <class T>
FERRY_HD typename Computed<T>::type load(const T& stored) {
  return static_cast<typename Computed<T>::type>(stored);
}
template <class T, class C>
FERRY_HD T stored_as(C computed) {
  return static_cast<T>(computed);
}

/// `n` consecutive elements, which a thread reads or writes at once.
template <class T, int n>
struct alignas(sizeof(T) * n) Group {
  T all[n];
};

/// The most bytes that a thread reads or writes at once.
inline constexpr std::size_t kGroupBytes = 16;

// Each function gets a type of its own, because a GPU cannot call a host function through a pointer.
#define FERRY_IN_DOUBLE(Name, function)                        \
  struct Name {                                                \
    template <class T>                                         \
    FERRY_HD T operator()(T x) const {                         \
      return static_cast<T>(function(static_cast<double>(x))); \
    }                                                          \
  }
FERRY_IN_DOUBLE(Sin, math::sin);
FERRY_IN_DOUBLE(Cos, math::cos);
FERRY_IN_DOUBLE(Tan, math::tan);
FERRY_IN_DOUBLE(Asin, math::asin);
FERRY_IN_DOUBLE(Acos, math::acos);
FERRY_IN_DOUBLE(Atan, math::atan);
FERRY_IN_DOUBLE(Sinh, math::sinh);
FERRY_IN_DOUBLE(Cosh, math::cosh);
FERRY_IN_DOUBLE(Asinh, math::asinh);
FERRY_IN_DOUBLE(Acosh, math::acosh);
FERRY_IN_DOUBLE(Atanh, math::atanh);
#undef FERRY_IN_DOUBLE

/// A functor that converts to the dtype of the output, which element() knows.
struct ToOutput {};

// element(f, inputs...): one element of an output of dtype Out.
template <class Out, class F, class... In>
FERRY_HD Out element(F f, In... in) {
  return stored_as<Out>(f(load(in)...));
}
template <class Out, class In>
FERRY_HD Out element(ToOutput, In in) {
  return functors::Cast<Out>()(load(in));
}
template <class Out>
FERRY_HD Out element(functors::Select select, bool condition, Out a, Out b) {
  return select(condition, a, b);  // without load(), so that a NaN of 16 bits keeps its bits
}

}  // namespace ferry::cuda
