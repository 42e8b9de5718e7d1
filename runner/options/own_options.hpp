// The options that a program adds to ferry's, on its command line.
#pragma once

#include "runner/options/program_options.hpp"

namespace CLI {
class App;
}

namespace ferry {

/// Adds the options of a program.
void add_own_options(CLI::App& app, const ProgramOptions& own);

}  // namespace ferry
