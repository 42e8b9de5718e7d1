// Makes plans without running them, for the commands plan, check, explain and quote.
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
  /// Called before planning, with the graph and the selection to plan.
  std::function<void(Graph&, const Selection&)> on_selection = {};
  std::vector<const CLI::Option*> graph_only_options = {};  ///< options for planning; an error with a .plan file
};

/// Reads texts such as "x=64,784". Error(usage) for malformed or repeated arguments.
[[nodiscard]] InputSizes parse_shapes(const std::vector<std::string>& texts);
/// Adds --shape.
void add_shape_option(CLI::App& app, std::vector<std::string>& shapes);
/// Adds --hosts and --cluster, which fills ClusterOptions::elsewhere; returns --cluster.
CLI::Option* add_hosts_options(CLI::App& app, JobOptions& options);
/// Adds FILE, --shape, --step, --hosts, --cluster and the options of a job.
void add_plan_options(CLI::App& app, PlanCommandOptions& options);

/// Calls f with a session of the graph file over virtual tasks, and with the selection to plan. An input has the shape
/// of its --feed, else the shape of --shape, else its own. Error(usage) names an input with a shape that is still
/// unknown.
void with_session(const PlanCommandOptions& options, const std::function<void(Session&, const Selection&)>& f);

/// Error(usage) if `plan` names a plan file and an option of `graph_only_options` is given, except the names in `used`.
/// A
/// --device that simulates devices is no error: it sets the devices of the tasks.
void refuse_options_of_graphs(const PlanCommandOptions& options, const std::string& plan,
                              std::span<const std::string_view> used = {});

/// The plan in a .plan file (without reasons), or a plan made in with_session().
[[nodiscard]] PlanResult plan_of(const PlanCommandOptions& options);

}  // namespace ferry
