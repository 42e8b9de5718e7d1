// What an elementwise op computes for one element on a GPU, for its own kernel and for generated ones (region/). NVRTC
// compiles this header, too, so it includes nothing but what region/std has.
#pragma once

#include "graph/types/half.hpp"
#include "kernels/functors.hpp"
#include "kernels/scalar_trig.hpp"

namespace ferry::cuda {

/// What a functor computes with: 16-bit floats are float32 there.
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

/// `n` consecutive elements, which are read and written at once.
template <class T, int n>
struct alignas(sizeof(T) * n) Group {
  T all[n];
};

/// Bytes that a thread reads or writes at once, at most.
inline constexpr std::size_t kGroupBytes = 16;

// The function is a template argument by way of a type: a pointer to a function of the host is of no use to a GPU.
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

/// Conversion to the dtype of the output.
struct ToOutput {};

// One element of an output, which has the dtype Out.
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
  return select(condition, a, b);  // moved as they are: NaN keeps its bits
}

}  // namespace ferry::cuda
