#include "graph/op/core_ops.hpp"

#include "base/error.hpp"
#include "graph/op/index_notation.hpp"

namespace ferry {
namespace {

constexpr AttrDef kValueAttr[] = {{"value", "tensor"}};
constexpr AttrDef kTypeAttrs[] = {{"dtype", "dtype"}, {"shape", "shape"}};

std::vector<Shape> declared_shape(const OpFacts& facts) {
  return {facts.attr<Shape>("shape")};
}

std::vector<Shape> constant_shape(const OpFacts& facts) {
  return {facts.attr<Tensor>("value").type().shape};
}

std::vector<Shape> assigned_shape(const OpFacts& facts) {
  const Shape& variable = facts.shape(0);
  const Shape& value = facts.shape(1);
  if (value.known() && variable.known() && value != variable)
    OpFacts::fail("the variable has shape " + variable.str() + ", the value " + value.str());
  return {variable};
}

std::string leaf_index(const OpFacts& facts) {
  return "->" + term(Letters().next(facts.attr<Shape>("shape").rank()));
}

std::string constant_index(const OpFacts& facts) {
  return "->" + term(Letters().next(facts.attr<Tensor>("value").rank()));
}

}  // namespace

// The dtype of a constant is the dtype of its tensor; the signature "->@value" reads it from the attribute `value`.
const OpDef kConstant{.name = "Constant",
                      .types = "->@value",
                      .attrs = kValueAttr,
                      .index_of = constant_index,
                      .infer = constant_shape,
                      .flops = 0,
                      .flags = kOnce,
                      .role = OpRole::constant,
                      .no_grad = "a constant"};

const OpDef kInput{.name = "Input",
                   .types = "->@dtype",
                   .attrs = kTypeAttrs,
                   .index_of = leaf_index,
                   .infer = declared_shape,
                   .flops = 0,
                   .flags = kStateful,
                   .role = OpRole::input,
                   .no_grad = "an input"};

const OpDef kVariable{.name = "Variable",
                      .types = "->@dtype",
                      .attrs = kTypeAttrs,
                      .index_of = leaf_index,
                      .infer = declared_shape,
                      .flops = 0,
                      .flags = kStateful,
                      .role = OpRole::variable,
                      .no_grad = "a variable"};

const OpDef kAssign{.name = "Assign",
                    .types = "T,T->T",
                    .T = kAnyType,
                    .index = "...,...->...",
                    .infer = assigned_shape,
                    .flops = 0,
                    .flags = kStateful | kEffect,
                    .role = OpRole::assign,
                    .no_grad = "an assignment"};

const OpDef kParameter{.name = "Parameter",
                       .types = "->@dtype",
                       .attrs = kTypeAttrs,
                       .index_of = leaf_index,
                       .infer = declared_shape,
                       .flops = 0,
                       .flags = kStateful,
                       .role = OpRole::parameter,
                       .no_grad = "a parameter of a subgraph"};

std::span<const OpDef* const> core_ops() {
  static constexpr const OpDef* kOps[] = {&kConstant, &kInput, &kVariable, &kAssign, &kParameter};
  return kOps;
}

}  // namespace ferry
