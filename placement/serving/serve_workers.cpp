#include "placement/serving/serve_workers.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "base/text.hpp"
#include "ops/control/comm.hpp"
#include "placement/program/replacements.hpp"

namespace ferry {
namespace {

/// A value that goes from a worker to a server, or from a server to its workers.
struct Crossing {
  NodeId node = 0;
  PValueId from = 0, to = 0;
};

/// A task with variables that are updated asynchronously.
struct Server {
  std::int32_t task = 0;
  std::int64_t staleness = 0;
  std::vector<std::int32_t> workers;  ///< ascending
  std::vector<NodeId> marks;          ///< Asynchronous nodes
  /// Its nodes, in the region's order, except variables and nodes that exist before the turns.
  std::vector<NodeId> nodes;
  std::set<NodeId> own;                ///< the nodes of `nodes`, as a set
  std::vector<Crossing> gives;         ///< values that the server sends to its workers
  std::map<PValueId, Crossing> takes;  ///< values that workers send, by the value that the server gets
  /// For values that are used after the turns: copies of each worker's latest value. The next value may arrive
  /// meanwhile.
  std::map<PValueId, std::vector<PValueId>> parts;
  std::set<NodeId> rest;          ///< nodes that belong to no turn
  std::set<PValueId> rest_takes;  ///< the values of `takes` that nodes of `rest` read
};

class ServingPass {
 public:
  explicit ServingPass(Program& program) : program_(program), region_(program.regions[0].order) {}

  void run() {
    find_servers();
    if (servers_.empty() || !find_workers()) return;
    for (const NodeId id : region_) classify_node(id);
    for (ProgramRegionId region = 1; region < program_.regions.size(); ++region)
      for (const NodeId id : program_.regions[region].order) check_nested(id);
    region_ = {};
    for (const NodeId id : first_) emit(id);
    for (Server& server : servers_) add_give_turns(server);
    for (const NodeId id : others_) emit(id);
    for (Server& server : servers_) add_take_turns(server);
    for (Server& server : servers_) finish(server);
    program_.regions[0].order = std::move(region_);
  }

 private:
  using Clones = std::map<PValueId, PValueId>;

  [[noreturn]] void fail(NodeId id, const std::string& what, const std::string& hint) const {
    const Node& node = program_.nodes[id];
    throw Error(Code::plan, "asynchronous updates: " + what).at(program_.line(node)).hint(hint);
  }
  [[nodiscard]] std::string named(NodeId id) const { return "'" + program_.name(program_.nodes[id]) + "'"; }

  // ---- Who serves, and whom ----

  [[nodiscard]] bool is_mark(NodeId id) const {
    const Node& node = program_.nodes[id];
    return node.def != nullptr && node.def->is(kAsynchronous);
  }

  void find_servers() {
    for (const NodeId id : region_) {
      if (!is_mark(id)) continue;
      const Node& node = program_.nodes[id];
      const NodeId assignment = program_.values[program_.inputs(node)[0]].producer;
      if (program_.nodes[assignment].kind != NodeKind::assign)
        fail(id, named(id) + " is of " + named(assignment) + ", which is no assignment",
             "call asynchronous() with what an optimizer or assign() gives");
      const Where& where = program_.where(node);
      if (where.tasks.size() != 1)
        fail(id, "the variable of " + named(id) + " is on " + where.str() + ", not on one device",
             "give each variable a device: /job:ps/task:0");
      if (where.kind != DeviceKind::cpu)
        fail(id, "the variable of " + named(id) + " is on " + where.str() + ", not on a CPU",
             "annotate the servers with /cpu:0: /job:ps/task:0/cpu:0");
      Server& server = server_on(where.tasks[0]);
      const auto staleness = node.attrs->get<std::int64_t>("staleness");
      server.staleness = server.marks.empty() ? staleness : std::min(server.staleness, staleness);
      server.marks.push_back(id);
      allowed_[assignment] = node.attrs;
    }
  }

  Server& server_on(std::int32_t task) {
    for (Server& server : servers_)
      if (server.task == task) return server;
    servers_.emplace_back().task = task;
    return servers_.back();
  }
  [[nodiscard]] Server* server_at(std::int32_t task) {
    const auto found = std::ranges::find(servers_, task, &Server::task);
    return found == servers_.end() ? nullptr : &*found;
  }
  [[nodiscard]] bool is_server(std::int32_t task) const {
    return std::ranges::find(servers_, task, &Server::task) != servers_.end();
  }

