// Checks collectives that the library of GPUs carries out completely, and collectives in which it only carries the
// messages. The library's internals are not checked. The library has three requirements, which are proved here and by
// check_progress(). The GPUs of one group must be able to work together. Each GPU must get its collectives one after
// another, on one queue. All GPUs must get them in the same order.
#include <algorithm>
#include <string>

#include "plan/verify/verifier.hpp"

namespace ferry::verifier {
namespace {

bool is_of_library(const Plan& plan, const Instruction& i) {
  if (i.what != Opcode::collective && i.what != Opcode::collective_wait) return false;
  return plan.schedules[plan.collectives[i.collective()].schedule].via == Via::library;
}

/// Checks that the library can carry out the collective with the result that its kind defines, or that it is a sum that
/// GPUs can fold. check_schedules() checks the steps of a folded sum.
void check_call(const Plan& plan, const Collective& collective, const std::string& what) {
  const Schedule& s = plan.schedules[collective.schedule];
  if (s.in_place && s.kind != CollectiveKind::all_reduce)
    reject(what + ": its members may write over their inputs, and it is no sum that all get");
  const bool folds = s.kind == CollectiveKind::all_reduce || s.kind == CollectiveKind::reduce ||
                     s.kind == CollectiveKind::reduce_scatter;
  if (!s.library_does_all()) {
    if (!folds) reject(what + ": GPUs are to fold it, and it is no sum");
    if (s.members > kMostFolded)
      reject(what + ": GPUs are to fold what " + std::to_string(s.members) + " members give, and can do so for " +
             std::to_string(kMostFolded));
    return;
  }
  if (s.slots != 0) reject(what + ": the library of GPUs carries it out, and it has slots");
  if (s.whole != (s.kind == CollectiveKind::all_reduce)) reject(what + ": it has other parts than the library's");
  if (!folds) return;
  const DType d = collective.dtype;
  const bool small = d == DType::boolean || d == DType::int16 || d == DType::uint16;
  const bool floats = d == DType::float16 || d == DType::bfloat16 || d == DType::float32 || d == DType::float64;
  if (small || collective.reduce == Reduce::none || (collective.reduce != Reduce::sum && floats))
    reject(what + ": the library of GPUs does not fold such elements");
  if (s.kind == CollectiveKind::reduce && s.guest_root)
    reject(what + ": its root gives nothing, and the library of GPUs takes something from all");
  if (s.kind == CollectiveKind::reduce_scatter &&
      std::ranges::any_of(collective.parts, [&](std::int64_t part) { return part != collective.parts[0]; }))
    reject(what + ": the library of GPUs gives parts of one size, and these differ");
}

void check_groups(const Plan& plan, const Collective& collective, const std::string& what) {
  const auto gpus = [&](std::int32_t task) { return plan.topology.tasks[task].gpu_group; };
  for (const std::vector<std::int32_t>& group : plan.groupings[collective.grouping])
    for (const std::int32_t task : group)
      if (gpus(task) < 0 || gpus(task) != gpus(group[0]))
        reject(what + ": the GPUs of tasks " + std::to_string(group[0]) + " and " + std::to_string(task) +
               " do not work together");
}

/// Checks the collectives of one class. Each collective must start on the device's queue for collectives, which has no
/// other work, and its wait must follow immediately.
class Chain {
 public:
  Chain(const Plan& plan, const PlanClass& plan_class) : plan_(plan), class_(plan_class) {}

  void check() const {
    check_queues();
    for (const Region& region : class_.regions) {
      const Instruction* open = nullptr;
      for (const std::uint32_t k : region.instructions) open = next(class_.instructions[k], open);
      if (open != nullptr) reject(describe(plan_, *open) + " is not waited for at once");
    }
  }

 private:
  void check_queues() const {
    std::vector<bool> has(class_.devices.size(), false);
    for (const PlanQueue& queue : class_.queues) {
      if (queue.role != PlanQueue::Role::collective) continue;
      if (has[queue.device]) reject("a device has two queues for collectives");
      has[queue.device] = true;
    }
  }

  /// Returns the collective that has started and not ended; its wait must come next on its queue.
  const Instruction* next(const Instruction& i, const Instruction* open) const {
    const bool here =
        class_.on_queue(i) && class_.queues[i.strand - class_.threads].role == PlanQueue::Role::collective;
    if (here != is_of_library(plan_, i))
      reject(describe(plan_, i) + (here ? " is on a queue for collectives" : " is not on a queue for collectives"));
    if (open != nullptr &&
        (i.what != Opcode::collective_wait || i.strand != open->strand || i.collective() != open->collective()))
      reject(describe(plan_, *open) + " is not waited for at once");
    if (!here || i.what == Opcode::collective_wait) return nullptr;
    const std::uint32_t gpu = class_.devices[class_.queues[i.strand - class_.threads].device].index;
    if (plan_.collectives[i.collective()].gpu != gpu)
      reject(describe(plan_, i) + " is on gpu:" + std::to_string(gpu) + ", and the other members are on another one");
    return &i;
  }

  const Plan& plan_;
  const PlanClass& class_;
};

}  // namespace

std::size_t check_gpu_groups(const Plan& plan) {
  std::size_t found = 0;
  for (std::uint32_t c = 0; c < plan.collectives.size(); ++c) {
    const Collective& collective = plan.collectives[c];
    if ((plan.schedules[collective.schedule].via == Via::library) != (collective.gpu != kNone))
      reject(described(plan, c) + ": the library of GPUs is to carry it out, and on no GPU, or the reverse");
    if (collective.gpu == kNone) continue;
    ++found;
    check_call(plan, collective, described(plan, c));
    check_groups(plan, collective, described(plan, c));
  }
  for (const PlanClass& plan_class : plan.classes) Chain(plan, plan_class).check();
  return found;
}

}  // namespace ferry::verifier
