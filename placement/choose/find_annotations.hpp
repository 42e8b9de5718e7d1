// find_annotations: finds annotations that give a graph the layouts or stages that placement by itself chose.
#pragma once

#include <functional>
#include <optional>

#include "placement/program/program.hpp"
#include "plan/plan_result.hpp"

namespace ferry {

/// The plans with annotations that find_annotations tries.
struct AnnotationPlanning {
  /// Returns the program that passes all passes with annotations in place of AutoMesh.
  std::function<Program(TriedAnnotations)> placed;
  std::function<bool(const Program&)> fits;  ///< whether the tasks have enough memory for the program's plan
};

/// Annotates variables, inputs and ops without inputs on the mesh with their chosen layouts, then ops to which
/// propagation gives other layouts than the chosen ones, in several rounds. `program` is the program with chosen
/// layouts after all passes. Returns the annotations of the round with the shortest step by judge(), of the rounds that
/// fit. Returns nothing if the program has no chosen layouts, or if no annotations can be planned and fit. For a
/// program in stages, returns the task of each op.
[[nodiscard]] std::optional<LayoutAnnotations> find_annotations(const Program& program,
                                                                const AnnotationPlanning& planning);

}  // namespace ferry
