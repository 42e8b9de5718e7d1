// PlanningOptions: the user's options for planning.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "graph/types/device_spec.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The report on a pass of planning, made after the pass has run.
struct PassReport {
  std::string_view name;
  double seconds = 0;
  std::function<std::string()> text;  ///< returns the result as text; for a pass over a plan class, only of this class
};

/// What decides the placement of ops.
enum class Placing : std::uint8_t {
  annotated,  ///< the graph's annotations; other ops are where their inputs are, or on task 0
  automatic   ///< annotations are constraints; the planner chooses all other placements by planned times
};

/// The options of planning for Session and make_plan. They must be the same on all tasks, except the functions.
///
///     Session session(g, cluster, {.plan = {.placing = Placing::automatic, .fuse_from = 0}});
struct PlanningOptions {
  /// Not given: automatic if the graph asks for it (Graph::auto_place), else annotated.
  std::optional<Placing> placing = {};
  /// A session proves that plans of Placing::automatic compute the graph (plan/equal) before it runs them. If a plan
  /// differs from the graph, it throws Error(plan); if the rules of the proof do not cover the plan, it warns.
  bool proves_placing = true;
  bool soft_placement = false;  ///< an op without a kernel for its device may move to the CPU; each move is reported
  /// The device kind of ops with an annotation that names none. Not given: GPUs if every task has a GPU, else CPUs.
  std::optional<DeviceKind> default_device = {};
  bool reasons = false;        ///< fills PlanResult::reasons: why each op is on its devices and why each message exists
  bool step_estimate = false;  ///< fills PlanResult::step: the planned time of a step
  /// With Placing::automatic: compares the layouts of the op with this name, or of all ops that match this pattern,
  /// with the next best layouts (AutoPlacement::alternatives). Empty: none.
  std::string compared = {};
  bool annotations = false;  ///< with Placing::automatic: fills AutoPlacement::annotations
  /// Called after each pass, on the thread that plans.
  std::function<void(const PassReport&)> on_pass = {};
  bool dumps_problem = false;  ///< fills AutoPlacement::problem
  bool check_passes = false;   ///< checks the program or plan after each pass; Error(bug) names the pass that broke it
  /// Successive sums share a message of up to this many bytes. 0: each sum, and each value that goes to another host,
  /// has a separate message. Not given: chosen from the topology's links.
  std::optional<std::int64_t> bucket_bytes = {};
  /// Elementwise ops on at least this many elements are fused: they run together on a few elements at a time, and
  /// values that only they use take no memory. 0: no ops are fused.
  std::int64_t fuse_from = 16384;
};

}  // namespace ferry
#pragma GCC visibility pop
