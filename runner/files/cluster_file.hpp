// Reads and writes the description of a cluster to plan for, which --cluster names (docs/reference/cluster_format.md).
#pragma once

#include <span>
#include <string>

#include "plan/topology/topology.hpp"

namespace ferry {

/// The program and the machine that measured the costs in a cluster file. A text is empty if the file does not have it.
struct CostsOrigin {
  std::string ferry;    ///< version
  std::string cpu;      ///< cpu_name()
  std::string kernels;  ///< KernelTable::level()
  bool operator==(const CostsOrigin&) const = default;
};

struct DescribedCluster {
  Topology topology;
  CostsOrigin origin;      ///< of the section `compute`
  bool has_costs = false;  ///< the file has a section of costs: a link, or `compute`
};

/// A field of the section `compute`, and its range.
struct ComputeFigure {
  const char* name;
  double ComputeCosts::*place;
  double least, most;
};
[[nodiscard]] std::span<const ComputeFigure> compute_figures();

/// The cluster that a file in protobuf's text form describes. Error(file) names the file and the fault, with its line.
[[nodiscard]] DescribedCluster read_cluster(const std::string& path);

/// Writes a topology as the text of a cluster file, for read_cluster(). Hosts are in the order of their first tasks,
/// and each has the threads, GPUs, job and memory of its first task. Links of GPUs are left out if they have default
/// costs.
[[nodiscard]] std::string cluster_text(const Topology& topology, const CostsOrigin& origin);

/// The origin of the costs that this ferry measures on this machine.
[[nodiscard]] CostsOrigin own_origin();

/// Logs one warning with both origins if another version of ferry, or another machine than this, measured the costs of
/// the file. `path`: the file.
void warn_of_other_origin(const std::string& path, const CostsOrigin& origin);

}  // namespace ferry
