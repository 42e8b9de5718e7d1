#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/error.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "placement/explain/explain.hpp"
#include "runner/command/commands.hpp"
#include "runner/command/planned.hpp"

namespace ferry {
namespace {

struct ExplainOptions : PlanCommandOptions {
  std::string op;
  bool as_json = false, all = false;
};

/// The layouts that placement by itself chose for the op, compared with the best other layouts.
nlohmann::ordered_json alternative_json(const Alternative& alternative) {
  return {{"layouts", alternative.layouts},
          {"computing_seconds", alternative.computing_seconds},
          {"message_seconds", alternative.message_seconds},
          {"other", alternative.other},
          {"at_least_seconds", alternative.at_least_seconds},
          {"found_seconds", alternative.found_seconds}};
}

std::string reasons_json(const PlanResult& result, const std::string& op) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Reason* reason : reasons_for(result, op, true)) {
    all.push_back({{"subject", reason->subject}, {"reason", reason->text}, {"line", reason->line.str()}});
    if (!reason->constraint.empty()) all.back()["constraint"] = reason->constraint;
    if (reason->message > 0) all.back()["message"] = reason->message;
    if (reason->transfer || !result.placement) continue;
    for (const Alternative& alternative : result.placement->alternatives)
      if (alternative.subject == reason->subject) all.back()["chosen"] = alternative_json(alternative);
  }
  return all.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

/// The own name of the value that is fetched as `name`. `name` itself if it is the name of an op, or of no fetch.
std::string without_alias(const Graph& graph, const Selection& selection, const std::string& name) {
  if (graph.find(name)) return name;
  for (std::size_t i = 0; i < selection.names.size(); ++i)
    if (selection.names[i] == name) return selection.request.fetches[i].name();
  for (const auto& [entry, of_entry] : graph.entries())
    for (const Entry::Named& fetch : of_entry.fetches)
      if (fetch.name == name) return graph.value_name(fetch.value);
  return name;
}

/// Error(usage) for an op of the graph that the request does not need: such an op is placed nowhere.
void require_needed(Graph& graph, const Selection& selection, const std::string& name) {
  auto op = graph.find(name);
  if (!op) op = graph.find(name.substr(0, name.rfind(':')));
  if (!op || needed_ops(graph, selection)[*op]) return;
  std::vector<std::string> others;
  for (const auto& [entry, of_entry] : graph.entries())
    if (needed_ops(graph, select_entry(graph, entry, {}))[*op]) others.push_back(formatted("--entry {}", entry));
  const std::string what = selection.entry.empty() ? "the request" : formatted("the entry '{}'", selection.entry);
  throw Error(Code::usage, "explain: {} does not need {:?}", as_is(what), name)
      .at(graph.op(*op).line())
      .hint(others.empty() ? formatted("--fetch {}", name) : join(others, " or "));
}

int explain_file(ExplainOptions options) {
  if (is_plan_file(options.file))
    throw Error(Code::usage, "explain: a .plan file does not hold the reasons of its plan")
        .hint("ferry explain GRAPH.pb");
  if (!options.op.empty())
    options.on_selection = [&](Graph& graph, const Selection& selection) {
      options.op = without_alias(graph, selection, options.op);
      require_needed(graph, selection, options.op);
      options.plan.compared = options.op;
    };
  const PlanResult result = plan_of(options);
  print(options.as_json ? reasons_json(result, options.op) : explain(result, options.op, options.all));
  return 0;
}

}  // namespace

void add_explain_command(CLI::App& app, Action& action) {
  CLI::App* command =
      app.add_subcommand("explain", "Explains why each message exists; --all also why each op is on its devices");
  auto options = std::make_shared<ExplainOptions>();
  add_plan_options(*command, *options);
  command->add_option(
      "OP", options->op,
      "Explains only this op or value: its name, the name of its fetch, or a pattern such as 'layer1/*'");
  command->add_flag("--all", options->all, "Also explains why each op is on its devices");
  command->add_flag("--json", options->as_json, "Prints all reasons, or the reasons of OP, as JSON");
  add_examples(*command, R"(
    ferry explain add.pb --tasks 3          every message
    ferry explain add.pb --tasks 3 --all    and every op
    ferry explain add.pb c --tasks 3        the op c)");
  command->callback([&action, options] { action = [options] { return explain_file(*options); }; });
}

}  // namespace ferry
