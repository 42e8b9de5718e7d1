// PlanningOptions: how the user wants plans to be made.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "graph/types/device_spec.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The report on a pass of planning after it has run.
struct PassReport {
  std::string_view name;
  double seconds = 0;
  std::function<std::string()> text;  ///< its result as text; of a pass over a plan class, that class alone
};

/// Who says where ops are.
enum class Placing : std::uint8_t {
  annotated,  ///< the graph's annotations; ops without one are where their inputs are, or on task 0
  automatic   ///< annotations are constraints; the planner chooses the rest by planned times
};

/// For Session and make_plan. The same on all tasks, except the functions.
struct PlanningOptions {
  /// Not given: automatic if the graph says so (Graph::auto_place), else annotated.
  std::optional<Placing> placing = {};
  /// A session proves that plans of Placing::automatic compute the graph (plan/equal) before it runs them. Where the
  /// plan differs it throws Error(plan); where the rules do not follow the plan it warns.
  bool proves_placing = true;
  bool soft_placement = false;  ///< an op without a kernel for its device may move to the CPU; each move is reported
  /// The device kind of ops with an annotation that names none. Not given: GPUs if every task has one, else CPUs.
  std::optional<DeviceKind> default_device = {};
  bool reasons = false;        ///< fills PlanResult::reasons: why each op is where it is and why each message exists
  bool step_estimate = false;  ///< fills PlanResult::step: the planned time of a step
  /// With Placing::automatic: compares the layouts of the op of this name, or of all ops that match a pattern, with
  /// the next best ones (AutoPlacement::alternatives). Empty: none.
  std::string compared = {};
  bool annotations = false;  ///< with Placing::automatic: fills AutoPlacement::annotations
  /// Called after each pass, on the thread that plans.
  std::function<void(const PassReport&)> on_pass = {};
  bool dumps_problem = false;  ///< fills AutoPlacement::problem
  bool check_passes = false;   ///< checks the program or plan after each pass; Error(bug) names the pass that broke it
  /// Successive sums share a message up to this many bytes. 0: each sum has its own, and so has each message between
  /// hosts. Not given: chosen from the topology's links.
  std::optional<std::int64_t> bucket_bytes = {};
  /// Elementwise ops on at least this many elements are fused: they run together on a few elements at a time, and
  /// values that only they use take no memory. 0: none is fused.
  std::int64_t fuse_from = 16384;
};

}  // namespace ferry
#pragma GCC visibility pop
