#include "runner/options/selection.hpp"

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/system/log.hpp"
#include "base/text.hpp"
#include "graph/needed.hpp"

namespace ferry {
namespace {

std::vector<std::string> entry_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const auto& [name, entry] : graph.entries()) names.push_back(name);
  return names;
}

/// The name of the entry to run; null: the outputs of the graph are run.
const std::string* chosen_entry(const Graph& graph, const std::string& wanted) {
  const auto& entries = graph.entries();
  if (!wanted.empty()) {
    if (const auto found = entries.find(wanted); found != entries.end()) return &found->first;
    const auto known = entry_names(graph);
    Error error(Code::usage, "--entry {}: the graph has no such entry", wanted);
    if (const std::string like = nearest(wanted, known); !like.empty()) throw error.hint("--entry {}?", like);
    throw error.hint(known.empty() ? "leave --entry out: the graph has no entries" : "one of " + join(known, ", "));
  }
  if (const auto train = entries.find("train"); train != entries.end()) return &train->first;
  const std::string* only = nullptr;
  for (const auto& [name, entry] : entries) {
    if (name == "init") continue;
    if (only != nullptr) return nullptr;
    only = &name;
  }
  return only;
}

/// The name of the op that has the op `op_name` in one of its bodies, at any depth; "" if there is none.
std::string owner_of_body(const Graph& graph, std::string_view op_name) {
  for (OpId id = 0; id < graph.size(); ++id) {
    const Op op = graph.op(id);
    for (const auto& [name, value] : op.attrs()) {
      const auto* ref = std::get_if<SubgraphRef>(&value);
      if (ref == nullptr) continue;
      const Graph& body = graph.subgraph(*ref);
      if (body.find(op_name)) return std::string(op.name());
      if (std::string inner = owner_of_body(body, op_name); !inner.empty()) return inner;
    }
  }
  return {};
}

Value fetched_value(Graph& graph, const Entry* entry, const std::string& name) {
  if (entry != nullptr)
    for (const Entry::Named& fetch : entry->fetches)
      if (fetch.name == name) return graph.value(fetch.value);
  const std::string op_name = name.substr(0, name.rfind(':'));
  if (!graph.find(name) && !graph.find(op_name)) {
    if (const std::string owner = owner_of_body(graph, op_name); !owner.empty())
      throw Error(Code::usage, "--fetch {}: it is inside a body of '{}', where it has a value in each iteration", name,
                  owner)
          .hint("carry it out of the body: fetch an output of '{}'", owner);
    if (entry != nullptr) {
      std::vector<std::string> known;
      for (const Entry::Named& fetch : entry->fetches) known.push_back(fetch.name);
      if (const std::string like = nearest(name, known); !like.empty())
        throw Error(Code::usage, "--fetch {}: there is no such fetch or value", name).hint("{}?", like);
    }
  }
  return graph.value(graph.value_named(name));
}

void add_outputs(Graph& graph, Selection& selection) {
  std::vector<bool> used(graph.values(), false);
  for (OpId id = 0; id < graph.size(); ++id)
    for (const ValueId input : graph.op(id).inputs()) used[input] = true;
  for (const auto& [name, entry] : graph.entries())
    for (const OpId target : entry.targets)
      for (int i = 0; i < graph.op(target).outputs(); ++i) used[graph.op(target).output(i)] = true;
  for (ValueId value = 0; value < graph.values(); ++value) {
    if (used[value]) continue;
    selection.names.push_back(graph.value_name(value));
    selection.request.fetches.push_back(graph.value(value));
  }
}

void replace_fetches(Graph& graph, const Entry* entry, const std::vector<std::string>& lists, Selection& selection) {
  selection.names.clear();
  selection.request.fetches.clear();
  for (const std::string& list : lists) {
    for (const std::string_view item : split(list, ',')) {
      const std::string name(trimmed(item));
      if (name.empty())
        throw Error(Code::usage, "--fetch {}: a name is empty", list)
            .hint("write names with one comma between two of them");
      if (std::find(selection.names.begin(), selection.names.end(), name) != selection.names.end())
        throw Error(Code::usage, "--fetch {}: given twice", name).hint("name it once");
      selection.names.push_back(name);
      selection.request.fetches.push_back(fetched_value(graph, entry, name));
    }
  }
}

}  // namespace

Selection select_entry(Graph& graph, std::string_view wanted, const std::vector<std::string>& fetches) {
  Selection selection;
  const std::string* name = chosen_entry(graph, std::string(wanted));
  const Entry* entry = name == nullptr ? nullptr : &graph.entries().find(*name)->second;
  if (entry != nullptr) {
    selection.entry = *name;
    for (const Entry::Named& fetch : entry->fetches) {
      selection.names.push_back(fetch.name);
      selection.request.fetches.push_back(graph.value(fetch.value));
    }
    for (const OpId target : entry->targets)
      selection.request.targets.push_back(graph.value(graph.op(target).output(0)));
  } else if (fetches.empty()) {
    add_outputs(graph, selection);
  }
  if (!fetches.empty()) replace_fetches(graph, entry, fetches, selection);
  if (selection.request.fetches.empty() && selection.request.targets.empty())
    throw Error(Code::usage, "there is nothing to run: no fetches and no targets").hint("--fetch NAME");
  return selection;
}

