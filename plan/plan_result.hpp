// PlanResult: a plan, and the planner's report on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "plan/plan.hpp"
#include "plan/step_estimate.hpp"

#pragma GCC visibility push(default)
namespace ferry {

/// The reason why an op is on its devices, or why a transfer exists, for `ferry explain`.
struct Reason {
  std::string subject;    ///< name of the op or value
  std::string text;       ///< the reason, as `ferry explain` prints it
  SourceLine line;        ///< the user's line of the op
  bool transfer = false;  ///< it is a reason for a transfer or collective, else for an op
  /// For a transfer: the op with the annotation that makes it necessary; empty if the task of a feed or fetch makes it
  /// necessary. Without that annotation there would be no such transfer, or it would have another reason.
  std::string constraint = {};
  bool of_layout = false;  ///< the constraint is the op's layouts, else its device or mesh
  /// For a transfer or sum that shares its message with others: the same number for all of them. 0: it has a separate
  /// message.
  std::uint32_t message = 0;
};

/// The schedule of a pipeline's stages and microbatches, with the times that planning assumes.
struct PipelineChart {
  struct Work {
    char pass = 'F';                   ///< F: forward; B: backward; W: gradients of weights
    std::int64_t microbatch = 0;       ///< its number
    std::int64_t stage = -1;           ///< stages from the beginning of the pass; -1: its device has one stage
    std::int64_t begin = 0, time = 0;  ///< in any unit, the same for all work
    /// "F3", or with the stage "F3.2".
    [[nodiscard]] std::string name() const;
  };
  struct Row {
    std::string who;         ///< "task 0", "tasks 2, 3"
    std::vector<Work> work;  ///< in the order of time
  };
  std::string title;        ///< the pipeline and its schedule
  std::vector<Row> rows;    ///< one for each device
  std::int64_t length = 0;  ///< when the last work ends
  /// The percentage of its time in which the row's device waits for others.
  [[nodiscard]] std::int64_t waits(const Row& row) const;
};

/// The layouts that placement by itself chose for an op, compared with the best layouts of the whole step in which this
/// op has different layouts. Times are by the model that the choice minimizes.
struct Alternative {
  std::string subject;           ///< name of the op
  SourceLine line;               ///< the user's line of the op
  std::string layouts;           ///< "[S(0)] [R] -> [S(0)]": of inputs and outputs; for a variable or input "[S(0)]"
  double computing_seconds = 0;  ///< computing time of the op in a step, on a task
  double message_seconds = 0;    ///< time to convert its inputs and outputs from and to the layouts of its neighbours
  std::string other;             ///< the other layouts of the op; empty: no others are possible, or none were found
  double at_least_seconds = 0;   ///< proved lower bound of the extra time of a step without `layouts`
  /// Extra time of a step with `other` and the best layouts found for the rest. Infinite if other layouts are possible,
  /// but none were found that fit into the limit of memory.
  double found_seconds = 0;
};

/// The layouts or the stages that placement by itself chose, as annotations. With them, and without Placing::automatic,
/// the graph has about the same plan.
struct LayoutAnnotations {
  struct OfOp {
    std::string op;                ///< its name
    SourceLine line;               ///< the user's line
    std::vector<Layout> layouts;   ///< for each output; all have the same layout. Empty for stages
    bool in_body = false;          ///< the op is in a body of control flow
    std::optional<int> task = {};  ///< for stages: the task of the op's stage
  };
  std::vector<std::int64_t> axes;  ///< sizes of the mesh of all tasks; empty for stages
  std::vector<OfOp> ops;           ///< in plan order
  double step_seconds = 0;         ///< the planned time of a step with the annotations
};

/// How placement by itself (Placing::automatic) made its choice. Times are planned times of a step.
struct AutoPlacement {
  struct Candidate {
    std::string name;         ///< "as annotated", "mesh 4 with whole variables", "mesh 2x2", "pipeline of 2 stages"
    double step_seconds = 0;  ///< planned time of a step
  };
  std::string entry;                  ///< the entry for which the choice was made; empty: the request itself
  std::vector<Candidate> candidates;  ///< all candidates that could be planned; the first of the fastest was taken
  std::size_t taken = 0;              ///< index into `candidates`
  /// For the taken candidate: the time until the last task has done its work, and the longest computing and message
  /// times of a task.
  double step_seconds = 0, computing_seconds = 0, message_seconds = 0;
  /// The cost of the chosen layouts in the model that they minimize, and a lower bound of the cost of all layouts on
  /// this mesh. Both are 0 if the graph's annotations decide all layouts, and for stages.
  double model_seconds = 0, bound_seconds = 0;
  /// Set if placement was changed so that all tasks and hosts have enough memory; 0 if the fastest placement fits. They
  /// are the planned memory of the task or host with the least memory left, and the memory of the layouts in the model.
  /// The bound holds for layouts with at most `bound_bytes` in the model.
  std::int64_t memory_bytes = 0, model_bytes = 0, bound_bytes = 0;
  /// With PlanningOptions::dumps_problem: the problem of the layouts and its solution, as JSON
  /// (docs/reference/command_line.md). If the graph's annotations stay, it is the problem of the fastest mesh.
  std::string problem = {};
  std::vector<Alternative> alternatives = {};  ///< for the ops that PlanningOptions::compared names
  /// With PlanningOptions::annotations; none: no annotations are needed.
  std::optional<LayoutAnnotations> annotations = {};
};
/// The result of Session::plan.
struct PlanResult {
  Plan plan;                                    ///< the plan of all tasks
  std::vector<Reason> reasons;                  ///< one for each op and transfer, in plan order, if asked for
  std::vector<std::string> warnings;            ///< moves by soft placement, large gathers for reshapes
  std::vector<PipelineChart> pipelines = {};    ///< for each pipeline of the entry, if reasons are asked for
  std::optional<AutoPlacement> placement = {};  ///< only for Placing::automatic
  std::optional<StepEstimate> step = {};        ///< only if PlanningOptions::step_estimate
};

}  // namespace ferry
#pragma GCC visibility pop
