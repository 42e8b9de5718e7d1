// A library of ops that throw, for ferry run --ops. With the environment variable FERRY_TEST_OPS it throws already when
// it is asked to add its ops.
#include <cstdlib>
#include <stdexcept>

#include "kernels/user_ops.hpp"

namespace {

constexpr ferry::OpDef kThrow{.name = "Throw", .types = "T->T", .T = ferry::kNumbers, .index = "n->n"};
constexpr ferry::OpDef kThrowNumber{.name = "ThrowNumber", .types = "T->T", .T = ferry::kNumbers, .index = "n->n"};
/// Of constants it is computed when planning.
constexpr ferry::OpDef kThrowExact{
    .name = "ThrowExact", .types = "T->T", .T = ferry::kNumbers, .index = "n->n", .flags = ferry::kExact};
constexpr ferry::Kernel kKernels[] = {
    {.op = "ThrowExact", .run = [](ferry::KernelRun&) { throw std::runtime_error("enough"); }},
    {.op = "Throw", .run = [](ferry::KernelRun&) { throw std::runtime_error("enough"); }},
    {.op = "ThrowNumber", .run = [](ferry::KernelRun&) { throw 42; }}};

}  // namespace

void ferry_add_ops(ferry::UserOps& to) {
  if (std::getenv("FERRY_TEST_OPS") != nullptr) throw std::runtime_error("no ops today");
  to.ops.add(kThrow);
  to.ops.add(kThrowNumber);
  to.ops.add(kThrowExact);
  to.kernels.add(kKernels);
}
