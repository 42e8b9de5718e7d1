// The functions of one element that compiled regions call: functors of kernels/functors.hpp, which have the names of
// their ops. llvm/functions.cpp instantiates each of them for its dtypes, and the plug-in contains their code.
#pragma once

// Each macro lists the functors of one signature. F: float32 or float64; N: also int32 or int64; B: bool.
#define FERRY_FUNCTORS_F_F(X) \
  X(Ceil) X(Erf) X(Exp) X(Floor) X(HardSwish) X(Log) X(Round) X(Rsqrt) X(Selu) X(Sigmoid) X(Sqrt) X(Swish) X(Tanh)
#define FERRY_FUNCTORS_FF_F(X) X(Div) X(Elu)
#define FERRY_FUNCTORS_N_N(X) X(Abs) X(Neg) X(Relu) X(Sign) X(Square)
#define FERRY_FUNCTORS_NN_N(X) X(Add) X(LeakyRelu) X(Maximum) X(Minimum) X(Mul) X(ReluGrad) X(Sub)
#define FERRY_FUNCTORS_NN_B(X) X(Equal) X(Greater) X(GreaterEqual) X(Less) X(LessEqual) X(NotEqual)
#define FERRY_FUNCTORS_B_B(X) X(Not)
#define FERRY_FUNCTORS_BB_B(X) X(And) X(Or)
#define FERRY_FUNCTORS_BNN_N(X) X(Select)
