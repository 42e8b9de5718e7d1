// The contract of explain: there is one reason for each op and each transfer; a transfer is necessary because of the
// annotation that its reason cites, and deleting that annotation changes only transfers that depend on it.
#include "placement/explain/explain.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "ops/array/reshape.hpp"
#include "ops/control/state.hpp"
#include "ops/gradient/gradient.hpp"
#include "ops/image/conv.hpp"
#include "ops/math/linalg.hpp"
#include "ops/math/math.hpp"
#include "ops/math/random.hpp"
#include "ops/math/reduce.hpp"
#include "ops/train/optim.hpp"
#include "tests/support/has.hpp"
#include "tests/support/plans.hpp"
#include "tests/support/random_plan.hpp"

namespace ferry {
namespace {

struct Job {
  Graph& graph;
  Topology topology;
  std::vector<Value> fetches, targets;
  test::Feeds feeds = {};
};

PlanResult planned(const Job& job, PlanOptions options = {}) {
  Signature signature;
  for (const Value& fetch : job.fetches) signature.fetches.push_back(fetch.id());
  for (const Value& target : job.targets) signature.targets.push_back(target.op().id());
  for (const auto& [value, sizes] : job.feeds) signature.feeds.push_back({value, 0, sizes});
  options.reasons = true;
  return make_plan(job.graph, signature, job.topology, test::AllKernels(), options);
}

std::vector<Reason> transfers(const PlanResult& result) {
  std::vector<Reason> all;
  std::copy_if(result.reasons.begin(), result.reasons.end(), std::back_inserter(all),
               [](const Reason& reason) { return reason.transfer; });
  return all;
}

/// What a transfer moves where, without the reason why.
std::string movement(const Reason& reason) {
  const std::string& text = reason.text;
  return reason.subject + " " + text.substr(0, std::min(text.find(", because"), text.find(", which is")));
}

OpId op_of(const Graph& graph, std::string_view subject) {
  const std::string_view name = subject.substr(0, subject.find(':'));
  OpId id = 0;
  while (graph.op(id).name() != name) ++id;
  return id;
}

/// The value that drop_identities may put in the place of this one.
ValueId without_identities(const Graph& graph, ValueId value) {
  const Op op = graph.op(graph.producer(value));
  const bool may_be_dropped = op.def().same != nullptr || op.def().is(kView);
  if (!may_be_dropped || graph.type(op.inputs()[0]) != graph.type(value)) return value;
  return without_identities(graph, op.inputs()[0]);
}

/// Whether merge may make one of the ops, if they are on the same devices: they have the same inputs, or equal
/// constants.
bool equal(const Op& a, const Op& b) {
  if (a.def().is(kRandom) || a.def().is(kStateful) || &a.def() != &b.def()) return false;
  if (a.inputs().size() != b.inputs().size() || !a.attrs().same(b.attrs())) return false;
  const Graph& graph = a.graph();
  bool shared = false;
  for (std::size_t i = 0; i < a.inputs().size(); ++i) {
    const ValueId x = without_identities(graph, a.inputs()[i]), y = without_identities(graph, b.inputs()[i]);
    const Tensor *const left = graph.constant_value(x), *const right = graph.constant_value(y);
    if (x != y && (left == nullptr || right == nullptr || !left->same_bits(*right))) return false;
    shared = shared || x == y || left == nullptr;
  }
  return shared;
}

/// Adds the ops that may be merged with one of these.
void add_equal(const Graph& graph, std::set<OpId>& ops) {
  for (OpId id = 0; id < graph.size(); ++id)
    for (OpId other = 0; other < id; ++other)
      if (ops.contains(id) != ops.contains(other) && equal(graph.op(id), graph.op(other))) ops.insert({id, other});
}

/// The ops whose layout or device may depend on the annotation of `start`, transitively: those that use a dependent
/// op's values, those that make its inputs without having layouts (and, if `places` may change, a device) of their
/// own, and equal ops, which may be computed once.
std::set<OpId> dependents(const Graph& graph, OpId start, bool places) {
  std::set<OpId> found{start};
  for (std::size_t before = 0; before != found.size();) {
    before = found.size();
    for (OpId id = 0; id < graph.size(); ++id)
      for (ValueId input : graph.op(id).inputs()) {
        const OpId producer = graph.producer(input);
        if (found.contains(producer)) found.insert(id);
        const Annotation& own = graph.op(producer).annotation();
        const bool free = own.layouts.empty() && (!places || own.device.empty());
        if (found.contains(id) && free) found.insert(producer);
      }
    add_equal(graph, found);
  }
  return found;
}

/// The transfers whose value neither comes from one of `ops` nor goes to one.
std::multiset<std::string> apart_from(const Graph& graph, const std::set<OpId>& ops,
                                      const std::vector<Reason>& reasons) {
  std::set<OpId> near = ops;
  for (OpId user : ops)
    for (ValueId input : graph.op(user).inputs()) {
      near.insert(graph.producer(input));
      near.insert(graph.producer(without_identities(graph, input)));
    }
  add_equal(graph, near);
  std::multiset<std::string> apart;
  for (const Reason& reason : reasons)
    if (!near.contains(op_of(graph, reason.subject))) apart.insert(reason.subject + " " + reason.text);
  return apart;
}

/// The plan's transfers when the op's layouts, or its whole annotation, are removed.
std::vector<Reason> transfers_without(const Job& job, OpId op, bool only_layouts) {
  const Annotation kept = job.graph.op(op).annotation();
  Annotation less;
  if (only_layouts) {
    less = kept;
    less.layouts.clear();
  }
  job.graph.annotate(op, less);
  const std::vector<Reason> after = transfers(planned(job));
  job.graph.annotate(op, kept);
  return after;
}

struct Seen {
  int cited = 0;  ///< transfers that cite an annotation
  int moved = 0;  ///< of them, those that are not made once it is deleted
  int apart = 0;  ///< transfers that do not depend on a deleted annotation
};

/// Deletes each cited annotation, one at a time: no reason may then cite it, and transfers apart from it must not
/// change.
Seen delete_each(const Job& job) {
  const std::vector<Reason> before = transfers(planned(job));
  std::set<std::pair<std::string, bool>> constraints;
  for (const Reason& reason : before)
    if (!reason.constraint.empty()) constraints.emplace(reason.constraint, reason.of_layout);
  Seen seen;
  for (const auto& constraint : constraints) {
    const auto& name = constraint.first;
    const bool of_layout = constraint.second;
    CAPTURE(name);
    const OpId op = op_of(job.graph, name);
    const std::vector<Reason> after = transfers_without(job, op, of_layout);
    std::set<std::string> left;
    for (const Reason& reason : after) left.insert(movement(reason));
    for (const Reason& reason : after) {
      const bool still = reason.constraint == name && reason.of_layout == of_layout;
      CHECK_MESSAGE(!still, reason.text);
    }
    for (const Reason& reason : before) {
      if (reason.constraint != name || reason.of_layout != of_layout) continue;
      ++seen.cited;
      seen.moved += left.contains(movement(reason)) ? 0 : 1;
    }
    const std::set<OpId> related = dependents(job.graph, op, !of_layout);
    const auto kept = apart_from(job.graph, related, before);
    CHECK(kept == apart_from(job.graph, related, after));
    seen.apart += static_cast<int>(kept.size());
  }
  return seen;
}

/// Checks that every transfer cites an annotation and is not made without it, and that some transfers do not depend on
/// it.
void check_all_necessary(const Job& job) {
  const std::vector<Reason> all = transfers(planned(job));
  const Seen seen = delete_each(job);
  CHECK(seen.cited == static_cast<int>(all.size()));
  CHECK(seen.moved == seen.cited);
  CHECK(seen.apart > 0);
}

TEST_CASE("explain: messages of a sum over three tasks go back to the tasks' annotations") {
  Graph g;
  const Value a = g.constant({1, 2, 3}, on("/task:0")).named("a");
  const Value b = g.constant({10, 20, 30}, on("/task:1")).named("b");
  const Value d = g.constant({100, 200, 300}, on("/task:1")).named("d");
  Value c;
  {
    const auto there = g.device("/task:2");
    c = (a + b).named("c");
  }
  const Job job{g, Topology::local(3), {c, d}, {}};
  const std::vector<Reason> all = transfers(planned(job));
  REQUIRE(all.size() == 4);
  for (const Reason& reason : all) CHECK(reason.constraint == (reason.subject == "d" ? "d" : "c"));
  check_all_necessary(job);
}

/// The test case trains two models that have nothing in common.
TEST_CASE("explain: collectives of a data-parallel step go back to the split of the batch") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  Values fetches, targets;
  for (const std::string model : {"left", "right"}) {
    const auto here = g.name(model);
    const Value x = uniform(g, {12, 4}, -1, 1).laid({split(0)}).named("x");
    const Value w = g.variable("w", normal(g, {4, 4}, 0, 1));
    const Value loss = mean(square(matmul(x, w)));
    fetches.push_back(loss);
    for (const Value& update : sgd(loss, {w}, 0.1)) targets.push_back(update);
  }
  const Job job{g, Topology::local(4), fetches, targets};
  const std::vector<Reason> reasons = transfers(planned(job));
  REQUIRE(reasons.size() == 4);
  for (const Reason& reason : reasons) CHECK(reason.constraint == (reason.subject[0] == 'l' ? "left/x" : "right/x"));
  check_all_necessary(job);
}

TEST_CASE("explain names the sums that share a message, with their lines") {
  Graph g;
  const auto all = g.on(g.mesh("dp"));
  const Value x = uniform(g, {8, 6}, -1, 1).laid({split(0)});
  Values fetches;
  for (const std::string name : {"a", "b", "c", "d", "e"})
    fetches.push_back(identity(sum(x * static_cast<double>(name[0]), {0}).named(name)).laid({replicated()}));
  const int line = __LINE__ - 1;
  const PlanResult shared = planned({g, Topology::local(2), fetches, {}});
  const std::string at = " at " + std::string(__FILE__) + ":" + std::to_string(line);
  CHECK(explain(shared, "b").find("in one message with a" + at + ", c" + at + ", d" + at + " and 1 more\n") !=
        std::string::npos);
  PlanOptions alone;
  alone.bucket_bytes = 0;
  CHECK(explain(planned({g, Topology::local(2), fetches, {}}, alone)).find("in one message") == std::string::npos);
}

TEST_CASE("explain: a feed is scattered because of another value's annotation") {
  Graph g;
  Value x, labels, apart, loss;
  {
    const auto all = g.on(g.mesh("dp"));
    x = g.input("x", DType::float32, {12, 4}).laid({split(0)});
    labels = g.input("labels", DType::float32, {12, 4});
    const Value ready = tanh(labels);
    loss = sum(square(x - ready));
  }
  const Value one = g.constant({1, 2}), other = g.constant({3, 4});
  {
    const auto there = g.device("/task:1");
    apart = one + other;
  }
  const Job job{g, Topology::local(4), {loss, apart}, {}, {{x.id(), {12, 4}}, {labels.id(), {12, 4}}}};
  std::map<std::string, std::string> cited;
  for (const Reason& reason : transfers(planned(job))) cited[reason.subject] = reason.constraint;
  CHECK(cited.at("labels") == "x");
  check_all_necessary(job);
}

TEST_CASE("explain: collectives on two axes go back to the annotation of their own axis") {
  Graph g;
  const auto all = g.on(g.mesh({{"dp", Mesh::kOpen}, {"tp", 2}}));
  const Value x = uniform(g, {8, 6}, -1, 1).laid({split(0), replicated()}).named("x");
  const Value up = g.variable("up", normal(g, {6, 8}, 0, 1)).laid({replicated(), split(1)});
  const Value down = g.variable("down", normal(g, {8, 6}, 0, 1)).laid({replicated(), split(0)});
  const Value loss = mean(square(matmul(tanh(matmul(x, up)), down) - x));
  const Values updates = sgd(loss, {up, down}, 0.1);
  const Job job{g, Topology::local(4), {loss}, {updates.begin(), updates.end()}};
  std::multiset<std::string> cited;
  for (const Reason& reason : transfers(planned(job))) cited.insert(reason.constraint);
  CHECK(cited == std::multiset<std::string>{"up", "x", "x", "x"});
  CHECK(delete_each(job).moved == 3);  // without `up`, the sum that cited it cites `down`
}

TEST_CASE("explain says why windows of a gathered value have no halos") {
  Graph g;
  auto here = g.on(g.mesh({{"a", 2}, {"b", 2}}, "/task:*"));
  const Value x = g.variable("x", g.constant(Tensor(DType::float32, {1, 1, 64, 64}))).laid({split(2), split(2)});
  const Value y = max_pool2d(x, {3, 3}, {});
  std::string texts;
  for (const Reason& reason : transfers(planned({g, Topology::local(4), {y}, {}}))) texts += reason.text + "\n";
  CAPTURE(texts);
  CHECK(test::has(texts, "all_gather over 2 tasks"));
  CHECK(test::has(texts, "; no halos, for two axes split dim 2"));
}

TEST_CASE("explain: on random graphs a deleted annotation changes only what depends on it") {
  Seen all;
  const auto add = [&all](const Seen& seen) {
    all.cited += seen.cited;
    all.moved += seen.moved;
    all.apart += seen.apart;
  };
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const test::RandomGraph made = test::random_graph(seed, 10 + static_cast<int>(seed % 40), 4);
    add(delete_each({*made.graph, Topology::local(4), made.fetches, made.targets, test::feeds_of(made)}));
    const test::RandomMeshGraph mesh = test::random_mesh_graph(seed, {.ops = 12, .tasks = 4, .control = false});
    add(delete_each({*mesh.graph, mesh.topology, mesh.fetches, mesh.targets}));
  }
  MESSAGE(all.cited, " transfers cite an annotation, ", all.moved, " are not made without it; ", all.apart, " apart");
  CHECK(all.moved * 2 > all.cited);
  CHECK(all.apart * 2 > all.cited);
}

