// The functions that generated code calls (functions.hpp), which clang compiles to LLVM's bitcode. Their names have an
// underscore where function_of() has a dot.
#include "kernels/compile/functions.hpp"
#include "kernels/functors.hpp"

#define FERRY_FUNCTION extern "C" __attribute__((always_inline))

// NOLINTBEGIN(bugprone-macro-parentheses): T and Functor are a type and a name
#define FERRY_F_F(Functor, T, name)        \
  FERRY_FUNCTION T Functor##_##name(T a) { \
    return ferry::functors::Functor()(a);  \
  }
#define FERRY_FF_F(Functor, T, name)            \
  FERRY_FUNCTION T Functor##_##name(T a, T b) { \
    return ferry::functors::Functor()(a, b);    \
  }
#define FERRY_FF_B(Functor, T, name)               \
  FERRY_FUNCTION bool Functor##_##name(T a, T b) { \
    return ferry::functors::Functor()(a, b);       \
  }
#define FERRY_BFF_F(Functor, T, name)                   \
  FERRY_FUNCTION T Functor##_##name(bool a, T b, T c) { \
    return ferry::functors::Functor()(a, b, c);         \
  }
#define FERRY_CAST(From, from, To, to)           \
  FERRY_FUNCTION To Cast_##from##_##to(From a) { \
    return ferry::functors::Cast<To>()(a);       \
  }
// NOLINTEND(bugprone-macro-parentheses)

#define FERRY_FLOATS(Define, Functor) Define(Functor, float, float32) Define(Functor, double, float64)
#define FERRY_NUMBERS(Define, Functor) \
  FERRY_FLOATS(Define, Functor) Define(Functor, std::int32_t, int32) Define(Functor, std::int64_t, int64)

#define FERRY_DEFINE(Functor) FERRY_FLOATS(FERRY_F_F, Functor)
FERRY_FUNCTORS_F_F(FERRY_DEFINE)
#undef FERRY_DEFINE
#define FERRY_DEFINE(Functor) FERRY_FLOATS(FERRY_FF_F, Functor)
FERRY_FUNCTORS_FF_F(FERRY_DEFINE)
#undef FERRY_DEFINE
#define FERRY_DEFINE(Functor) FERRY_NUMBERS(FERRY_F_F, Functor)
FERRY_FUNCTORS_N_N(FERRY_DEFINE)
#undef FERRY_DEFINE
#define FERRY_DEFINE(Functor) FERRY_NUMBERS(FERRY_FF_F, Functor)
FERRY_FUNCTORS_NN_N(FERRY_DEFINE)
#undef FERRY_DEFINE
#define FERRY_DEFINE(Functor) FERRY_NUMBERS(FERRY_FF_B, Functor)
FERRY_FUNCTORS_NN_B(FERRY_DEFINE)
#undef FERRY_DEFINE
#define FERRY_DEFINE(Functor) FERRY_F_F(Functor, bool, bool)
FERRY_FUNCTORS_B_B(FERRY_DEFINE)
#undef FERRY_DEFINE
#define FERRY_DEFINE(Functor) FERRY_FF_F(Functor, bool, bool)
FERRY_FUNCTORS_BB_B(FERRY_DEFINE)
#undef FERRY_DEFINE
#define FERRY_DEFINE(Functor) FERRY_NUMBERS(FERRY_BFF_F, Functor)
FERRY_FUNCTORS_BNN_N(FERRY_DEFINE)
#undef FERRY_DEFINE

#define FERRY_CASTS(From, from)               \
  FERRY_CAST(From, from, bool, bool)          \
  FERRY_CAST(From, from, std::int32_t, int32) \
  FERRY_CAST(From, from, std::int64_t, int64) \
  FERRY_CAST(From, from, float, float32)      \
  FERRY_CAST(From, from, double, float64)
FERRY_CASTS(bool, bool)
FERRY_CASTS(std::int32_t, int32)
FERRY_CASTS(std::int64_t, int64)
FERRY_CASTS(float, float32)
FERRY_CASTS(double, float64)
