#include "placement/messages/fuse_messages.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_set>

#include "placement/messages/regroup.hpp"

namespace ferry {
namespace {

constexpr double kFull = 8;

std::int64_t full_bytes_of(double latency_seconds, double bytes_per_second) {
  return static_cast<std::int64_t>(kFull * latency_seconds * bytes_per_second);
}

class MessageFuser {
 public:
  explicit MessageFuser(Program& program) : program_(program), regroup_(program) {}

  void run() {
    for (ProgramRegionId region = 0; region < program_.regions.size(); ++region) fuse(region);
    regroup_.finish();
  }

 private:
  /// A sum that may share a collective with others.
  struct Sum {
    NodeId node = 0;
    std::size_t made = 0;  ///< position of the node that makes its value
    std::size_t used = 0;  ///< position of the first use of its result
  };
  struct Bucket {
    std::vector<NodeId> sums;
    std::int64_t bytes = 0;
    std::size_t made = 0, used = Regroup::kNowhere;  ///< where its last value is made, and a result is first used
  };
  /// Sums with equal keys may share a bucket. A key has dtype, the device sets of value and result, kind, operator,
  /// members.
  using Key = std::tuple<DType, WhereId, WhereId, CollectiveKind, Reduce, std::uint32_t, std::int32_t, bool>;

  void fuse(ProgramRegionId region) {
    const std::vector<NodeId>& order = program_.regions[region].order;
    const auto is_collective = [&](NodeId id) { return program_.nodes[id].kind == NodeKind::collective; };
    if (std::none_of(order.begin(), order.end(), is_collective)) return;
    regroup_.begin_region(region);
    std::vector<Sum> sums;
    for (const NodeId id : order)
      if (is_collective(id)) start_early(id, sums);
    std::stable_sort(sums.begin(), sums.end(), [](const Sum& a, const Sum& b) { return a.made < b.made; });
    std::map<Key, Bucket> open;
    for (const Sum& sum : sums) fill(open[key_of(sum.node)], sum);
    for (auto& [key, bucket] : open) close(bucket);
    regroup_.end_region();
  }

  /// Moves a collective to right after the maker of its value, or collects it for a bucket. A collective stays in place
  /// if its value exists from the start, because the result would take memory during the whole step. It also stays if
  /// its value comes by another message, because the class would have to wait for that message at once.
  void start_early(NodeId id, std::vector<Sum>& sums) {
    const Node& node = program_.nodes[id];
    const PValueId given = program_.inputs(node)[0];
    const Node& source = program_.nodes[program_.values[program_.stored(given)].producer];
    const bool is_made =
        source.kind == NodeKind::compute || source.kind == NodeKind::loop || source.kind == NodeKind::branch;
    const std::size_t made = regroup_.place(program_.values[given].producer);
    if (!is_made || source.once || made == Regroup::kNowhere) return;
    if (may_share(node))
      sums.push_back({id, made, regroup_.used(node.outputs[0])});
    else
      regroup_.move_after(id, made);
  }

  /// True if the collective is a sum, and a kernel can write its value directly into a bucket.
  bool may_share(const Node& node) {
    const CollectiveKind kind = program_.collectives[node.detail].kind;
    if (kind != CollectiveKind::all_reduce && kind != CollectiveKind::reduce) return false;
    const PValueId given = program_.inputs(node)[0];
    const PValueId stored = program_.stored(given);
    const PValue& value = program_.values[stored];
    const Node& maker = program_.nodes[value.producer];
    return maker.kind == NodeKind::compute && !maker.once && regroup_.place(value.producer) != Regroup::kNowhere &&
           value.where == program_.values[given].where && !value.type.shape.bounded() &&
           in_buckets_.insert(stored).second;
  }

  Key key_of(NodeId id) const {
    const Node& node = program_.nodes[id];
    const ProgramCollective& what = program_.collectives[node.detail];
    const PValue& value = program_.values[program_.inputs(node)[0]];
    return {value.type.dtype, value.where,           node.where,        what.kind,
            what.reduce,      what.members.grouping, what.members.root, what.members.guest_root};
  }

  void fill(Bucket& bucket, const Sum& sum) {
    if (sum.made >= bucket.used) close(bucket);
    bucket.sums.push_back(sum.node);
    bucket.bytes += regroup_.bytes_of(sum.node);
    bucket.made = sum.made;
    bucket.used = std::min(bucket.used, sum.used);
    if (bucket.bytes >= full_bytes(sum.node)) close(bucket);
  }

  std::int64_t full_bytes(NodeId id) const {
    const ProgramCollective& what = program_.collectives[program_.nodes[id].detail];
    const Grouping& groups = program_.groupings[what.members.grouping];
    const DeviceKind kind = program_.wheres[program_.values[program_.inputs(program_.nodes[id])[0]].where].kind;
    const Topology& topology = *program_.topology;
    const bool one_host = !program_.crosses_hosts(groups);
    if (kind == DeviceKind::cpu || program_.options.bucket_bytes) return full_bucket_bytes(program_, one_host);
    const LinkCost link = topology.link(
        kind, one_host, std::ranges::all_of(groups, [&](const auto& group) { return topology.join_gpus(group); }));
    return full_bytes_of(link.latency_seconds, link.bytes_per_second);
  }

  void close(Bucket& bucket) {
    if (bucket.sums.size() == 1) regroup_.move_after(bucket.sums[0], bucket.made);
    if (bucket.sums.size() > 1) regroup_.join(std::move(bucket.sums), bucket.made);
    bucket = {};
  }

  Program& program_;
  Regroup regroup_;
  std::unordered_set<PValueId> in_buckets_;  // values that are written directly into a bucket
};

}  // namespace

std::int64_t full_bucket_bytes(const Program& program, bool one_host) {
  if (program.options.bucket_bytes) return *program.options.bucket_bytes;
  const LinkCost sums = program.topology->sums(one_host);
  return full_bytes_of(sums.latency_seconds + program.topology->compute.wait * 1e-12, sums.bytes_per_second);
}

void fuse_messages(Program& program) {
  MessageFuser(program).run();
}

}  // namespace ferry
