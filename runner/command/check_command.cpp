#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/text.hpp"
#include "graph/needed.hpp"
#include "kernels/device.hpp"
#include "kernels/kernel.hpp"
#include "kernels/user_ops.hpp"
#include "plan/verify/verify.hpp"
#include "runner/command/commands.hpp"
#include "runner/command/planned.hpp"

namespace ferry {
namespace {

struct CheckOptions : PlanCommandOptions {
  bool as_json = false;
};

int check(CheckOptions options) {
  const KernelTable& cpu = options.ops ? options.ops->kernels : cpu_kernels();
  std::string no_gpus;
  const KernelsOfDevices kernels(cpu, devices_of(options.cluster, no_gpus));
  const KnownOps known{options.ops ? &options.ops->ops : nullptr, &kernels};
  std::vector<Batches> uneven;
  options.on_selection = [&](Graph& graph, const Selection& selection) {
    uneven = uneven_batches(graph, needed_ops(graph, selection));
  };
  Verdict verdict = verify(plan_of(options).plan, known);
  options.on_selection = {};
  std::string others;
  for (const Batches& batches : uneven) {
    options.step = batches.steps() - 1;
    if (!verdict.pass) break;
    const Verdict other = verify(plan_of(options).plan, known);
    const std::string which = "the last batch of an epoch, which has " + plural(batches.last(), "row") + " (--step " +
                              std::to_string(options.step) + ")";
    others += "PASS of " + which + "\n";
    if (!other.pass) verdict = {false, {}, {}, which + ": " + other.reason};
  }
  if (options.as_json) {
    const nlohmann::ordered_json json = {
        {"pass", verdict.pass}, {"proved", verdict.proved}, {"unproved", verdict.unproved}, {"reason", verdict.reason}};
    print(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
  } else if (verdict.pass) {
    print("PASS\n");
    for (const std::string& fact : verdict.proved) print("  " + fact + "\n");
    for (const std::string& doubt : verdict.unproved) print("not proved: " + doubt + "\n");
    if (!verdict.unproved.empty()) print("  try: --ops LIB.so, with the library that has them\n");
    print(others);
  }
  if (!verdict.pass) throw Error(Code::plan, "the plan is refused: " + verdict.reason);
  return 0;
}

}  // namespace

void add_check_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("check", "Verifies a graph or plan: prints PASS and what was proved, or the reason");
  auto options = std::make_shared<CheckOptions>();
  add_plan_options(*command, *options);
  command->add_flag("--json", options->as_json, "The verdict as JSON");
  add_examples(*command, R"(
    ferry check add.pb --tasks 3    exit 0, or 3 (bad file), 4 (cannot be placed or would not run)
    ferry check model.plan)");
  command->callback([&action, options] { action = [options] { return check(*options); }; });
}

}  // namespace ferry
