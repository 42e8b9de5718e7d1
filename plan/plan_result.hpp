// PlanResult: a plan with what the planner reports about it.
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

/// Why an op is where it is, or why a transfer exists: for `ferry explain`.
struct Reason {
  std::string subject;  ///< name of the op or value
  std::string text;
  SourceLine line;
  bool transfer = false;  ///< it is for a transfer or collective, else for an op
  /// For a transfer: the op with the annotation that makes it necessary; empty if the place of a feed or fetch makes it
  /// necessary. Without that annotation there would be no such transfer, or it would have another reason.
  std::string constraint = {};
  bool of_layout = false;  ///< the constraint is the op's layouts, else its device or mesh
  /// For a transfer or sum that shares its message with others: a number that they all have. 0: it has a message of its
  /// own.
  std::uint32_t message = 0;
};

/// How the stages of a pipeline work on its microbatches, if everything takes the time that planning takes it for.
struct PipelineChart {
  struct Work {
    char pass = 'F';  ///< F: forward; B: backward; W: gradients of weights
    std::int64_t microbatch = 0;
    std::int64_t stage = -1;           ///< from the beginning of the pass; -1: its device has one stage
    std::int64_t begin = 0, time = 0;  ///< in any unit, the same for all
    /// "F3", or with a stage "F3.2".
    [[nodiscard]] std::string name() const;
  };
  struct Row {
    std::string who;  ///< "task 0", "tasks 2, 3"
    std::vector<Work> work;
  };
  std::string title;
  std::vector<Row> rows;    ///< one for each device
  std::int64_t length = 0;  ///< when the last work ends
  /// The share of its time in which a device waits for others, in percent.
  [[nodiscard]] std::int64_t waits(const Row& row) const;
};

/// The layouts that placement by itself chose for an op, compared with the best layouts of the whole step in which the
/// op has others. Times are by the model that the choice minimizes.
struct Alternative {
  std::string subject;  ///< name of the op
  SourceLine line;
  std::string layouts;           ///< "[S(0)] [R] -> [S(0)]": of inputs and outputs; of a variable or input "[S(0)]"
  double computing_seconds = 0;  ///< of the op in a step, on a task
  double message_seconds = 0;    ///< to convert its inputs and outputs from and to the layouts of its neighbours
  std::string other;             ///< the layouts that the op has instead; empty: no others are possible
  double at_least_seconds = 0;   ///< certified: without `layouts`, a step takes at least this much longer
  double found_seconds = 0;      ///< with `other` and the best layouts found for the rest, it takes this much longer
};

/// The layouts that placement by itself chose, as annotations. With them, and without Placing::automatic, the graph has
/// about the same plan.
struct LayoutAnnotations {
  struct OfOp {
    std::string op;
    SourceLine line;
    std::vector<Layout> layouts;  ///< of each output, alike
    bool in_body = false;         ///< the op is in a body of control flow
  };
  std::vector<std::int64_t> axes;  ///< sizes of the mesh of all tasks
  std::vector<OfOp> ops;           ///< in plan order
  double step_seconds = 0;         ///< the planned time of a step with the annotations
};

/// How placement by itself (Placing::automatic) came to its choice. Times are planned times of a step.
struct AutoPlacement {
  struct Candidate {
    std::string name;  ///< "as annotated", "mesh 4 with whole variables", "mesh 2x2"
    double step_seconds = 0;
  };
  std::string entry;                  ///< the entry that decided; empty: the request itself
  std::vector<Candidate> candidates;  ///< all that could be planned; the first of the fastest was taken
  std::size_t taken = 0;              ///< index into `candidates`
  /// Of the candidate that was taken: the time until the last task has done its work, and the most of it that one task
  /// computes or sends.
  double step_seconds = 0, computing_seconds = 0, message_seconds = 0;
  /// The cost of the chosen layouts in the model that they minimize, and a lower bound of that cost for all layouts on
  /// that mesh. Both are 0 if the graph's annotations decide all.
  double model_seconds = 0, bound_seconds = 0;
  /// Where placement was changed so that each task has enough memory: the planned memory of the task that needs the
  /// most, and the memory that the model assigns to the layouts; the bound holds for layouts to which it assigns at
  /// most `bound_bytes`. 0: the fastest placement fits.
  std::int64_t memory_bytes = 0, model_bytes = 0, bound_bytes = 0;
  /// With PlanningOptions::dumps_problem: the problem of the layouts and its solution, as JSON
  /// (docs/reference/command_line.md). Of the fastest mesh if the graph stays as it is annotated.
  std::string problem = {};
  std::vector<Alternative> alternatives = {};         ///< of the ops that PlanningOptions::compared asks for
  std::optional<LayoutAnnotations> annotations = {};  ///< with PlanningOptions::annotations; none: none are needed
};

struct PlanResult {
  Plan plan;
  std::vector<Reason> reasons;                  ///< one for each op and transfer, in plan order, when asked for
  std::vector<std::string> warnings;            ///< soft placement's moves, large gathers for reshapes
  std::vector<PipelineChart> pipelines = {};    ///< of each pipeline of the entry, when reasons are asked for
  std::optional<AutoPlacement> placement = {};  ///< given for Placing::automatic
  std::optional<StepEstimate> step = {};        ///< given if PlanningOptions::step_estimate
};

}  // namespace ferry
#pragma GCC visibility pop
