// Libraries of ops that are not ferry's: --ops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "kernels/user_ops.hpp"

namespace CLI {
class App;
}

namespace ferry {

/// ferry's ops and CPU kernels, and those of these shared libraries, which stay loaded. A library is a path: never
/// searched for. Error(file) when one cannot be loaded, is none of ops or was compiled for another ferry; Error(usage)
/// when two have an op of one name, or an op has no kernel.
[[nodiscard]] std::shared_ptr<const UserOps> load_op_libraries(const std::vector<std::string>& libraries);

/// Adds --ops, repeatable: `known` becomes the ops of these libraries and ferry's own.
void add_ops_option(CLI::App& app, std::shared_ptr<const UserOps>& known);

}  // namespace ferry
