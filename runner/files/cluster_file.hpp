// Reads the description of a cluster to plan for, which --cluster names (docs/reference/cluster_format.md).
#pragma once

#include <string>

#include "plan/topology/topology.hpp"

namespace ferry {

/// The topology that a file in protobuf's text form describes. Error(file) names the file and the fault, with the line
/// if the file cannot be parsed.
[[nodiscard]] Topology read_cluster(const std::string& path);

}  // namespace ferry
