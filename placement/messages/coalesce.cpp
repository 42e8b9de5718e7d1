#include "placement/messages/coalesce.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "base/planned_time.hpp"
#include "placement/layout/computing_times.hpp"
#include "placement/layout/conversion.hpp"
#include "placement/messages/regroup.hpp"
#include "placement/program/parts.hpp"

namespace ferry {
namespace {

class Coalescer {
 public:
  explicit Coalescer(Program& program)
      : program_(program),
        regroup_(program),
        latency_(latency_picoseconds(program.topology->between_hosts)),
        full_(std::llround(program.topology->between_hosts.latency_seconds *
                           program.topology->between_hosts.bytes_per_second)) {}

  void run() {
    for (ProgramRegionId region = 0; region < program_.regions.size(); ++region) coalesce(region);
    regroup_.finish();
  }

 private:
  /// A value and the transfers that send it, sorted by receiver.
  struct Parcel {
    std::vector<NodeId> transfers;
    bool alone = false;  ///< may not be joined
  };
  /// The work of a device set up to some position: picoseconds of computing, and the number of waits.
  struct Clock {
    std::int64_t computed = 0, waits = 0;
  };
  /// A joined message that is being filled; it will be sent to each receiver.
  struct Batch {
    std::vector<std::vector<NodeId>> transfers;  ///< for each value
    std::int64_t bytes = 0;
    std::size_t made = 0, used = Regroup::kNowhere;  ///< position of the last value's maker, and of the first use
    Clock begun;                                     ///< clock of the source when the first value was made
  };
  /// Values with equal keys may share a message. A key has dtype, source and receivers.
  using Key = std::tuple<DType, WhereId, std::vector<WhereId>>;

  void coalesce(ProgramRegionId region) {
    const std::vector<NodeId>& order = program_.regions[region].order;
    if (std::none_of(order.begin(), order.end(), [&](NodeId id) { return leaves_host(program_.nodes[id]); })) return;
    regroup_.begin_region(region);
    const std::map<std::size_t, std::vector<Parcel>> parcels = parcels_of(order);
    if (parcels.empty()) return;
    times_.emplace(program_);
    clocks_.assign(program_.wheres.size(), {});
    batches_.clear();
    batch_of_.clear();
    open_.clear();
    mark_senders(parcels);
    for (std::size_t at = 0; at < order.size(); ++at) {
      advance(program_.nodes[order[at]], at);
      if (const auto made = parcels.find(at); made != parcels.end())
        for (const Parcel& parcel : made->second) fill(parcel, at);
    }
    for (const Batch& batch : batches_) join(batch);
    regroup_.end_region();
  }

  // ---- What may be joined ----

  /// The parcels by the position where their values are made; parcels at one position are in the order of their first
  /// transfers.
  std::map<std::size_t, std::vector<Parcel>> parcels_of(const std::vector<NodeId>& order) const {
    std::unordered_map<PValueId, Parcel> by_value;
    std::vector<PValueId> found;
    for (const NodeId id : order) {
      const Node& node = program_.nodes[id];
      if (node.kind != NodeKind::transfer) continue;
      const PValueId stored = program_.stored(program_.inputs(node)[0]);
      Parcel& parcel = by_value[stored];
      if (parcel.transfers.empty()) found.push_back(stored);
      parcel.transfers.push_back(id);
      parcel.alone = parcel.alone || !may_join(node, stored) || regroup_.bytes_of(id) > full_;
    }
    std::map<std::size_t, std::vector<Parcel>> parcels;
    for (const PValueId stored : found) {
      Parcel& parcel = by_value[stored];
      if (!parcel.alone && sort(parcel)) parcels[made(parcel)].push_back(std::move(parcel));
    }
    return parcels;
  }

  bool leaves_host(const Node& node) const {
    if (node.kind != NodeKind::transfer) return false;
    const std::int32_t ends[] = {sender_of(program_, node), program_.where(node).tasks[0]};
    return !program_.topology->on_one_host(ends);
  }

  bool may_join(const Node& transfer, PValueId stored) const {
    const PValue& value = program_.values[stored];
    const Node& maker = program_.nodes[value.producer];
    const PValueId given = program_.inputs(transfer)[0];
    return !transfer.once && program_.wheres[value.where].single() && program_.values[given].where == value.where &&
           leaves_host(transfer) && maker.kind == NodeKind::compute && !maker.once &&
           regroup_.place(value.producer) != Regroup::kNowhere && !value.type.shape.bounded();
  }

  /// Sorts the transfers by receiver. Returns false if one receiver gets the value twice, under different shapes.
  bool sort(Parcel& parcel) const {
    const auto receiver = [&](NodeId id) { return program_.nodes[id].where; };
    auto& all = parcel.transfers;
    std::sort(all.begin(), all.end(), [&](NodeId a, NodeId b) { return receiver(a) < receiver(b); });
    return std::adjacent_find(all.begin(), all.end(), [&](NodeId a, NodeId b) { return receiver(a) == receiver(b); }) ==
           all.end();
  }

  /// The position after which the value exists in all shapes in which it is sent.
  std::size_t made(const Parcel& parcel) const {
    std::size_t at = 0;
    for (const NodeId id : parcel.transfers) at = std::max(at, regroup_.place(program_.values[given(id)].producer));
    return at;
  }