  /// Makes workers of all tasks that have nodes, except servers. Returns false if there are no workers.
  bool find_workers() {
    std::set<std::int32_t> workers;
    for (const ProgramRegion& region : program_.regions)
      for (const NodeId id : region.order)
        if (const Node& node = program_.nodes[id]; node.where != kNone)
          for (const std::int32_t task : program_.where(node).tasks)
            if (!is_server(task)) workers.insert(task);
    for (Server& server : servers_) server.workers.assign(workers.begin(), workers.end());
    return !workers.empty();
  }

  [[nodiscard]] static bool is_message(const Node& node) {
    return node.kind == NodeKind::transfer || node.kind == NodeKind::collective;
  }
  /// The tasks that have the value that the message sends.
  [[nodiscard]] const std::vector<std::int32_t>& senders(const Node& message) const {
    return program_.wheres[program_.values[program_.inputs(message)[0]].where].tasks;
  }
  [[nodiscard]] bool is_worker(std::int32_t task) const {
    return std::binary_search(servers_[0].workers.begin(), servers_[0].workers.end(), task);
  }
  [[nodiscard]] bool are_workers(const std::vector<std::int32_t>& tasks) const {
    return std::all_of(tasks.begin(), tasks.end(), [&](std::int32_t task) { return is_worker(task); });
  }

  /// Finds whether the node is work of a server, work of workers, or a message between them.
  void classify_node(NodeId id) {
    const Node& node = program_.nodes[id];
    if (is_message(node)) return classify_message(id);
    if (node.kind == NodeKind::loop || node.kind == NodeKind::branch) {
      if (has_server(node))
        fail(id, named(id) + " runs on a server, or reads a value there in each of its turns",
             "keep loops and branches on the workers, and let them read identity(w), made there before");
      return others_.push_back(id);
    }
    if (node.where == kNone) return others_.push_back(id);
    const std::vector<std::int32_t>& tasks = program_.where(node).tasks;
    Server* const server = server_at(tasks[0]);
    if (tasks.size() > 1 && !are_workers(tasks))
      fail(id, named(id) + " is computed by servers and workers together", "give workers a mesh of their own");
    if (server == nullptr || tasks.size() > 1) return others_.push_back(id);
    const bool leaf = node.once || node.kind == NodeKind::variable || node.kind == NodeKind::feed;
    if (leaf)
      first_.push_back(id);
    else
      server->nodes.push_back(id), server->own.insert(id);
    if (program_.where(node).kind != DeviceKind::cpu)
      fail(id, named(id) + " is on " + program_.where(node).str() + ", not on a CPU",
           "annotate what a server does with /cpu:0: /job:ps/task:" + std::to_string(server->task) + "/cpu:0");
  }

  [[nodiscard]] bool has_server(const Node& control) {
    for (const ProgramRegionId region : {control.detail, control.detail + 1})
      for (const NodeId id : program_.regions[region].order) {
        const Node& node = program_.nodes[id];
        if ((node.kind == NodeKind::loop || node.kind == NodeKind::branch) && has_server(node)) return true;
        if (node.where == kNone) continue;
        const auto& tasks = program_.where(node).tasks;
        if (std::ranges::any_of(tasks, [&](std::int32_t task) { return is_server(task); })) return true;
      }
    return false;
  }

  void check_nested(NodeId id) {
    if (is_mark(id)) fail(id, named(id) + " is in a loop or branch", "assign what comes out of it");
    const Node& node = program_.nodes[id];
    if (is_message(node) && (senders(node).size() > 1 || senders(node) != program_.where(node).tasks)) refuse(id);
  }

  [[noreturn]] void refuse(NodeId id) const {
    const Node& node = program_.nodes[id];
    const Where &from = program_.wheres[program_.values[program_.inputs(node)[0]].where], &to = program_.where(node);
    const auto serves = [&](const Where& where) { return where.tasks.size() == 1 && is_server(where.tasks[0]); };
    if (serves(from) && serves(to))
      fail(
          id,
          named(id) + " goes from " + from.str() + " to " + to.str() + ", so that one server would wait for another",
          "give an optimizer the variables of one server at a time: some have a variable for all, such as adam's count "
          "of steps");
    const std::string in_each = " in each step, so that no worker could be ahead of another";
    if (are_workers(from.tasks) && are_workers(to.tasks))
      fail(id,
           named(id) + " is needed by " + reader_of(id) +
               " on all workers, and they have parts of it:" + " they would exchange them" + in_each,
           "let a server compute what needs sums over workers, within g.device(\"/job:ps/task:0/cpu:0\"): there they "
           "are added up; decay weights in the gradients (weight_decay), not in the loss");
    fail(id, named(id) + " goes from " + from.str() + " to " + to.str() + in_each,
         "a worker may get values from a server, whole, and give it values and sums over the workers. Fetches go to "
         "task "
         "0: let that be a server (--jobs ps=0,worker=1-2), or fetch to task " +
             std::to_string(servers_[0].task) + " (--fetch-to)");
  }