TEST_CASE("explain has one reason for each op and each transfer") {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    CAPTURE(seed);
    const test::RandomMeshGraph made = test::random_mesh_graph(seed, {.ops = 12, .tasks = 4, .control = false});
    const PlanResult result = planned({*made.graph, made.topology, made.fetches, made.targets});
    const Plan& plan = result.plan;
    std::map<std::string, int> ops, moved;
    std::map<std::uint32_t, int> messages;
    std::size_t channels = 0;
    for (const Reason& reason : result.reasons) {
      CHECK(reason.line.known());
      ++(reason.transfer ? moved : ops)[reason.subject];
      if (reason.message > 0) ++messages[reason.message];
      channels += reason.transfer && reason.text.starts_with("transfer from") ? 1 : 0;
    }
    for (const auto& op : ops) CHECK_MESSAGE(op.second == 1, op.first);
    for (const PlanClass& role : plan.classes)
      for (const Instruction& instruction : role.instructions)
        if (instruction.what == Opcode::kernel) CHECK(ops.contains(std::string(plan.string(instruction.name))));
    CHECK(channels == plan.channels.size());
    for (const auto& message : messages) CHECK(message.second > 1);
    for (const Collective& collective : plan.collectives) {
      const std::string_view name = plan.string(collective.name);  // the name of a bucket is like "a and 2 more"
      CHECK_MESSAGE(moved.contains(std::string(name.substr(0, name.find(" and ")))), name);
    }
  }
}

}  // namespace
}  // namespace ferry
