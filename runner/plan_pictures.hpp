// Plans for programs and as pictures.
#pragma once

#include <string>

#include "placement/plan.hpp"

namespace ferry {

/// The plan as one JSON object: tasks, feeds, fetches, channels, collectives, classes with buffers and instructions.
[[nodiscard]] std::string plan_json(const Plan& plan);

/// The plan as a graph in graphviz's language: a box for each task, in it its kernels, feeds and fetches; edges are
/// values, bold where they are messages.
[[nodiscard]] std::string plan_dot(const Plan& plan);

/// `dot` drawn by graphviz as SVG. Error(usage) when graphviz is not installed, or fails.
[[nodiscard]] std::string svg_of(const std::string& dot);

}  // namespace ferry
