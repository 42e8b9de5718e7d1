#include "tests/plans/case_context.hpp"

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "executor/cluster.hpp"
#include "executor/session/constant_ops.hpp"
#include "graph/file/graph_file.hpp"
#include "graph/needed.hpp"
#include "kernels/kernel.hpp"
#include "ops/op_set.hpp"

namespace ferry::test {
namespace {

/// The words of the options by name, and how to read one.
class Words {
 public:
  explicit Words(std::string_view text) {
    for (const std::string_view word : split(text, ' ')) {
      if (word.starts_with("--")) {
        const std::size_t equals = word.find('=');
        last_ = word.substr(0, equals);
        given_[last_] = equals == std::string_view::npos ? "" : word.substr(equals + 1);
      } else if (!word.empty()) {
        given_[last_] = word;
      }
    }
  }

  bool take(const std::string& option, std::string& value) {
    const auto found = given_.find(option);
    if (found == given_.end()) return false;
    value = found->second;
    given_.erase(found);
    return true;
  }
  bool take(const std::string& option) {
    std::string value;
    return take(option, value);
  }
  int number(const std::string& option, int otherwise) {
    std::string value;
    return take(option, value) ? std::stoi(value) : otherwise;
  }
  void require_none() const {
    if (!given_.empty()) throw Error(Code::usage, given_.begin()->first + ": no option of a case");
  }

 private:
  std::map<std::string, std::string> given_;
  std::string last_;
};

DeviceKind usual_device(const Topology& topology) {
  const bool gpus = std::ranges::all_of(topology.tasks, [](const TaskInfo& task) { return task.gpus > 0; });
  return gpus ? DeviceKind::gpu : DeviceKind::cpu;
}

void set_tasks(CaseContext& context, Words& words) {
  ClusterOptions options;
  options.tasks = words.number("--tasks", 1);
  options.threads = 1;
  options.hosts = words.number("--hosts", 0);
  options.invariant = words.number("--invariant", 0);
  options.transport = "inproc";
  words.take("--jobs", options.jobs);
  if (std::string device; words.take("--device", device)) options.simulated = simulation_seed(device);
  context.topology = Cluster::connect(options).topology();
  const bool shared = words.take("--shared-memory");
  const int threads = words.number("--threads", 1);
  for (TaskInfo& task : context.topology.tasks) {
    task.memory_group = shared ? task.host : -1;
    task.threads = threads;
    task.no_gpus = {};  // says what this machine lacks
  }
  std::string why;
  context.kernels.emplace(cpu_kernels(), devices_of(options, why));
  context.options.soft_placement = words.take("--soft-placement");
  if (std::string axes; words.take("--place", axes)) {
    AutoMesh& mesh = context.auto_mesh.emplace();
    for (const std::string_view size : split(axes, 'x')) mesh.axes.push_back(std::stoi(std::string(size)));
  }
  context.options.one_host = options.invariant > 0;
  context.options.default_device = usual_device(context.topology);
  context.options.evaluate = [](const ConstantOp& op) { return evaluate(cpu_kernels(), op); };
}

const Entry& chosen_entry(const Graph& graph, std::string_view name) {
  for (const auto& [known, entry] : graph.entries())
    if (name.empty() ? known != "init" : known == name) return entry;
  throw Error(Code::usage, "the graph has no entry {:?}", name);
}

std::vector<std::int64_t> sizes_of(const Shape& shape) {
  constexpr std::int64_t kOpenSize = 4;
  std::vector<std::int64_t> sizes;
  for (const Dim& dim : shape.dims()) sizes.push_back(dim.known() ? dim.size() : kOpenSize);
  return sizes;
}

}  // namespace

void set_graph(CaseContext& context, std::unique_ptr<Graph> graph, std::string_view entry) {
  const Entry& run = chosen_entry(*graph, entry);
  Signature& signature = context.signature;
  signature = {};
  for (const Entry::Named& fetch : run.fetches) signature.fetches.push_back(fetch.value);
  signature.targets = run.targets;
  std::ranges::sort(signature.targets);
  const std::vector<bool> needed = needed_ops(*graph, signature.fetches, signature.targets);
  for (OpId id = 0; id < graph->size(); ++id) {
    const Op op = graph->op(id);
    if (needed[id] && op.def().role == OpRole::input)
      signature.feeds.push_back({op.output(0), 0, sizes_of(graph->type(op.output(0)).shape)});
  }
  signature.initial = entry == "init";
  context.graph = std::move(graph);
}

CaseContext case_context(std::string_view options, std::string_view graph) {
  CaseContext context;
  Words words(options);
  set_tasks(context, words);
  std::string entry, shape;
  words.take("--entry", entry);
  const int fetch_to = words.number("--fetch-to", 0);
  const bool has_shape = words.take("--shape", shape);
  words.require_none();
  if (graph.empty()) return context;
  set_graph(context, decode_graph(std::as_bytes(std::span(graph)), GraphFormat::text, "graph.pbtxt", default_ops()),
            entry);
  context.signature.fetch_to = fetch_to;
  if (has_shape) {
    const std::size_t equals = shape.find('=');
    for (Signature::Feed& feed : context.signature.feeds)
      if (context.graph->value_name(feed.value) == shape.substr(0, equals))
        feed.sizes = {std::stoll(shape.substr(equals + 1))};
  }
  return context;
}

}  // namespace ferry::test
