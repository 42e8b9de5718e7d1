// Programs that a benchmark starts: this one, and those beside it in the build folder.
#pragma once

#include <string>
#include <vector>

namespace ferry::bench {

/// The output, time and memory of a program that has ended.
struct Finished {
  std::string output;       ///< on stdout
  double seconds = 0;       ///< from its start to its end
  double resident_mib = 0;  ///< at its peak
};

/// Runs a program to its end; its stderr is this program's. `arguments[0]` is looked for in PATH unless it has a slash.
/// `settings`, "NAME=value", are added to its environment. Error(resource) when it cannot be started, ends with an exit
/// code other than 0, or is killed.
[[nodiscard]] Finished run_program(const std::vector<std::string>& arguments,
                                   const std::vector<std::string>& settings = {});

/// The path of this program.
[[nodiscard]] std::string this_program();

/// The path of a file that belongs to the benchmarks, in the build folder. Throws Skipped when there is none, as where
/// ferry is installed.
[[nodiscard]] std::string beside_this_program(const std::string& name);

}  // namespace ferry::bench
