// Reads the text of a Program (Program::str).
#pragma once

#include <string_view>

#include "placement/program/program.hpp"

namespace ferry::test {

/// The program that `text` is of. `context` has its graph, signature, topology, kernels and options; the text names
/// ops of that graph. Reasons and charts, which no pass reads, are empty. Error(file) names line and column.
///
///     Program again = parse_program(program.str(), program);
///     CHECK(again.str() == program.str());
[[nodiscard]] Program parse_program(std::string_view text, const Program& context);

}  // namespace ferry::test
