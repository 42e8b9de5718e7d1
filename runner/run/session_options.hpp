// session_options: gives a program that makes its own Session the options of `ferry run`.
#pragma once

#include <memory>

#include "executor/session/session.hpp"
#include "runner/options/program_options.hpp"

#pragma GCC visibility push(default)
namespace ferry {

struct UserOps;

/// The options of a job and its session.
///
///     SessionArguments arguments = session_options(argc, argv);
///     arguments.session.run.seed = 7;
struct SessionArguments {
  ClusterOptions cluster;              ///< for Cluster::connect()
  SessionOptions session;              ///< for the constructor of Session
  std::shared_ptr<const UserOps> ops;  ///< of --ops; they must outlive the session, because `session` points to them
};

/// Removes options from argv: the options of `ferry run` that a session follows, such as --tasks, --check-numerics,
/// --trace and --report, and the program's `own` options. --help lists them and exits. Call it before the job is
/// formed.
///
///     int main(int argc, char** argv) {
///       const auto options = ferry::session_options(argc, argv);
///       const auto cluster = ferry::Cluster::connect(options.cluster);
///       ferry::Graph g;
///       const ferry::Value c = g.constant({1, 2}) + g.constant({3, 4});
///       ferry::Session session(g, cluster, options.session);
///       session.run({c});
///     }
///
/// Other arguments stay in argv. Error(usage) for an argument that resembles one of ferry's options, unless it follows
/// "--". Error(usage) also for options of `ferry run` that a session alone cannot follow, such as --steps, --metrics,
/// and --checkpoint: run_main() with a TrainingLoop follows them. The session writes the report of --report when it is
/// closed; this report has no curves and no plan.
[[nodiscard]] SessionArguments session_options(int& argc, char** argv, const ProgramOptions& own = {});

}  // namespace ferry
#pragma GCC visibility pop
