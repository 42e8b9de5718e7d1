#include "ops/comm.hpp"

namespace ferry {
namespace {

constexpr AttrDef kPartAttrs[] = {{"dim", "int"}, {"parts", "int"}};

}  // namespace

const OpDef kTakePart{.name = "TakePart",
                      .types = "T->T",
                      .T = kAnyType,
                      .index = "...->...",
                      .flops = 0,
                      .no_grad = "inserted after gradients are made"};
const OpDef kJoinParts{.name = "JoinParts",
                       .types = "T->T",
                       .T = kAnyType,
                       .attrs = kPartAttrs,
                       .index = "...->...",
                       .flops = 0,
                       .no_grad = "inserted after gradients are made"};
const OpDef kCutParts{.name = "CutParts",
                      .types = "T->T",
                      .T = kAnyType,
                      .attrs = kPartAttrs,
                      .index = "...->...",
                      .flops = 0,
                      .no_grad = "inserted after gradients are made"};

}  // namespace ferry
