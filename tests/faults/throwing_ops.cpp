// A library of ops that throw, for ferry run --ops. With the environment variable FERRY_TEST_OPS it throws already when
// it is asked to add its ops.
#include <cstdlib>
#include <stdexcept>

#include "kernels/user_ops.hpp"

namespace {

constexpr ferry::OpDef kThrow{.name = "Throw", .types = "T->T", .T = ferry::kNumbers, .index = "n->n"};
constexpr ferry::OpDef kThrowNumber{.name = "ThrowNumber", .types = "T->T", .T = ferry::kNumbers, .index = "n->n"};
constexpr ferry::Kernel kKernels[] = {
    {.op = "Throw", .run = [](ferry::KernelRun&) { throw std::runtime_error("enough"); }},
    {.op = "ThrowNumber", .run = [](ferry::KernelRun&) { throw 42; }}};

}  // namespace

void ferry_add_ops(ferry::UserOps& to) {
  if (std::getenv("FERRY_TEST_OPS") != nullptr) throw std::runtime_error("no ops today");
  to.ops.add(kThrow);
  to.ops.add(kThrowNumber);
  to.kernels.add(kKernels);
}
