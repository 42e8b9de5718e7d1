#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/files/files.hpp"
#include "base/format.hpp"
#include "base/number_text.hpp"
#include "base/system/clock.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "plan/file/plan_file.hpp"
#include "plan/text/plan_diff.hpp"
#include "plan/text/plan_text.hpp"
#include "plan/verify/verify.hpp"
#include "runner/command/commands.hpp"
#include "runner/command/plan_summary.hpp"
#include "runner/command/planned.hpp"
#include "runner/options/annotation_text.hpp"
#include "runner/options/selection.hpp"
#include "runner/pictures/plan_pictures.hpp"

namespace ferry {
namespace {

struct PrintedPlanOptions : PlanCommandOptions {
  bool as_json = false, as_dot = false, all = false, whole = false, times = false;
  std::string svg, save, dump_after, dump_problem, diff;
};

/// Sums the time of each pass, and counts how often it ran.
class PassTimes {
 public:
  void add(std::string_view pass, double seconds) {
    const auto at = std::ranges::find(passes_, pass, &Pass::name);
    Pass& of = at != passes_.end() ? *at : passes_.emplace_back(Pass{std::string(pass)});
    of.seconds += seconds;
    ++of.runs;
  }

  [[nodiscard]] std::string text() const {
    if (passes_.empty()) return {};
    double all = 0;
    std::size_t width = 0;
    for (const Pass& pass : passes_) {
      all += pass.seconds;
      width = std::max(width, pass.name.size());
    }
    std::string text;
    for (const Pass& pass : passes_) text += row(width, pass, all);
    return text + row(width, {"all", all, 1}, all);
  }

 private:
  struct Pass {
    std::string name;
    double seconds = 0;
    std::int64_t runs = 0;
  };

  static std::string row(std::size_t width, const Pass& pass, double all) {
    const std::string milliseconds = right_aligned(decimals_text(pass.seconds * 1e3, 3), 10);
    const std::string share = right_aligned(decimals_text(all > 0 ? 100 * pass.seconds / all : 0, 1), 6);
    const std::string padding(width - pass.name.size(), ' ');
    return pass.name + padding + " " + milliseconds + " ms " + share + " %" +
           (pass.runs == 1 ? "" : "  " + plural(pass.runs, "time")) + "\n";
  }

