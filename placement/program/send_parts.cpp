#include "placement/program/send_parts.hpp"

#include <algorithm>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "placement/program/replacements.hpp"
#include "placement/program/users.hpp"

namespace ferry {
namespace {

class PartSender {
 public:
  explicit PartSender(Program& program)
      : program_(program),
        users_(program),
        replacements_(program),
        is_result_(region_results(program)),
        selects_(program.nodes.size()),
        before_(program.nodes.size(), kNone),
        bytes_to_send_(program.values.size()) {}

  void run() {
    for (ProgramRegion& region : program_.regions) {
      in_body_ = &region != program_.regions.data();
      for (std::size_t i = region.order.size(); i > 0; --i) measure(region.order[i - 1]);
      bool any = false;
      for (const NodeId id : region.order) any = move_readers(id) || any;
      if (any) reorder(region);
    }
  }

 private:
  /// Finds whether the node may move, and the bytes of its output that its old device would then receive.
  void measure(NodeId id) {
    const Node& node = program_.nodes[id];
    selects_[id] = selects(node);
    if (!selects_[id]) return;
    for (const PValueId output : node.outputs) bytes_to_send_[output] = bytes_read_on(node.where, output);
  }

  /// Whether the op gives elements of its input 0, and may do this on another device.
  [[nodiscard]] bool selects(const Node& node) const {
    if (node.inputs == 0 || node.where == kNone || !program_.where(node).single() || !is_pure(node)) return false;
    if (is_target(program_, node) || !program_.annotation_layouts(node).empty()) return false;
    const auto inputs = program_.inputs(node);
    const Type& from = program_.values[inputs[0]].type;
    if (from.shape.bounded() || (node.def->flags & (kView | kMoves)) == 0) return false;
    for (const PValueId output : node.outputs) {
      const Type& type = program_.values[output].type;
      const bool rounds = node.def->is(kMoves) && type.dtype != from.dtype;
      if (rounds || type.shape.bounded() || is_result_[output]) return false;
    }
    for (std::size_t i = 1; i < inputs.size(); ++i)
      if (!is_unread(program_, node, i) && !may_move_with(inputs[i], node)) return false;
    return true;
  }

  /// Whether the value is a constant that can move with the node.
  [[nodiscard]] bool may_move_with(PValueId value, const Node& node) const {
    const Node& producer = program_.nodes[program_.values[value].producer];
    if (producer.role() != OpRole::constant) return false;
    return producer.where == kNone ||
           (producer.where == node.where && users_[value].size() == 1 && !is_target(program_, producer));
  }

  /// The bytes that are read on `where`: of `value` itself, or of the results of ops on `where` that select parts of
  /// it.
  [[nodiscard]] std::int64_t bytes_read_on(WhereId where, PValueId value) const {
    const std::int32_t task = program_.wheres[where].tasks[0];
    std::int64_t bytes = 0;
    for (const NodeId user : users_[value]) {
      const WhereId at = reading_devices(user, value);
      if (at == kNone || (at != where && (program_.wheres[at].single() || !program_.wheres[at].has(task)))) continue;
      bytes += bytes_to_send(user, value, program_.wheres[where].kind);
    }
    return std::min(bytes, bytes_of(value));
  }

  /// The bytes that the user's device must get if ops that select parts run on a device of kind `kind`. These are the
  /// bytes of the value, or of the parts that the ops select.
  [[nodiscard]] std::int64_t bytes_to_send(NodeId user, PValueId value, DeviceKind kind) const {
    const Node& node = program_.nodes[user];
    const bool moves = selects_[user] && program_.inputs(node)[0] == value &&
                       (node.def->is(kView) || program_.kernels->find(node.def->name, kind) != nullptr);
    if (!moves) return bytes_of(value);
    std::int64_t bytes = 0;
    for (const PValueId output : node.outputs) bytes += bytes_to_send_[output];
    return bytes;
  }

  [[nodiscard]] std::int64_t bytes_of(PValueId value) const { return program_.values[value].type.bytes(); }

  /// The devices on which the node reads the value; kNone if the node reads only its sizes.
  [[nodiscard]] WhereId reading_devices(NodeId user, PValueId value) const {
    const Node& node = program_.nodes[user];
    if (node.kind == NodeKind::loop || node.kind == NodeKind::branch) return devices_of_parameter(node, value);
    if (node.kind != NodeKind::compute || node.def->unread == 0) return node.where;
    const auto inputs = program_.inputs(node);
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] == value && !is_unread(program_, node, i)) return node.where;
    return kNone;
  }

  /// The devices of a parameter that gets this input of the owner; the devices of the input if it is only a condition.
  [[nodiscard]] WhereId devices_of_parameter(const Node& owner, PValueId value) const {
    const auto inputs = program_.inputs(owner);
    for (const ProgramRegionId body : {owner.detail, owner.detail + 1})
      for (std::size_t i = 0; i < program_.regions[body].parameters.size(); ++i)
        if (inputs[program_.argument(owner, body, i)] == value)
          return program_.nodes[program_.values[program_.regions[body].parameters[i]].producer].where;
    return program_.nodes[program_.values[value].producer].where;
  }

  /// Moves nodes on other devices that select parts of this node's values to this node's device. Returns whether it
  /// moved any.
  bool move_readers(NodeId id) {
    const Node& node = program_.nodes[id];
    bool any = false;
    for (const PValueId output : node.outputs) any = move_readers_of(output) || any;
    return any;
  }