  /// Names the first node that reads the node's value.
  [[nodiscard]] std::string reader_of(NodeId id) const {
    for (const Node& node : program_.nodes)
      if (std::ranges::find(program_.inputs(node), PValueId(program_.nodes[id].outputs[0])) !=
          program_.inputs(node).end())
        return "'" + program_.name(node) + "'" +
               (program_.line(node).known() ? " at " + program_.line(node).str() : std::string());
    return "others";
  }

  void classify_message(NodeId id) {
    const Node& node = program_.nodes[id];
    const std::vector<std::int32_t>&from = senders(node), &to = program_.where(node).tasks;
    const Crossing crossing{id, program_.inputs(node)[0], node.outputs[0]};
    Server* const giver = from.size() == 1 ? server_at(from[0]) : nullptr;
    Server* const taker = to.size() == 1 ? server_at(to[0]) : nullptr;
    const bool whole =
        node.kind == NodeKind::transfer || program_.collectives[node.detail].kind == CollectiveKind::broadcast;
    const bool sum = node.kind == NodeKind::collective &&
                     program_.collectives[node.detail].kind == CollectiveKind::reduce &&
                     program_.collectives[node.detail].reduce == Reduce::sum;
    const bool bounded = program_.values[crossing.to].type.shape.bounded();
    if (giver != nullptr && whole && are_workers(to) && !bounded) {
      giver->gives.push_back(crossing);
      others_.push_back(id);
    } else if (taker != nullptr && (sum || node.kind == NodeKind::transfer) && are_workers(from) && !bounded) {
      taker->takes.emplace(crossing.to, crossing);
    } else {
      refuse(id);
    }
  }

  // ---- Nodes ----

  void emit(NodeId id) { region_.push_back(id); }

  [[nodiscard]] std::uint32_t serving(const Server& server) const {
    return static_cast<std::uint32_t>(&server - servers_.data());
  }

  Node make_move_node(NodeKind kind, PValueId value, WhereId where) const {
    Node node;
    node.kind = kind;
    node.graph = program_.values[value].graph;
    node.op = node.graph->producer(program_.values[value].value);
    node.where = where;
    return node;
  }

  /// Adds a node that gives `value` on the devices `where`.
  PValueId add_move(NodeKind kind, PValueId value, WhereId where, const ProgramTurn& turn = {}) {
    const PValue from = program_.values[value];
    const NodeId id = program_.add(make_move_node(kind, value, where), {&value, 1}, {&from.type, 1});
    const PValueId result = program_.nodes[id].outputs[0];
    program_.values[result].value = from.value;
    program_.values[result].where = where;
    if (!program_.wheres[where].single()) program_.values[result].layout = from.layout;
    record_turn(id, turn);
    emit(id);
    return result;
  }

  void record_turn(NodeId id, const ProgramTurn& turn) {
    if (turn.serving != kNone) program_.turns[id] = turn;
  }

  /// Adds a copy of a node with clones in place of its inputs.
  void clone(NodeId id, Clones& clones, const ProgramTurn& turn) {
    const Node node = program_.nodes[id];
    std::vector<PValueId> inputs;
    for (const PValueId input : program_.inputs(node)) inputs.push_back(latest(clones, input));
    std::vector<Type> types;
    for (const PValueId output : node.outputs) types.push_back(program_.values[output].type);
    const NodeId copy = program_.add(node, inputs, types);
    if (const auto attrs = allowed_.find(id); attrs != allowed_.end()) program_.nodes[copy].attrs = attrs->second;
    for (std::uint32_t k = 0; k < node.outputs.count; ++k) {
      const PValueId to = program_.nodes[copy].outputs[k];
      program_.values[to] = program_.values[node.outputs[k]];
      program_.values[to].producer = copy;
      clones[node.outputs[k]] = to;
    }
    record_turn(copy, turn);
    emit(copy);
  }

  [[nodiscard]] static PValueId latest(const Clones& clones, PValueId value) {
    const auto found = clones.find(value);
    return found == clones.end() ? value : found->second;
  }