  std::vector<Pass> passes_;
};

/// The changes from the plan in the file to `plan`.
PlanDiff difference(const std::string& path, const Plan& plan) {
  const Plan before = read_plan(local_files(), path);
  require_verified(before);
  PlanDiff changes = diff(before, plan);
  if (changes.ops_in_both == 0 && !changes.ops.empty())
    throw Error(Code::usage, "--diff: {} and this plan have no op in common", path)
        .hint("compare plans of one graph: ferry plan FILE --save OLD.plan, and later --diff OLD.plan");
  return changes;
}

void write_problem(const std::string& path, const PlanResult& result) {
  if (!result.placement || result.placement->problem.empty())
    throw Error(Code::usage, "--dump-problem {}: no layouts were chosen together", path)
        .hint("--place auto and two tasks or more");
  local_files().write(path, result.placement->problem);
}

void require_annotations(const PrintedPlanOptions& options, const PlanResult& result) {
  if (options.plan.annotations && !result.placement)
    throw Error(Code::usage, "--print-annotations: the annotations of the graph decide its placement")
        .hint("--place auto");
}

/// The title of a picture: "add.pb, entry train, on 3 tasks".
std::string title_of(const PrintedPlanOptions& options, const Plan& plan) {
  return formatted("{}{}, on {}", options.file.substr(options.file.rfind('/') + 1),
                   as_is(options.entry.empty() ? "" : formatted(", entry {}", options.entry)),
                   plural(static_cast<std::uint64_t>(plan.topology.size()), "task"));
}

int plan(PrintedPlanOptions options) {
  std::vector<GivenFile> read = files_read(options);
  read.push_back({"", options.file});
  require_distinct_files(read,
                         {{"--svg", options.svg}, {"--save", options.save}, {"--dump-problem", options.dump_problem}});
  options.plan.dumps_problem = !options.dump_problem.empty();
  require_distinct_files({{"--diff", options.diff}},
                         {{"--svg", options.svg}});  // --save may overwrite the file of the comparison
  PassTimes times;
  std::string dumped;
  const bool of_passes = options.times || !options.dump_after.empty();
  if (of_passes)
    options.plan.on_pass = [&](const PassReport& pass) {
      times.add(pass.name, pass.seconds);
      if (pass.name == options.dump_after) dumped += pass.text();
    };
  const auto print_passes = [&] {
    if (!options.dump_after.empty()) print(dumped);
    if (options.times) print(times.text());
  };
  options.on_selection = [](const Graph& graph, const Selection&) { warn_of_forgotten_updates(graph, false); };
  options.plan.step_estimate = options.as_json || !options.all;
  PlanResult result;
  try {
    result = plan_of(options);
    const TimePoint start = system_clock().now();
    require_verified(result.plan);
    times.add("verify", std::chrono::duration<double>(system_clock().now() - start).count());
  } catch (const Error&) {
    print_passes();
    throw;
  }
  require_annotations(options, result);
  for (const std::string& warning : result.warnings) log_warn(warning);
  std::optional<PlanDiff> changes;  // computed before --save, which may overwrite the same file
  if (!options.diff.empty()) changes = difference(options.diff, result.plan);
  if (!options.svg.empty())
    local_files().write(options.svg, plan_svg(result, title_of(options, result.plan), options.whole));
  if (!options.save.empty()) local_files().write(options.save, encode_plan(result.plan));
  if (!options.dump_problem.empty()) write_problem(options.dump_problem, result);
  if (changes)
    print(options.as_json ? diff_json(*changes) : changes->text());
  else if (options.as_json && options.dump_after.empty())
    print(plan_json(result));
  else if (options.as_dot && options.dump_after.empty())
    print(plan_dot(result.plan, options.whole));
  else if (options.plan.annotations)
    print(annotation_text(*result.placement));
  else if (options.svg.empty() && options.save.empty() && options.dump_problem.empty() && !of_passes)
    print(options.all ? text_of(result.plan) : plan_summary(result, options.op_set()));
  print_passes();
  return 0;
}

}  // namespace

void add_plan_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("plan", "Prints a summary of the plan of a graph; --all prints the whole plan");
  auto options = std::make_shared<PrintedPlanOptions>();
  add_plan_options(*command, *options);
  command->add_flag("--all", options->all, "Prints every buffer, message and instruction instead of a summary");
  auto* json = command->add_flag("--json", options->as_json, "Prints JSON");
  auto* dot =
      command->add_flag("--dot", options->as_dot, "Prints a drawing in the language of graphviz")->excludes(json);
  command->add_option("--svg", options->svg, "Draws it as a picture for a browser")->type_name("FILE.svg");
  command->add_flag(
      "--full", options->whole,
      "With --svg and --dot: draws each op of each task; else tasks that do the same are drawn once, and a large plan "
      "has a box for each line of the program");
  require_plan_file(command->add_option("--save", options->save, "Writes the plan"));
  command
      ->add_option("--diff", options->diff,
                   "Prints what changed since a plan that was saved: messages and bytes by line, copies, memory, ops "
                   "that moved")
      ->type_name("OLD.plan")
      ->excludes(dot);
  std::vector<std::string> passes;
  for (const std::string_view pass : pass_names()) passes.emplace_back(pass);
  command->add_option("--dump-after", options->dump_after, "Prints the plan after this pass: " + join(passes, ", "))
      ->type_name("PASS")
      ->check(CLI::IsMember(passes).description(""))
      ->excludes(json)
      ->excludes(dot);
  command
      ->add_option("--dump-problem", options->dump_problem,
                   "Writes the problem that --place auto solved, and its solution, for other solvers "
                   "(docs/reference/command_line.md)")
      ->type_name("FILE.json");
  command
      ->add_flag("--print-annotations", options->plan.annotations,
                 "With --place auto: prints the chosen layouts as C++ lines and as lines for --devices")
      ->excludes(dot);
  command->add_flag("--times", options->times, "Prints the time of each pass of planning")
      ->excludes(json)
      ->excludes(dot);
  command->add_flag("--check-passes", options->plan.check_passes, "Verifies the plan after each pass");
  add_examples(*command, R"(
    ferry plan add.pb --tasks 3                  a summary
    ferry plan add.pb --tasks 3 --all            every buffer, message and instruction
    ferry plan add.pb --tasks 4 --hosts 2        as on two hosts with two tasks each
    ferry plan add.pb --tasks 3 --svg add.svg    as a picture
    ferry plan add.pb --tasks 3 --dump-after reshard
    ferry plan add.pb --cluster cluster.pbtxt    for a cluster that is somewhere else (docs/reference/cluster_format.md)
    ferry plan add.pb --tasks 3 --save old.plan  and later, when the graph has changed:
    ferry plan add.pb --tasks 3 --diff old.plan
    ferry plan model.pb --entry predict --shape x=64,784 --save model.plan)");
  command->callback([&action, options] { action = [options] { return plan(*options); }; });
}

}  // namespace ferry
