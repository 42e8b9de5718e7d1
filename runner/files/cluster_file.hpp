// Clusters that are not here: what --cluster names (docs/cluster_format.md).
#pragma once

#include <string>

#include "placement/topology/topology.hpp"

namespace ferry {

/// The topology that a file in protobuf's text form describes. Error(file) names file, line and what is wrong.
[[nodiscard]] Topology read_cluster(const std::string& path);

}  // namespace ferry
