// A library with the op of dying_op.hpp, for ferry run --ops. FERRY_TEST_DIES="2@7 3@0" kills task 2 in its step 7, and
// task 3 in its first.
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <string>

#include "kernels/user_ops.hpp"
#include "tests/faults/dying_op.hpp"

namespace {

/// The step of this process in which it is to die; -1: in none.
int last_step() {
  const char *const said = std::getenv("FERRY_TEST_DIES"), *const rank = std::getenv("RANK");
  if (said == nullptr || rank == nullptr) return -1;
  std::istringstream words(said);
  for (std::string word; words >> word;)
    if (const std::size_t at = word.find('@'); word.substr(0, at) == rank) return std::stoi(word.substr(at + 1));
  return -1;
}

void pass_on(ferry::KernelRun& run) {
  static const int last = last_step();
  static int step = 0;
  if (step++ == last) raise(SIGKILL);
  const float* const from = run.inputs[0].as<float>();
  std::copy_n(from, run.outputs[0].count(), run.outputs[0].as<float>());
}

constexpr ferry::Kernel kKernels[] = {{.op = "Dying", .run = pass_on}};

}  // namespace

void ferry_add_ops(ferry::UserOps& to) {
  to.ops.add(ferry::test::kDying);
  to.kernels.add(kKernels);
}
