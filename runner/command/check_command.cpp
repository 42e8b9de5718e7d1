#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/text.hpp"
#include "graph/needed.hpp"
#include "kernels/device.hpp"
#include "kernels/kernel.hpp"
#include "kernels/user_ops.hpp"
#include "plan/equal/equal.hpp"
#include "plan/file/plan_file.hpp"
#include "plan/verify/verify.hpp"
#include "runner/command/commands.hpp"
#include "runner/command/planned.hpp"

namespace ferry {
namespace {

struct CheckOptions : PlanCommandOptions {
  std::string plan;  ///< of the graph in `file`; empty: it is made
  bool as_json = false, equal = false;
};

/// The verdict of the verifier on the plan of a graph, or on a .plan file. With --equal also whether the plan computes
/// what the graph says.
Verdict verdict_of(CheckOptions& options, const KnownOps& known, Equality& equality) {
  if (!options.equal) return verify(plan_of(options).plan, known);
  Verdict verdict;
  std::optional<Plan> given;
  if (!options.plan.empty()) {
    given = read_plan(local_files(), options.plan);
    options.cluster.tasks = given->topology.size();
  }
  with_session(options, [&](Session& session, const Selection& selection) {
    const Plan& plan = given ? *given : session.plan(selection.request).plan;
    verdict = verify(plan, known);
    if (verdict.pass) equality = session.compare(selection.request, plan);
  });
  return verdict;
}

/// Throws unless the plan is proved to compute what the graph says.
void require_equal(const Equality& equality) {
  if (equality.verdict == Equality::Verdict::differs)
    throw Error(Code::plan, "the plan does not compute what the graph says: " + equality.reason)
        .hint("a plan is compared for the request that it was made for: --entry, --fetch and --feed choose it");
  if (equality.verdict == Equality::Verdict::not_proved)
    throw Error(Code::conformance, "it is not proved that the plan computes what the graph says: " + equality.reason)
        .hint("the plan may be right: docs/internals/equality.md has the rules of the proof");
}

void require_usable(const CheckOptions& options) {
  if (!options.plan.empty() && !options.equal)
    throw Error(Code::usage, "check: " + escaped(options.plan) + " is a second file").hint("--equal compares the two");
  if (options.equal && is_plan_file(options.file))
    throw Error(Code::usage, "check --equal: " + escaped(options.file) + " is a plan, and does not hold its graph")
        .hint("ferry check --equal GRAPH.pb " + escaped(options.file));
}

int check(CheckOptions options) {
  require_usable(options);
  const KernelTable& cpu = options.ops ? options.ops->kernels : cpu_kernels();
  std::string no_gpus;
  const KernelsOfDevices kernels(cpu, devices_of(options.cluster, no_gpus));
  const KnownOps known{options.ops ? &options.ops->ops : nullptr, &kernels};
  std::vector<Batches> uneven;
  options.on_selection = [&](Graph& graph, const Selection& selection) {
    uneven = uneven_batches(graph, needed_ops(graph, selection));
  };
  Equality equality, of_other;
  Verdict verdict = verdict_of(options, known, equality);
  options.on_selection = {};
  std::string others;
  for (const Batches& batches : uneven) {
    options.step = batches.steps() - 1;
    if (!verdict.pass || !options.plan.empty()) break;
    const Verdict other = verdict_of(options, known, of_other);
    const std::string which = "the last batch of an epoch, which has " + plural(batches.last(), "row") + " (--step " +
                              std::to_string(options.step) + ")";
    others += "PASS of " + which + "\n";
    if (!other.pass) verdict = {false, {}, {}, which + ": " + other.reason};
    if (options.equal && other.pass && of_other.verdict != Equality::Verdict::equal) equality = of_other;
  }
  if (options.as_json) {
    nlohmann::ordered_json json = {
        {"pass", verdict.pass}, {"proved", verdict.proved}, {"unproved", verdict.unproved}, {"reason", verdict.reason}};
    if (options.equal)
      json["equality"] = {
          {"verdict", name_of(equality.verdict)}, {"rests_on", equality.rests_on}, {"reason", equality.reason}};
    print(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else if (verdict.pass) {
    print("PASS\n");
    for (const std::string& fact : verdict.proved) print("  " + fact + "\n");
    if (equality.verdict == Equality::Verdict::equal) print("EQUAL: each fetch, variable and effect is the graph's\n");
    for (const std::string& ground : equality.rests_on) print("  if " + ground + "\n");
    for (const std::string& doubt : verdict.unproved) print("not proved: " + doubt + "\n");
    if (!verdict.unproved.empty()) print("  try: --ops LIB.so, with the library that has them\n");
    print(others);
  }
  if (!verdict.pass) throw Error(Code::plan, "the plan is refused: " + verdict.reason);
  if (options.equal) require_equal(equality);
  return 0;
}

}  // namespace

void add_check_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("check", "Verifies a graph or plan: prints PASS and what was proved, or the reason");
  auto options = std::make_shared<CheckOptions>();
  add_plan_options(*command, *options);
  command->add_flag("--json", options->as_json, "The verdict as JSON");
  command->add_flag("--equal", options->equal, "Also proves that the plan computes what the graph says");
  command->add_option("PLAN", options->plan, "With --equal: this plan (.plan) instead of the one that ferry makes");
  add_examples(*command, R"(
    ferry check add.pb --tasks 3              exit 0, or 3 (bad file), 4 (cannot be placed or would not run)
    ferry check model.plan
    ferry check --equal add.pb --tasks 3      the same, 4 too if the plan computes something else, 1 if nobody knows
    ferry check --equal model.pb model.plan)");
  command->callback([&action, options] { action = [options] { return check(*options); }; });
}

}  // namespace ferry
