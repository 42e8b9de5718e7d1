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

/// Returns the ops and CPU kernels of ferry and of these shared libraries, which stay loaded. A library is a path; the
/// system's folders of libraries are not searched. Error(file) if a library cannot be loaded, is not a library of ops,
/// was compiled for another version of ferry or has an op without a kernel. Error(usage) if two ops have the same name.
[[nodiscard]] std::shared_ptr<const UserOps> load_op_libraries(const std::vector<std::string>& libraries);

/// Adds --ops, which is repeatable. It sets `known` to load_op_libraries() of its values; without it, `known` is
/// unchanged.
void add_ops_option(CLI::App& app, std::shared_ptr<const UserOps>& known);

}  // namespace ferry