  /// Adds to `made_by` the server's nodes that compute the value from variables, values made once, and values from
  /// workers. Calls on_taken for each value from workers.
  template <class OnTaken>
  void collect(const Server& server, PValueId value, std::set<NodeId>& made_by, const OnTaken& on_taken) const {
    if (server.takes.contains(value)) return on_taken(value);
    const NodeId id = program_.values[value].producer;
    if (!server.own.contains(id) || !made_by.insert(id).second) return;
    const Node& node = program_.nodes[id];
    const auto inputs = program_.inputs(node);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (!is_unread(program_, node, i)) collect(server, inputs[i], made_by, on_taken);
  }

  /// Changes the reason that `ferry explain` prints for the message.
  void set_reason(const Server& server, const Crossing& crossing, std::string_view how) {
    const auto reason = program_.reason_of.find(crossing.node);
    if (reason == program_.reason_of.end()) return;
    std::string& text = program_.reasons[reason->second].text;
    text.replace(0, text.find(", "),
                 std::string(how) + " each of " + plural(server.workers.size(), "worker") + " in its turn");
  }

  // ---- Turns ----

  /// For each worker: computes the worker's inputs from the current values of the server's variables, and sends them.
  void add_give_turns(Server& server) {
    std::set<NodeId> made_by;
    for (const Crossing& c : server.gives)
      collect(server, c.from, made_by, [&](PValueId) {
        fail(c.node, "workers get " + named(c.node) + " of the values that they send to the server in the same step",
             "make it from variables alone");
      });
    std::map<NodeId, std::vector<PValueId>> arrived;
    for (std::uint32_t w = 0; w < server.workers.size(); ++w) {
      const std::int32_t worker = server.workers[w];
      const ProgramTurn turn{serving(server), w, false};
      Clones clones;
      for (const NodeId id : server.nodes)
        if (made_by.contains(id)) clone(id, clones, turn);
      std::map<PValueId, PValueId> kept;
      for (const Crossing& c : server.gives) {
        if (!program_.where(program_.nodes[c.node]).has(worker)) continue;
        const auto [at, fresh] = kept.try_emplace(c.from);
        if (fresh) at->second = copy_if_variable(latest(clones, c.from), turn);
        arrived[c.node].push_back(add_move(NodeKind::transfer, at->second, program_.single(worker), turn));
      }
    }
    for (const Crossing& c : server.gives) {
      set_reason(server, c, "given to");
      replace_message(c.node, NodeKind::copy, arrived[c.node]);
    }
    program_.servings.push_back({server.task, server.staleness, server.workers});
  }

  /// The value, or a copy if it is a variable, because other turns may change the variable while it is sent.
  PValueId copy_if_variable(PValueId value, const ProgramTurn& turn) {
    const Node& maker = program_.nodes[program_.values[program_.stored(value)].producer];
    return maker.kind == NodeKind::variable ? add_move(NodeKind::copy, value, program_.values[value].where, turn)
                                            : value;
  }

  /// Throws Error(plan) if the worker sends the server nothing, because a server waits in each take turn for values of
  /// the worker.
  void require_messages_from(const Server& server, std::int32_t worker, const std::set<PValueId>& taken) const {
    const auto gives = [&](PValueId value) {
      const std::vector<std::int32_t>& from = senders(program_.nodes[server.takes.at(value).node]);
      return std::ranges::find(from, worker) != from.end();
    };
    if (std::ranges::any_of(taken, gives)) return;
    fail(server.marks[0],
         "task " + std::to_string(worker) + " takes part in the step, but gives the server on task " +
             std::to_string(server.task) + " nothing",
         "let all tasks but the servers be workers, on the mesh over which the loss is laid out");
  }

  /// For each worker: receives its part of the gradients, and makes the updates with this part.
  void add_take_turns(Server& server) {
    std::set<NodeId> updates;
    std::set<PValueId> taken;
    for (const NodeId mark : server.marks)
      collect(server, program_.inputs(program_.nodes[mark])[0], updates, [&](PValueId value) { taken.insert(value); });
    for (const PValueId value : taken) require_of_all(server, server.takes.at(value));
    find_rest(server, updates);
    taken.insert(server.rest_takes.begin(), server.rest_takes.end());
    for (const PValueId value : taken) set_reason(server, server.takes.at(value), "taken from");
    for (std::uint32_t w = 0; w < server.workers.size(); ++w) {
      require_messages_from(server, server.workers[w], taken);
      const ProgramTurn turn{serving(server), w, true};
      Clones clones;
      for (const PValueId value : taken) receive_part(server, w, server.takes.at(value), clones, turn);
      for (const NodeId id : server.nodes)
        if (updates.contains(id)) clone(id, clones, turn);
      for (const PValueId value : server.rest_takes)
        if (const auto part = clones.find(value); part != clones.end())
          server.parts[value].push_back(
              add_move(NodeKind::copy, part->second, program_.values[part->second].where, turn));
    }
  }

