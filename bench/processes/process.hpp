// Runs the programs of benchmarks: this program, and other programs in the build folder.
#pragma once

#include <string>
#include <vector>

namespace ferry::bench {

/// The output, time and memory of a program that has ended.
struct ProgramResult {
  std::string output;       ///< the program's stdout
  double seconds = 0;       ///< from its start to its end
  double resident_mib = 0;  ///< peak of resident memory
};

/// Runs a program to its end, with the stderr of this program. `arguments[0]` is searched for in PATH unless it has a
/// slash. `settings`, "NAME=value", are added to the environment. Error(resource) if the program cannot be started,
/// ends with an exit code other than 0, or is killed.
[[nodiscard]] ProgramResult run_program(const std::vector<std::string>& arguments,
                                        const std::vector<std::string>& settings = {});

/// The path of this program.
[[nodiscard]] std::string this_program();

/// The path of a file that belongs to the benchmarks, in the build folder. Throws Skipped if the file does not exist,
/// for example in an installed ferry.
[[nodiscard]] std::string beside_this_program(const std::string& name);

}  // namespace ferry::bench
