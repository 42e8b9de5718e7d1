// --print-annotations: prints the layouts that placement by itself chose, as C++ code and as a rules file.
#pragma once

#include <string>

#include "plan/plan_result.hpp"

namespace ferry {

/// C++ lines that annotate the graph `g`, and the lines of a rules file (device_rules.hpp). The rules begin with the
/// line "# RULES.txt for --devices: …". If the graph needs no annotations, the text is a comment that says so.
///
///     // for 2 tasks, as --place auto chose
///     const auto lay = [&g, all = g.mesh({{"tasks", 2}})](std::string_view op, std::vector<ferry::Layout> layouts) {
///       g.annotate(*g.find(op), {{}, all, std::move(layouts)});
///     };
///     lay("layer1/weights", {{ferry::split(1)}});  // samples/auto.cpp:15
///
///     # RULES.txt for --devices: a step of 0.871 ms; with --place auto 0.870 ms
///     layer1/weights  split(1) on tasks=2
[[nodiscard]] std::string annotation_text(const AutoPlacement& placement);

}  // namespace ferry
