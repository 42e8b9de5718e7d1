// The parts of the verifier. Each throws Rejected with the reason. They use only the plan's data, the definitions of
// ops and the traits of kernels. No functions of the passes, the executor or the plan are linked (but name_of), so that
// a mistake there cannot hide itself here.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "plan/plan.hpp"

namespace ferry {
struct KnownOps;
}

namespace ferry::verifier {

/// Bytes of a bounded value's extent, which is in front of its elements.
inline constexpr std::uint64_t kExtentBytes = 8;

/// Why a plan is refused.
struct Rejected {
  std::string reason;
};

[[noreturn]] inline void reject(std::string reason) {
  throw Rejected{std::move(reason)};
}

/// "MatMul 'y' at model.cpp:12": an instruction, for a reason.
[[nodiscard]] std::string describe(const Plan& plan, const Instruction& instruction);
/// "collective 3 (loss) at model.cpp:12".
[[nodiscard]] std::string described(const Plan& plan, std::string_view what, std::uint32_t number, std::uint32_t name,
                                    std::uint32_t line);
[[nodiscard]] std::string described(const Plan& plan, std::uint32_t collective);

/// Where a task stands in a grouping; -1 when it is in none of the groups.
struct Place {
  std::int32_t group = -1;
  std::int32_t member = -1;
};

/// A place of the program that classes have in common: the setup, the step, or one side of a loop or branch inside one
/// of them (for a loop, its condition or its body).
struct Site {
  std::uint32_t parent = kNone;
  std::string name;  ///< "step/while_1:0"
  struct Of {
    std::uint32_t plan_class = 0, region = 0;
  };
  std::vector<Of> regions;  ///< the site's region in each class that has it
  bool speaks = false;      ///< one of these has a message or collective, or a site inside them has
};

/// Tables that the checks look up. For plans that have passed check_structure().
struct Tables {
  explicit Tables(const Plan& plan);

