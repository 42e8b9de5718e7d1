#include "placement/choose/choose_mesh.hpp"

#include <algorithm>
#include <exception>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "graph/needed.hpp"
#include "placement/choose/judge.hpp"

namespace ferry {
namespace {

/// Meshes of two axes other than hosts × tasks of a host are tried for jobs of at most this size.
constexpr std::int64_t kMostTasksForFactors = 16;

std::string name_of(const std::optional<AutoMesh>& mesh) {
  if (!mesh) return "as annotated";
  std::vector<std::string> sizes;
  for (const std::int64_t size : mesh->axes) sizes.push_back(std::to_string(size));
  return "mesh " + join(sizes, "x") + (mesh->replicates_variables ? " with whole variables" : "");
}

/// The number of hosts if each has as many tasks as the others, one after another; else 1.
std::int64_t even_hosts(const Topology& topology) {
  std::set<std::int32_t> hosts;
  for (const TaskInfo& task : topology.tasks) hosts.insert(task.host);
  const auto count = static_cast<std::int64_t>(hosts.size());
  const auto tasks = static_cast<std::int64_t>(topology.tasks.size());
  if (tasks % count != 0) return 1;
  const auto on_each = static_cast<std::size_t>(tasks / count);
  for (std::size_t task = 0; task < topology.tasks.size(); ++task)
    if (topology.tasks[task].host != topology.tasks[task / on_each * on_each].host) return 1;
  return count;
}

std::vector<std::optional<AutoMesh>> candidates(const Topology& topology) {
  const auto tasks = static_cast<std::int64_t>(topology.size());
  std::vector<std::optional<AutoMesh>> all{std::nullopt};
  if (tasks == 1) return all;
  all.push_back(AutoMesh{{tasks}, true});
  all.push_back(AutoMesh{{tasks}, false});
  std::set<std::int64_t> firsts;
  if (const std::int64_t hosts = even_hosts(topology); hosts > 1 && hosts < tasks) firsts.insert(hosts);
  for (std::int64_t first = 2; first < tasks && tasks <= kMostTasksForFactors; ++first)
    if (tasks % first == 0) firsts.insert(first);
  for (const std::int64_t first : firsts) all.push_back(AutoMesh{{first, tasks / first}, false});
  return all;
}

std::map<OpId, Layout> layouts_of_variables(const Program& program) {
  std::map<OpId, Layout> layouts;
  for (const auto& [value, layout] : program.chosen.laid)
    if (const Node& node = program.nodes[program.values[value].producer]; node.kind == NodeKind::variable)
      layouts.emplace(node.op, layout);
  return layouts;
}

double seconds(std::int64_t picoseconds) {
  return seconds_of(static_cast<double>(picoseconds));
}

}  // namespace

MeshChoice choose_mesh(const Topology& topology, const std::function<Program(const std::optional<AutoMesh>&)>& placed) {
  MeshChoice choice;
  std::optional<StepTime> best;
  std::exception_ptr failed;
  for (const std::optional<AutoMesh>& mesh : candidates(topology)) {
    try {
      const Program program = placed(mesh);
      const StepTime time = judge(program);
      AutoPlacement& report = choice.report;
      report.candidates.push_back({name_of(mesh), seconds(time.step)});
      if (best && time.step >= best->step) continue;
      best = time;
      choice.mesh = mesh;
      if (mesh) choice.mesh->variables = layouts_of_variables(program);
      report.taken = report.candidates.size() - 1;
      report.step_seconds = seconds(time.step);
      report.computing_seconds = seconds(time.computing);
      report.message_seconds = seconds(time.messages);
      report.model_seconds = seconds(program.chosen_value);
      report.bound_seconds = seconds(program.chosen_bound);
    } catch (const Error& error) {
      if (error.code() != Code::plan) throw;
      if (!failed) failed = std::current_exception();
    }
  }
  if (!best) std::rethrow_exception(failed);
  return choice;
}

std::optional<Signature> deciding_request(const Graph& graph) {
  const auto entry = graph.entries().find("train");
  if (entry == graph.entries().end()) return std::nullopt;
  Signature signature;
  for (const Entry::Named& fetch : entry->second.fetches) signature.fetches.push_back(fetch.value);
  signature.targets = entry->second.targets;
  std::ranges::sort(signature.targets);
  const std::vector<bool> needed = needed_ops(graph, signature.fetches, signature.targets);
  for (OpId id = 0; id < graph.size(); ++id) {
    const Op op = graph.op(id);
    if (!needed[id] || op.def().role != OpRole::input) continue;
    Signature::Feed feed{op.output(0), 0, {}};
    for (const Dim& dim : graph.type(op.output(0)).shape.dims())
      feed.sizes.push_back(dim.known() ? dim.size() : kOpenSize);
    signature.feeds.push_back(std::move(feed));
  }
  std::ranges::sort(signature.feeds, {}, &Signature::Feed::value);
  return signature;
}

}  // namespace ferry
