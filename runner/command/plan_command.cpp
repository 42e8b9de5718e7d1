#include <CLI/CLI.hpp>
#include <memory>

#include "base/files/files.hpp"
#include "base/system/log.hpp"
#include "placement/plan/plan_file.hpp"
#include "placement/plan/plan_text.hpp"
#include "placement/verify/verify.hpp"
#include "runner/command/commands.hpp"
#include "runner/command/planned.hpp"
#include "runner/pictures/plan_pictures.hpp"

namespace ferry {
namespace {

struct PrintedPlanOptions : PlanCommandOptions {
  bool as_json = false, as_dot = false;
  std::string svg, save;
};

int plan(const PrintedPlanOptions& options) {
  const PlanResult result = plan_of(options);
  require_verified(result.plan);
  for (const std::string& warning : result.warnings) log_warn(warning);
  if (!options.svg.empty()) local_files().write(options.svg, svg_of(plan_dot(result.plan)));
  if (!options.save.empty()) local_files().write(options.save, encode_plan(result.plan));
  if (options.as_json)
    print(plan_json(result.plan));
  else if (options.as_dot)
    print(plan_dot(result.plan));
  else if (options.svg.empty() && options.save.empty())
    print(text_of(result.plan));
  return 0;
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("plan", "Prints the placed program: who does what, and every message");
  auto options = std::make_shared<PrintedPlanOptions>();
  add_plan_options(*command, *options);
  auto* json = command->add_flag("--json", options->as_json, "As JSON");
  command->add_flag("--dot", options->as_dot, "In graphviz's language")->excludes(json);
  command->add_option("--svg", options->svg, "Draws it, with graphviz")->type_name("FILE.svg");
  command->add_option("--save", options->save, "Writes the plan")->type_name("FILE.plan");
  add_examples(*command, R"(
    ferry plan add.pb --tasks 3                  as text
    ferry plan add.pb --tasks 4 --hosts 2        as on two hosts with two tasks each
    ferry plan add.pb --tasks 3 --svg add.svg    as a picture
    ferry plan model.pb --entry predict --shape x=64,784 --save model.plan)");
  command->callback([&action, options] { action = [options] { return plan(*options); }; });
}

}  // namespace ferry
