// Makes plans without running them: common to plan, check and explain.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "placement/planner.hpp"
#include "runner/files/graph_files.hpp"
#include "runner/options/run_options.hpp"
#include "runner/options/selection.hpp"

namespace CLI {
class Option;
}

namespace ferry {

struct PlanCommandOptions : JobOptions {
  std::string file;
  std::vector<std::string> shapes;  ///< "x=64,784"
  std::int64_t step = 0;            ///< RunRequest::planned_step
  /// Called with a graph and what of it is to be planned, before planning.
  std::function<void(Graph&, const Selection&)> on_selection = {};
  std::vector<const CLI::Option*> of_graphs = {};  ///< options that say how to plan; refused for a .plan file
};

/// Reads texts such as "x=64,784". Error(usage) for malformed or repeated arguments.
[[nodiscard]] InputSizes parse_shapes(const std::vector<std::string>& texts);
/// Adds --shape.
void add_shape_option(CLI::App& app, std::vector<std::string>& shapes);
/// Adds --hosts and --cluster, which fills ClusterOptions::elsewhere; returns --cluster.
CLI::Option* add_hosts_options(CLI::App& app, JobOptions& options);
/// Adds FILE, --shape, --step, --hosts, --cluster and the options of a job.
void add_plan_options(CLI::App& app, PlanCommandOptions& options);

/// Calls f with a session of the graph file over virtual tasks, and what of the graph is to be planned. An input has
/// the shape of its --feed, else the shape of --shape, else its own. Error(usage) names an input with a shape that is
/// still unknown.
void with_session(const PlanCommandOptions& options, const std::function<void(Session&, const Selection&)>& f);

/// Error(usage) for an option of `of_graphs` that was given although `plan` names a plan file, except the names in
/// `used`. A --device that simulates is no error: it gives the tasks their devices.
void refuse_options_of_graphs(const PlanCommandOptions& options, const std::string& plan,
                              std::span<const std::string_view> used = {});

/// The plan in a .plan file (then without reasons), or one made in with_session().
[[nodiscard]] PlanResult plan_of(const PlanCommandOptions& options);

}  // namespace ferry
