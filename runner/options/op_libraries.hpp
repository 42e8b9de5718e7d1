// Loads the user's own ops from shared libraries (--ops).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/user_ops.hpp"

namespace CLI {
class App;
}

namespace ferry {

/// The ops and CPU kernels of ferry and of these shared libraries, which stay loaded. A library is a path; no library
/// folders are searched. Error(file) when one cannot be loaded, is no library of ops, was compiled for another version
/// of ferry or has an op without a kernel; Error(usage) when two ops have the same name.
[[nodiscard]] std::shared_ptr<const UserOps> load_op_libraries(const std::vector<std::string>& libraries);

/// Adds --ops, which is repeatable and sets `known` to load_op_libraries() of its values; without it `known` stays.
void add_ops_option(CLI::App& app, std::shared_ptr<const UserOps>& known);

}  // namespace ferry
