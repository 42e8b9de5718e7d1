#include "executor/run/messages.hpp"

#include <algorithm>
#include <vector>

#include "base/format.hpp"
#include "executor/observe/instruction_text.hpp"
#include "executor/run/origin.hpp"

namespace ferry {
namespace {

constexpr std::size_t kLines = 12;

}  // namespace

Error located(const Error& error, const Plan& plan, const Instruction& instruction, int task) {
  std::string what(plan.string(instruction.op));
  if (what.empty()) what = name_of(instruction.what);
  return Error(error.code(), "{} {:?} on task {}: {}", as_is(what), plan.string(instruction.name), task,
               as_is(error.text()))
      .at(plan.line(instruction.line));
}

Error error_of_kernel(const std::exception_ptr& thrown, std::string_view op, const KernelTable& kernels) {
  const Kernel* kernel = kernels.find(op);
  const bool of_user = kernel != nullptr && kernel != cpu_kernels().find(op);
  return as_error(thrown, of_user ? Code::program : Code::bug, "its code");
}

Error error_of_kernel(const std::exception_ptr& thrown, const Plan& plan, const Instruction& instruction, int task,
                      const KernelTable& kernels) {
  try {
    std::rethrow_exception(thrown);
  } catch (const BadValue& bad) {
    return error_of_value(bad, plan, instruction, task);
  } catch (...) {
    return error_of_kernel(thrown, plan.string(instruction.op), kernels);
  }
}

Error stalled_error(const Plan& plan, const Instruction& instruction, int task, Duration waited,
                    const std::vector<std::string>& others) {
  Error error(Code::stalled, "no progress for " + seconds_text(waited) + ": task " + std::to_string(task) +
                                 " waits in " + pending_text(plan, instruction, task));
  for (std::size_t i = 0; i < std::min(kLines, others.size()); ++i) error.note("also pending: " + others[i]);
  if (others.size() > kLines) error.note("and {} more", others.size() - kLines);
  return error.hint("look at what that task is doing; --deadline SECONDS allows for longer steps");
}

std::string iteration_text(const Plan& plan, const Instruction& loop, int task, std::int64_t iteration) {
  return formatted("iteration {} of the loop {:?} on task {}{}", iteration, plan.string(loop.name), task,
                   as_is(at_line(plan, loop)));
}

Error endless_error(const Plan& plan, const Instruction& loop, int task, std::int64_t iteration, Duration since) {
  return Error(Code::stalled, "a loop does not end: after " + seconds_text(since) + " it is in " +
                                  iteration_text(plan, loop, task, iteration))
      .hint("see why its condition stays true; --deadline SECONDS allows for longer loops");
}

}  // namespace ferry