void name_fetches(Plan& plan, const std::vector<std::string>& names) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (plan.string(plan.fetches[i].name) == names[i]) continue;
    plan.fetches[i].name = static_cast<std::uint32_t>(plan.strings.size());
    plan.strings.push_back(names[i]);
  }
}

std::vector<bool> needed_ops(const Graph& graph, const Selection& selection) {
  std::vector<ValueId> values;
  for (const Value& value : selection.request.fetches) values.push_back(value.id());
  for (const Value& value : selection.request.targets) values.push_back(value.id());
  return needed_ops(graph, values, {});
}

bool is_asynchronous(const Graph& graph, const Selection& selection) {
  const std::vector<bool> needed = needed_ops(graph, selection);
  for (OpId id = 0; id < needed.size(); ++id)
    if (needed[id] && graph.op(id).def().is(kAsynchronous)) return true;
  return false;
}

std::optional<Batches> data_of(const Graph& graph, const Selection& selection) {
  std::optional<Batches> longest;
  for (const Batches& batches : batches_of(graph, needed_ops(graph, selection)))
    if (!longest || batches.steps() > longest->steps()) longest = batches;
  return longest;
}

namespace {

/// The variables to which the entry "init" assigns values that are computed from data files.
std::set<OpId> variables_from_files(const Graph& graph) {
  std::vector<bool> from_files(graph.size(), false);
  for (OpId id = 0; id < graph.size(); ++id) {
    const Op op = graph.op(id);
    from_files[id] = op.attrs().has("path") ||
                     std::ranges::any_of(op.inputs(), [&](ValueId input) { return from_files[graph.producer(input)]; });
  }
  std::set<OpId> variables;
  if (const auto init = graph.entries().find("init"); init != graph.entries().end())
    for (const OpId target : init->second.targets)
      if (from_files[target]) variables.insert(graph.producer(graph.op(target).inputs()[0]));
  return variables;
}

}  // namespace

std::vector<std::string> variables_only_read(const Graph& graph, const Selection& selection) {
  std::vector<std::string> names;
  const std::vector<bool> needed = needed_ops(graph, selection);
  const std::set<OpId> from_files = variables_from_files(graph);
  for (OpId id = 0; id < needed.size(); ++id) {
    if (!needed[id]) continue;
    const Op op = graph.op(id);
    if (op.def().role == OpRole::assign) return {};
    if (op.def().role == OpRole::variable && !from_files.contains(id)) names.emplace_back(op.name());
  }
  return names;
}

std::vector<OpId> forgotten_updates(const Graph& graph, bool runs_others) {
  std::vector<ValueId> fetches;
  std::vector<OpId> targets;
  std::set<OpId> initial;
  for (const auto& [name, entry] : graph.entries()) {
    if (name == "init") {
      initial.insert(entry.targets.begin(), entry.targets.end());
      continue;
    }
    for (const Entry::Named& fetch : entry.fetches) fetches.push_back(fetch.value);
    targets.insert(targets.end(), entry.targets.begin(), entry.targets.end());
  }
  if (fetches.empty() && targets.empty()) return {};  // the outputs are run, and updates are outputs
  const std::vector<bool> needed = needed_ops(graph, fetches, targets);
  std::set<OpId> set;
  std::vector<OpId> forgotten;
  for (OpId id = 0; id < graph.size(); ++id) {
    if (graph.op(id).def().role != OpRole::assign || initial.contains(id)) continue;
    if (needed[id])
      set.insert(graph.producer(graph.op(id).inputs()[0]));
    else
      forgotten.push_back(id);
  }
  if (runs_others && !set.empty()) return {};
  std::erase_if(forgotten, [&](OpId id) { return set.contains(graph.producer(graph.op(id).inputs()[0])); });
  return forgotten;
}

void warn_of_forgotten_updates(const Graph& graph, bool runs_others) {
  const std::vector<OpId> forgotten = forgotten_updates(graph, runs_others);
  if (forgotten.empty()) return;
  const auto variable_of = [&](OpId update) { return graph.op(graph.producer(graph.op(update).inputs()[0])).name(); };
  // The state of an optimizer has longer names than the variable that it belongs to.
  const OpId shown = *std::ranges::min_element(forgotten, {}, [&](OpId update) { return variable_of(update).size(); });
  const std::string others =
      forgotten.size() > 1 ? formatted(", and {} more like it", forgotten.size() - 1) : std::string();
  log_warn(
      formatted("no entry runs {}{}, so nothing sets the variable '{}'; call g.target(ENTRY, update) for each update",
                as_is(graph.op(shown).str()), as_is(others), variable_of(shown)));
}

std::vector<std::string> data_files(const Graph& graph) {
  std::vector<std::string> files;
  for (OpId id = 0; id < graph.size(); ++id)
    if (const AttrValue* path = graph.op(id).attrs().find("path"); path != nullptr)
      if (const auto* text = std::get_if<std::string>(path)) files.push_back(*text);
  for (std::uint32_t i = 0; i < graph.subgraphs(); ++i)
    for (std::string& file : data_files(graph.subgraph({i}))) files.push_back(std::move(file));
  return files;
}

}  // namespace ferry
