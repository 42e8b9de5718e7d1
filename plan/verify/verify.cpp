#include "plan/verify/verify.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "plan/verify/verifier.hpp"

namespace ferry {

Verdict verify(const Plan& plan, const KnownOps& known) {
  Verdict verdict;
  const auto proved = [&](std::string what) { verdict.proved.push_back(std::move(what)); };
  try {
    verifier::check_structure(plan);
    const std::size_t tile_regions = verifier::check_tiles(plan);
    const verifier::Tables tables(plan);
    verifier::check_values(plan, tables);
    verifier::check_extents(plan);
    proved(
        "every index, region and size is in range; operands, parts of split values, feeds, fetches and variables fit");
    const std::vector<std::string> unknown = verifier::check_types(plan, known);
    proved(std::string(unknown.empty() ? "every kernel" : "every kernel of a known op") +
           " has the types of inputs and outputs that its op's inference computes");
    for (const std::string& op : unknown)
      verdict.unproved.push_back(
          formatted("the inputs and results of the kernels of {:.100}: the op is not known here", op));
    if (const std::size_t sums = verifier::check_partial_sums(plan, tables, known); sums > 0)
      proved(plural(sums, "kernel") +
             " of partial sums: until they are added up, they go only through ops that are linear for their dtype");
    if (tile_regions > 0)
      proved(plural(tile_regions, "tile region") + ": each value's elements depend on those at their place alone");
    if (const std::size_t stencils = verifier::check_stencils(plan); stencils > 0)
      proved(plural(stencils, "stencil") +
             ": its kernels write no value that its windows read, and its begin comes before its end");
    verifier::check_messages(plan, tables);
    verifier::check_buckets(plan, tables);
    verifier::check_chunks(plan);
    proved(plural(plan.channels.size(), "channel") + ": one send and one receive each, equal in dtype and bytes");
    proved(plural(plan.collectives.size(), "collective") + ": every member takes part, with the sizes of its schedule");
    if (const std::size_t of_library = verifier::check_gpu_groups(plan); of_library > 0)
      proved(plural(of_library, "collective") +
             " of GPUs' library: each GPU has them on one queue, and is in its group");
    verifier::check_halos(plan, tables);
    verifier::check_schedules(plan);
    const auto has_steps = [](const Schedule& schedule) { return !schedule.library_does_all(); };
    proved(plural(static_cast<std::size_t>(std::ranges::count_if(plan.schedules, has_steps)), "collective schedule") +
           ": every member gets its result, and sums are folded in one order, even if nothing is buffered");
    verifier::check_progress(plan, tables);
    proved("no task waits for ever in any number of steps and iterations, even if nothing is buffered");
    if (const std::size_t stretches = verifier::check_stretches(plan); stretches > 0)
      proved(std::to_string(stretches) + (stretches == 1 ? " captured stretch" : " captured stretches") +
             ": each is work of one queue; waits come only before it, and others wait only for its end");
    if (verifier::check_threads(plan))
      proved("threads of a task and queues of its devices access the same bytes at the same time only to read them");
    if (const std::size_t servers = verifier::check_turns(plan, tables); servers > 0)
      proved(plural(servers, "server") +
             ": its turns may come in any order, and no worker waits for another one that "
             "is fewer steps behind than allowed");
    verifier::check_updates(plan);
    const std::size_t swaps = verifier::check_swaps(plan);
    verifier::check_memory(plan);
    if (swaps > 0)
      proved(plural(swaps, "carried value") +
             ": it may swap its bytes with the next value, because the loop accesses these bytes only as these values");
    proved("no buffer is read before it is written or while it is overwritten; all buffers are within their arenas");
    const verifier::Footprint most = verifier::check_fit(plan);
    proved("at most " + human_bytes(most.task) + " of memory on a task" +
           (most.gpu == 0 ? "" : ", and " + human_bytes(most.gpu) + " on a GPU") +
           ", which is within the available memory");
    verdict.pass = true;
  } catch (const verifier::PlanRejected& rejected) {
    verdict.reason = rejected.reason;
    if (!rejected.hint.empty()) verdict.hint = rejected.hint;
  }
  return verdict;
}

Error Verdict::refusal() const {
  return Error(Code::plan, "the plan is refused: " + reason).hint(hint);
}

void require_well_formed(const Plan& plan) {
  try {
    verifier::check_structure(plan);
  } catch (const verifier::PlanRejected& rejected) {
    throw Error(Code::file, rejected.reason);
  }
}

void require_verified(const Plan& plan, const KnownOps& known) {
  const Verdict verdict = verify(plan, known);
  if (!verdict.pass) throw verdict.refusal();
}

}  // namespace ferry
