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
  std::string plan;  ///< path of a plan of the graph in `file`; empty: ferry makes the plan
  bool as_json = false, equal = false;
};

/// The results of a check.
struct Found {
  Verdict verdict;
  Equality equality;         ///< with --equal
  std::string last_batches;  ///< one line for each plan of a last batch that also passed

  [[nodiscard]] bool is_equal() const { return equality.verdict == Equality::Verdict::equal; }
};

/// The verdict of the verifier on the plan of a graph, or on a .plan file. With --equal, also finds whether the plan
/// computes the graph.
Verdict verdict_of(CheckOptions& options, const KnownOps& known, Equality& equality) {
  if (!options.equal) return verify(plan_of(options).plan, known);
  Verdict verdict;
  std::optional<Plan> given;
  if (!options.plan.empty()) {
    given = read_plan(local_files(), options.plan);
    options.cluster.elsewhere = given->topology;
  }
  with_session(options, [&](Session& session, const Selection& selection) {
    const Plan& plan = given ? *given : session.plan(selection.request).plan;
    verdict = verify(plan, known);
    if (verdict.pass) equality = session.compare(selection.request, plan);
  });
  return verdict;
}

void require_usable(const CheckOptions& options) {
  if (!options.plan.empty() && !options.equal)
    throw Error(Code::usage, "check: {} is a second file", options.plan).hint("--equal compares the two");
  if (options.equal && is_plan_file(options.file))
    throw Error(Code::usage, "check --equal: {} is a plan, and does not hold its graph", options.file)
        .hint("ferry check --equal GRAPH.pb {}", options.file);
  constexpr std::string_view kOfRequests[] = {"--entry",     "--fetch", "--fetch-to", "--feed",
                                              "--feed-part", "--dim",   "--shape",    "--step"};
  if (!options.plan.empty()) refuse_options_of_graphs(options, options.plan, kOfRequests);
}

/// Error(usage) if --step is given together with a plan, and all steps of the graph have the same plan.
void require_uneven(const CheckOptions& options, const std::vector<Batches>& uneven) {
  if (options.plan.empty() || options.step == 0 || !uneven.empty()) return;
  throw Error(Code::usage, "--step {}: all steps of the graph have the same plan", options.step)
      .hint("leave --step out");
}

Found find(CheckOptions options) {
  require_usable(options);
  const KernelTable& cpu = options.ops ? options.ops->kernels : cpu_kernels();
  std::string no_gpus;
  const KernelsOfDevices kernels(cpu, devices_of(options.cluster, no_gpus));
  const KnownOps known{options.ops ? &options.ops->ops : nullptr, &kernels};
  std::vector<Batches> uneven;
  options.on_selection = [&](Graph& graph, const Selection& selection) {
    uneven = uneven_batches(graph, needed_ops(graph, selection));
    require_uneven(options, uneven);
  };
  Found found;
  found.verdict = verdict_of(options, known, found.equality);
  options.on_selection = {};
  for (const Batches& batches : uneven) {
    options.step = batches.steps() - 1;
    if (!found.verdict.pass || !options.plan.empty()) break;
    Equality of_other;
    const Verdict other = verdict_of(options, known, of_other);
    const std::string which = "the last batch of an epoch, which has " + plural(batches.last(), "row") + " (--step " +
                              std::to_string(options.step) + ")";
    found.last_batches += "PASS of " + which + "\n";
    if (!other.pass) found.verdict = {false, {}, {}, which + ": " + other.reason, other.hint};
    if (options.equal && other.pass && of_other.verdict != Equality::Verdict::equal) found.equality = of_other;
  }
  return found;
}

void print_json(const nlohmann::ordered_json& json) {
  print(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
}

void print_json(const Found& found, bool with_equality) {
  const Verdict& verdict = found.verdict;
  nlohmann::ordered_json json = {{"pass", verdict.pass && (!with_equality || found.is_equal())},
                                 {"proved", verdict.proved},
                                 {"unproved", verdict.unproved},
                                 {"reason", verdict.pass ? found.equality.reason : verdict.reason}};
  if (with_equality)
    json["equality"] = {{"verdict", name_of(found.equality.verdict)},
                        {"rests_on", found.equality.rests_on},
                        {"reason", found.equality.reason}};
  print_json(json);
}

void print_text(const Found& found) {
  if (!found.verdict.pass) return;
  print("PASS\n");
  for (const std::string& fact : found.verdict.proved) print("  " + fact + "\n");
  if (found.is_equal()) print("EQUAL: each fetch, variable and effect is the graph's\n");
  for (const std::string& ground : found.equality.rests_on) print("  if " + ground + "\n");
  for (const std::string& doubt : found.verdict.unproved) print("not proved: " + doubt + "\n");
  if (!found.verdict.unproved.empty()) print("  try: --ops LIB.so, with the library that has them\n");
  print(found.last_batches);
}

int check(const CheckOptions& options) {
  Found found;
  try {
    found = find(options);
  } catch (const Error& error) {
    if (options.as_json)
      print_json({{"pass", false},
                  {"proved", nlohmann::ordered_json::array()},
                  {"unproved", nlohmann::ordered_json::array()},
                  {"reason", error.text()}});
    throw;
  }
  if (options.as_json)
    print_json(found, options.equal);
  else
    print_text(found);
  if (!found.verdict.pass) throw found.verdict.refusal();
  if (options.equal) require_equal(found.equality);
  return 0;
}

}  // namespace

void add_check_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("check", "Verifies a graph or plan: prints PASS and the proved facts, or the reason");
  auto options = std::make_shared<CheckOptions>();
  add_plan_options(*command, *options);
  command->add_flag("--json", options->as_json, "Prints the result as JSON");
  command->add_flag("--equal", options->equal, "Also proves that the plan computes the graph");
  command->add_option("PLAN", options->plan,
                      "With --equal: a plan (.plan) to compare with the graph, instead of a new plan");
  add_examples(*command, R"(
    ferry check add.pb --tasks 3              exit 0, or 3 (bad file), 4 (cannot be placed or would not run)
    ferry check model.plan
    ferry check --equal add.pb --tasks 3      the same, also 4 if the plan computes something else, 1 if it is undecided
    ferry check --equal model.pb model.plan)");
  command->callback([&action, options] { action = [options] { return check(*options); }; });
}

}  // namespace ferry
