// Writes plans as JSON and as pictures.
#pragma once

#include <string>

#include "placement/planner.hpp"
#include "plan/plan.hpp"
#include "plan/text/plan_diff.hpp"

namespace ferry {

/// The plan as one JSON object: tasks, feeds, fetches, channels, collectives, classes with buffers and instructions. If
/// the result has them, also the choice of placement by itself, and the planned time of a step with its work.
[[nodiscard]] std::string plan_json(const PlanResult& result);

/// The difference as one JSON object; each number is a list of the old and the new number.
[[nodiscard]] std::string diff_json(const PlanDiff& diff);

/// The plan as a graph in graphviz's language. There is a frame for each task, with a box for each kernel or chain of
/// kernels and cylinders for its variables, feeds and fetches. Between the frames there is a hexagon for each
/// collective of a group of tasks, with its kind and the bytes of the whole value. Arrows are values: red from task to
/// task, dashed if a variable gets a new value. Scalar constants are left out unless they are sent. Unless `whole` is
/// set, a large plan is simplified: on each task, ops from one line of the user's program share a box, and only some of
/// many tasks that do the same are drawn.
[[nodiscard]] std::string plan_dot(const Plan& plan, bool whole = false);

/// The plan as a picture in SVG, with a title and a legend. It has the boxes and arrows of plan_dot(). Of tasks that do
/// the same, one is drawn; with `whole`, each task and each op is drawn. Charts of pipelines are above the boxes.
[[nodiscard]] std::string plan_svg(const PlanResult& result, const std::string& title, bool whole = false);

}  // namespace ferry