  [[nodiscard]] PValueId given(NodeId transfer) const { return program_.inputs(program_.nodes[transfer])[0]; }

  // ---- Time ----

  /// Marks the device sets that contain senders; only their clocks are needed.
  void mark_senders(const std::map<std::size_t, std::vector<Parcel>>& parcels) {
    has_sender_.assign(program_.wheres.size(), false);
    for (const auto& [made, all] : parcels)
      for (const Parcel& parcel : all)
        for (const WhereId where : wheres_of(sender_of(program_, program_.nodes[parcel.transfers[0]])))
          has_sender_[where] = true;
  }

  void advance(const Node& node, std::size_t at) {
    if (node.where == kNone || node.once || !has_sender_[node.where]) return;
    Clock& clock = clocks_[node.where];
    if (may_wait(node, at)) ++clock.waits;
    if (node.kind == NodeKind::compute) clock.computed = add_times(clock.computed, times_->of(node));
  }

  /// Whether a task may have to wait at this node for anything except its own computing.
  bool may_wait(const Node& node, std::size_t at) const {
    if (node.kind == NodeKind::loop || node.kind == NodeKind::branch) return true;
    if (node.kind != NodeKind::compute) return false;
    if (node.def->is(kEffect) || node.def->is(kStateful)) return true;
    const auto inputs = program_.inputs(node);
    return std::any_of(inputs.begin(), inputs.end(), [&](PValueId input) { return arrives(input, at); });
  }

  /// True if a message brings the value, and the value is first used at position `at`.
  bool arrives(PValueId value, std::size_t at) const {
    const NodeId maker = program_.values[program_.stored(value)].producer;
    const NodeKind kind = program_.nodes[maker].kind;
    if (kind != NodeKind::transfer && kind != NodeKind::collective) return false;
    const auto batch = batch_of_.find(maker);
    return (batch != batch_of_.end() ? batches_[batch->second].used : used(maker)) == at;
  }

  std::size_t used(NodeId message) const {
    const Node& node = program_.nodes[message];
    std::size_t first = Regroup::kNowhere;
    for (const PValueId output : node.outputs) first = std::min(first, regroup_.used(output));
    return first;
  }

  /// The device sets that a task is in.
  const std::vector<WhereId>& wheres_of(std::int32_t task) {
    const auto [at, fresh] = wheres_of_.try_emplace(task);
    for (WhereId where = 0; fresh && where < program_.wheres.size(); ++where)
      if (program_.wheres[where].has(task)) at->second.push_back(where);
    return at->second;
  }

  Clock clock_of(std::int32_t task) {
    Clock sum;
    for (const WhereId where : wheres_of(task)) {
      sum.computed = add_times(sum.computed, clocks_[where].computed);
      sum.waits += clocks_[where].waits;
    }
    return sum;
  }

  // ---- Batches ----

  void fill(const Parcel& parcel, std::size_t made) {
    const PValue& value = program_.values[given(parcel.transfers[0])];
    const std::int64_t bytes = regroup_.bytes_of(parcel.transfers[0]);
    const Clock now = clock_of(program_.wheres[value.where].tasks[0]);
    std::vector<WhereId> receivers;
    for (const NodeId id : parcel.transfers) receivers.push_back(program_.nodes[id].where);
    const auto [open, fresh] = open_.try_emplace({value.type.dtype, value.where, receivers}, batches_.size());
    if (fresh || !may_add_to(batches_[open->second], made, bytes, now)) {
      open->second = batches_.size();
      batches_.emplace_back().begun = now;
    }
    Batch& batch = batches_[open->second];
    batch.transfers.push_back(parcel.transfers);
    batch.bytes += bytes;
    batch.made = made;
    for (const NodeId id : parcel.transfers) {
      batch.used = std::min(batch.used, used(id));
      batch_of_[id] = open->second;
    }
  }

  [[nodiscard]] bool may_add_to(const Batch& batch, std::size_t made, std::int64_t bytes, const Clock& now) const {
    return made < batch.used && batch.bytes + bytes <= full_ && now.computed - batch.begun.computed <= latency_ &&
           now.waits == batch.begun.waits;
  }

  void join(const Batch& batch) {
    if (batch.transfers.size() < 2) return;
    for (std::size_t receiver = 0; receiver < batch.transfers[0].size(); ++receiver) {
      std::vector<NodeId> joined;
      for (const std::vector<NodeId>& of_value : batch.transfers) joined.push_back(of_value[receiver]);
      regroup_.join(std::move(joined), batch.made);
    }
  }

  Program& program_;
  Regroup regroup_;
  const std::int64_t latency_;           // latency of a link between hosts, in picoseconds
  const std::int64_t full_;              // bytes
  std::optional<ComputingTimes> times_;  // of the program, before the current region changes
  std::vector<Clock> clocks_;            // for each device set
  std::vector<bool> has_sender_;
  std::unordered_map<std::int32_t, std::vector<WhereId>> wheres_of_;  // for each task, filled at first use
  std::vector<Batch> batches_;                                        // batches of the current region
  std::unordered_map<NodeId, std::size_t> batch_of_;                  // for each transfer that is in a batch
  std::map<Key, std::size_t> open_;
};

}  // namespace

void coalesce(Program& program) {
  if (program.options.bucket_bytes == 0) return;
  Coalescer(program).run();
}

}  // namespace ferry
