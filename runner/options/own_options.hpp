// Adds the options of a program to the options of ferry on its command line.
#pragma once

#include "runner/options/program_options.hpp"

namespace CLI {
class App;
}

namespace ferry {

/// Adds the program's options to `app`.
void add_own_options(CLI::App& app, const ProgramOptions& own);

}  // namespace ferry