  std::vector<std::vector<std::int32_t>> tasks_of;     ///< of each class, ascending
  std::vector<std::vector<Place>> places;              ///< of each grouping: of each task
  std::vector<std::vector<std::uint32_t>> classes_of;  ///< of each grouping: classes with a task in it, ascending
  std::vector<std::vector<bool>> covers;               ///< of each grouping: of each class: all its tasks are in it
  std::vector<std::size_t> members;                    ///< of each grouping: the size of its groups; 0 if they differ
  std::vector<Site> sites;                             ///< 0 is the setup, 1 the step; parents come first
  std::vector<std::vector<std::uint32_t>> site_of;     ///< of each class: of each region
  /// Whether the task is the only one of the class.
  [[nodiscard]] bool alone(std::uint32_t plan_class, std::int32_t task) const {
    return tasks_of[plan_class].size() == 1 && tasks_of[plan_class][0] == task;
  }
};

/// Every index is in range, regions form a tree, sizes are what dtypes and dims say.
void check_structure(const Plan& plan);
/// What a tile region that is no epilogue goes over.
struct TileExtent {
  std::uint64_t elements = 0;  ///< of its largest values
  std::uint64_t rows = 0;      ///< elements of its smallest results, which have one for each row of the others
  /// How many of a value's `count` elements are in a tile of `tile` elements.
  [[nodiscard]] std::uint64_t in_tile(std::uint64_t count, std::uint64_t tile) const {
    return count == elements ? tile : tile / (elements / rows);
  }
};
[[nodiscard]] TileExtent tile_extent(const PlanClass& plan_class, const Instruction& tiles);

/// Tile regions can be run tile by tile. Their kernels have one output, and values with the same number of elements or
/// rows, or broadcast to them. No kernel writes an element that another kernel needs at another place or in another
/// row. A slot is used in one region only. Returns the number of tile regions.
std::size_t check_tiles(const Plan& plan);
/// Kernels of stencils are windows, and elementwise kernels on values with the same number of elements or with one
/// element. No kernel writes a value that is read through a window, or elements of a read value other than its own.
/// Each is begun once at most, before it, with its own operands but halos. Returns the number of stencils. After
/// check_types().
std::size_t check_stencils(const Plan& plan);
/// Operands fit their use: copies, predicates, feeds and fetches, views. Parts of split values have the sizes of their
/// place. Variables and memory match the tasks.
void check_values(const Plan& plan, const Tables& tables);
/// Rows of split values that tasks read and others have go from those that have them to those that read them, and are
/// used for nothing else.
void check_halos(const Plan& plan, const Tables& tables);
/// Operands of kernels fit their ops. Attributes, dtypes and sizes of whole values equal the op's own inference. Dims
/// with the same letter in its index notation are split alike. Kernels overwrite inputs only where they may. Returns
/// the ops that are not known, for which none of this was proved.
std::vector<std::string> check_types(const Plan& plan, const KnownOps& known);
/// A value is partial if each task has only its part of a sum (or maximum), because a kernel reduced a split dim. A
/// partial value goes only through ops that are linear in it for its dtype, until collectives have combined it over all
/// these tasks. Returns how many kernels reduce split dims. After check_types().
std::size_t check_partial_sums(const Plan& plan, const Tables& tables, const KnownOps& known);
/// The extent of every bounded value is written by a kernel, or is moved together with the elements.
void check_extents(const Plan& plan);
/// Every channel has one send and one receive of equal size, in the same site; all members of a collective take part in
/// it, with the buffers that its schedule needs.
void check_messages(const Plan& plan, const Tables& tables);
/// The parts of a buffer are side by side and fill it. A sum of several values has the same values in the same places
/// on all members, and a message of several values has them in the same places at both ends.
void check_buckets(const Plan& plan, const Tables& tables);
/// Pairs of a buffer that is no view and the name of a value that is all of it, under some shape. A part with such a
/// name is a chunk of that value.
using NamesOfWhole = std::set<std::pair<std::uint32_t, std::uint32_t>>;
[[nodiscard]] NamesOfWhole names_of_whole(const PlanClass& role);
/// A part of a value that is received by itself was sent from the same bytes of that value.
void check_chunks(const Plan& plan);
/// Every schedule of a collective ends on all members with what its kind promises, even if nothing is buffered.
void check_schedules(const Plan& plan);
/// Checks the same for a schedule in which all members find their peers by flipping the same bits; `what` names it in
/// reasons. Does nothing and returns false for other schedules.
[[nodiscard]] bool check_flips(const Schedule& schedule, const std::string& what);
/// Only two schedules let members write over their inputs or reach into each other's memory: the one-shot one, which
/// puts, and the direct one, which gets. `what` names the schedule in reasons.
void check_reach(const Schedule& schedule, const std::string& what);
/// Collectives of the GPUs' library are such as it does, between GPUs that work together; each GPU is given them on one
/// queue, one after another. Returns their number.
std::size_t check_gpu_groups(const Plan& plan);
/// The members of the collective share memory if its schedule puts or gets.
void check_sharing(const Plan& plan, std::uint32_t collective);
/// Whether the topology says so.
[[nodiscard]] bool tasks_share_memory(const Plan& plan, std::int32_t a, std::int32_t b);
/// No task waits for ever, even if nothing is buffered, for any number of iterations and steps.
void check_progress(const Plan& plan, const Tables& tables);
/// Strands of one task, which are its threads and the queues of its devices, never touch the same bytes at the same
/// time, but to read; nor do they wait for one another for ever. Whatever a region gives to queues is done when it
/// ends. False when every task uses one thread and no queue.
bool check_threads(const Plan& plan);
/// Captured work of a region can be submitted as one. It is work of one compute queue on its device's memory, with
/// sizes that the plan knows, consecutive in a list that runs more than once. It waits for others only before it
/// begins, and others wait only for all of it. Returns how many stretches of work there are.
std::size_t check_stretches(const Plan& plan);
/// The turns of a serving task may come in any order. Each turn touches only its own memory, or state that only whole
/// turns change, and exchanges messages only with its own worker. So no worker waits for another, except for the plan's
/// limit on how many steps they may be apart. No variable is older than its assignment allows. Returns how many tasks
/// serve.
std::size_t check_turns(const Plan& plan, const Tables& tables);
/// A variable is written once in a step at most, in each turn of it where there are turns; what a copy has set there is
/// read in the next step only.
void check_updates(const Plan& plan);
/// No buffer is read before it is written, after another buffer took its bytes, or while a message is being written
/// into it. Buffers are within their arenas, which are no larger than needed. Some instruction in a loop changes its
/// condition.
void check_memory(const Plan& plan);
/// Bytes of the host's memory of the task, and of the GPU, that need the most.
struct Footprint {
  std::uint64_t task = 0, gpu = 0;
};
/// No task and no GPU needs more memory than it may use, and the tasks of a host together need no more than the host
/// has, as far as the topology says.
Footprint check_fit(const Plan& plan);

}  // namespace ferry::verifier
