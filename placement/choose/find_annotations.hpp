// find_annotations: finds annotations that give a graph the layouts that placement by itself chose.
#pragma once

#include <functional>
#include <optional>

#include "placement/program/program.hpp"
#include "plan/plan_result.hpp"

namespace ferry {

/// Annotates variables, inputs and ops without inputs on the mesh with their chosen layouts, then ops to which
/// propagation gives other layouts than the chosen ones, in several rounds. `program` is the program with chosen
/// layouts after all passes; `placed` returns the program that passes all passes with annotations in place of AutoMesh.
/// Returns the annotations of the round with the shortest step by judge(). Returns nothing if the program has no chosen
/// layouts, or if no annotations can be planned.
[[nodiscard]] std::optional<LayoutAnnotations> find_annotations(const Program& program,
                                                                const std::function<Program(TriedAnnotations)>& placed);

}  // namespace ferry