  bool move_readers_of(PValueId value) {
    const WhereId at = place_of(value);
    if (at == kNone || !program_.wheres[at].single() || is_result_[value]) return false;
    readers_.clear();
    for (const NodeId user : users_[value])
      if (const WhereId where = reading_devices(user, value); where != kNone && where != at)
        readers_.emplace_back(where, user);
    std::ranges::sort(readers_);
    readers_.erase(std::unique(readers_.begin(), readers_.end()), readers_.end());
    bool any = false;
    for (auto first = readers_.begin(); first != readers_.end();) {
      const auto last = std::find_if(first, readers_.end(), [&](const auto& r) { return r.first != first->first; });
      any = move_from(first->first, std::span(first, last), value, at) || any;
      first = last;
    }
    return any;
  }

  /// Moves all of the value's readers on one device to the device of the value, or none of them.
  bool move_from(WhereId from, std::span<const std::pair<WhereId, NodeId>> readers, PValueId value, WhereId at) {
    if (is_brought_anyway(at, from)) return false;
    std::int64_t bytes = 0;
    for (const auto& reader : readers) bytes += bytes_to_send(reader.second, value, program_.wheres[at].kind);
    if (bytes >= bytes_of(value)) return false;
    for (const auto& reader : readers) move(reader.second, at, bytes);
    return true;
  }

  /// Whether the value is copied from a device to the host of its task in any case, because other tasks receive it.
  /// readers_ are the readers of the value.
  [[nodiscard]] bool is_brought_anyway(WhereId at, WhereId to) const {
    const Where &device = program_.wheres[at], &host = program_.wheres[to];
    if (device.kind == DeviceKind::cpu || host.kind != DeviceKind::cpu || host.tasks != device.tasks) return false;
    return std::ranges::any_of(readers_, [&](const auto& r) { return program_.wheres[r.first].tasks != device.tasks; });
  }

  /// The devices on which reshard will put the value; kNone if they are not known yet.
  [[nodiscard]] WhereId place_of(PValueId value) const {
    const Node& node = program_.nodes[program_.values[value].producer];
    const auto output = value - node.outputs[0];
    if (node.kind == NodeKind::branch) return kNone;
    if (node.kind == NodeKind::loop) return place_of(program_.regions[node.detail + 1].parameters[output]);
    const bool goes_home = node.kind == NodeKind::feed && program_.feed_homes[node.detail] != kNone;
    return goes_home ? program_.feed_homes[node.detail] : node.where;
  }

  void move(NodeId id, WhereId to, std::int64_t bytes) {
    Node& node = program_.nodes[id];
    before_[id] = node.where;
    node.where = to;
    bool once = true;
    for (const PValueId input : program_.inputs(node)) {
      Node& producer = program_.nodes[program_.values[input].producer];
      if (producer.role() == OpRole::constant && producer.where != kNone) producer.where = to;
      once = once && producer.once;
    }
    node.once = once && !(in_body_ && may_fail(program_, node));
    if (!program_.options.reasons) return;
    const PValueId input = program_.inputs(node)[0];
    program_.causes.of_place[id] = program_.causes.of_place[program_.values[input].producer];
    replacements_.tell(id, [&] {
      return program_.wheres[to].str() + ": where its input " + program_.name(input) + " is: " + std::to_string(bytes) +
             " bytes travel, not " + std::to_string(bytes_of(input));
    });
  }

  /// Puts the moved nodes right after their inputs.
  void reorder(ProgramRegion& region) {
    std::vector<NodeId> order;
    order.reserve(region.order.size());
    placed_.resize(program_.nodes.size());
    for (const NodeId id : region.order) {
      next_.push_back(id);
      while (!next_.empty()) {
        const NodeId now = next_.back();
        next_.pop_back();
        if (placed_[now]) continue;
        placed_[now] = true;
        order.push_back(now);
        follow(now);
      }
    }
    region.order = std::move(order);
  }

  /// Schedules the moved readers of the node as the next nodes, after the constants that they read.
  void follow(NodeId id) {
    const Node& node = program_.nodes[id];
    const auto first = next_.size();
    for (const PValueId output : node.outputs)
      for (const NodeId user : users_[output]) {
        const auto inputs = program_.inputs(program_.nodes[user]);
        if (before_[user] == kNone || inputs[0] != output) continue;
        for (const PValueId input : inputs.subspan(1))
          if (const NodeId maker = program_.values[input].producer; program_.nodes[maker].role() == OpRole::constant)
            next_.push_back(maker);
        next_.push_back(user);
      }
    std::reverse(next_.begin() + static_cast<std::ptrdiff_t>(first), next_.end());
  }

  Program& program_;
  const Users users_;
  Replacements replacements_;  // only for the reasons
  bool in_body_ = false;       // whether the region that is being rewritten is a body of a loop or branch
  std::vector<bool> is_result_;
  std::vector<bool> selects_;    // for each node
  std::vector<WhereId> before_;  // for each node: its devices before it moved; kNone: it did not move
  // For each output of a selecting op: bytes that its old device receives if the op moves.
  std::vector<std::int64_t> bytes_to_send_;
  std::vector<std::pair<WhereId, NodeId>> readers_;  // readers of a value on other devices
  std::vector<bool> placed_;                         // for each node: it is in the new order
  std::vector<NodeId> next_;                         // nodes to be placed; the last is next
};

}  // namespace

void send_parts(Program& program) {
  if (program.wheres.size() > 1) PartSender(program).run();
}

}  // namespace ferry