  /// Throws Error(plan) unless each worker has a part of the value, because an update needs a part of each worker.
  void require_of_all(const Server& server, const Crossing& taken) const {
    const Node& node = program_.nodes[taken.node];
    const bool of_all = senders(node) == server.workers;
    if (of_all && (node.kind == NodeKind::collective || server.workers.size() == 1)) return;
    fail(taken.node,
         "an update is made from " + named(taken.node) + " of " +
             program_.wheres[program_.values[taken.from].where].str() +
             (of_all ? ", which each worker has whole: it is no sum over them"
                     : ", not of each of the " + std::to_string(server.workers.size()) + " workers"),
         of_all
             ? "lay the batch out over the workers, x.laid({split(0)}); what else an update needs, such as a rate, is "
               "to be made within the scope of its variable's device"
             : "lay the loss out over a mesh of all workers: g.mesh(\"workers\", \"/job:worker/task:*\")");
  }

  void receive_part(Server& server, std::uint32_t w, const Crossing& taken, Clones& clones, const ProgramTurn& turn) {
    const std::int32_t worker = server.workers[w];
    const Node node = program_.nodes[taken.node];
    if (!program_.wheres[program_.values[taken.from].where].has(worker)) return;
    const bool first = senders(node)[0] == worker;
    if (node.kind == NodeKind::transfer && !first) return;  // only the first of the tasks that have the value sends it
    const Where& from = program_.wheres[program_.values[taken.from].where];
    const PValueId given = add_move(NodeKind::copy, taken.from, program_.single(worker, from.kind, from.index));
    const PValueId part = add_move(NodeKind::transfer, given, node.where, turn);
    program_.values[part].layout = program_.values[taken.to].layout;
    clones[taken.to] = part;
  }

  // ---- After the turns ----

  /// Finds the work of the server that is not an update, and the values that this work needs.
  void find_rest(Server& server, const std::set<NodeId>& updates) const {
    for (const NodeId id : server.nodes) {
      const Node& node = program_.nodes[id];
      const bool asked = node.kind == NodeKind::fetch || node.kind == NodeKind::assign ||
                         (node.kind == NodeKind::compute && !is_mark(id) &&
                          (node.def->is(kStateful) || node.def->is(kEffect) || is_target(program_, node)));
      if (!asked || updates.contains(id) || !server.rest.insert(id).second) continue;
      for (const PValueId input : program_.inputs(node))
        collect(server, input, server.rest, [&](PValueId value) {
          if (node.kind == NodeKind::assign)
            fail(id, named(id) + " is made from what workers give, but is not asynchronous",
                 "give all updates that depend on the workers to asynchronous()");
          server.rest_takes.insert(value);
        });
    }
    for (const NodeId id : server.rest)
      if (program_.nodes[id].kind == NodeKind::assign && updates.contains(id))
        fail(id, "the new value of " + named(id) + " is used for something else",
             "use or fetch the variable: after the step it has the new value");
  }

  void finish(const Server& server) {
    for (const PValueId value : server.rest_takes) add_up(server.takes.at(value).node, server.parts.at(value));
    for (const NodeId id : server.nodes)
      if (server.rest.contains(id)) emit(id);
  }

  /// Replaces the message that brought a sum of workers' values by an op that adds the workers' parts.
  void add_up(NodeId id, const std::vector<PValueId>& parts) {
    replace_message(id, NodeKind::compute, parts);
    program_.added_attrs.emplace_back();
    program_.nodes[id].def = &kAddUp;
    program_.nodes[id].attrs = &program_.added_attrs.back();
    emit(id);
  }

  /// Replaces a message by a node of another kind that computes the same value from `inputs`.
  void replace_message(NodeId id, NodeKind kind, const std::vector<PValueId>& inputs) {
    const auto first = static_cast<std::uint32_t>(program_.operands.size());
    program_.operands.insert(program_.operands.end(), inputs.begin(), inputs.end());
    Node& node = program_.nodes[id];
    node.kind = kind;
    node.detail = kNone;
    node.first_input = first;
    node.inputs = static_cast<std::uint32_t>(inputs.size());
  }

  Program& program_;
  std::vector<NodeId> region_;  // the region's order: first the old one, then the new one
  std::vector<Server> servers_;
  std::vector<NodeId> first_, others_;      // leaves of servers; work of workers, and messages to workers
  std::map<NodeId, const Attrs*> allowed_;  // for each assignment: attributes with its staleness
};

}  // namespace

void serve_workers(Program& program) {
  ServingPass(program).run();
}

}  // namespace ferry
