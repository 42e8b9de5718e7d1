#include "placement/messages/choose_schedule.hpp"

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

namespace ferry {
namespace {

/// Schedules for up to this many members on one host are direct or one-shot: members may read each other's inputs in
/// place, which takes fewer messages than the formulas count. With more members, the formulas decide on one host, too.
constexpr std::size_t kDirectMembers = 64;

/// Maximum number of steps of all members of a hierarchical all-reduce. Each member has a step for each pair of a host
/// and a member of its own host, so the number of steps grows with the square of the number of members. If the members
/// of a host do not follow one another, a longer schedule would take gigabytes to plan and to verify.
constexpr double kMostSteps = 5e6;

/// An algorithm and its cost.
struct Choice {
  double seconds = 0;
  std::function<Schedule()> make;
};

/// The number of rounds until n members are reached if each round doubles the reached members: log2 n, rounded up.
double rounds(std::int64_t n) {
  double count = 0;
  for (std::int64_t reached = 1; reached < n; reached *= 2) ++count;
  return count;
}

/// The cost of each algorithm for one call, by the formulas in the header.
class Costs {
 public:
  Costs(const CollectiveCall& call, const Topology& topology)
      : on_(topology.on_host), between_(topology.between_hosts), bytes_(static_cast<double>(call.bytes)) {
    std::vector<std::int64_t> sizes;
    for (std::int32_t host : call.hosts) {
      sizes.resize(std::max(sizes.size(), static_cast<std::size_t>(host) + 1), 0);
      ++sizes[host];
    }
    n_ = static_cast<std::int64_t>(call.hosts.size());
    h_ = static_cast<std::int64_t>(sizes.size());
    k_ = *std::max_element(sizes.begin(), sizes.end());
    even_ = std::all_of(sizes.begin(), sizes.end(), [&](std::int64_t size) { return size == k_; });
    if (h_ == 1) between_ = on_;
  }

  /// Whether a hierarchical all-reduce is possible and has at most kMostSteps steps.
  [[nodiscard]] bool may_be_hierarchical() const {
    return even_ && h_ > 1 && num(n_) * (4 * num(k_ - 1) * num(h_) + num(k_) * num(h_)) <= kMostSteps;
  }

  [[nodiscard]] double direct_parts() const {
    const double k = num(k_), others = num(n_ - k_), part = bytes_ / num(n_);
    return (k - 1) * on(part) + others * between_.latency_seconds + k * others * part / between_.bytes_per_second;
  }
  [[nodiscard]] double doubling() const {
    const bool whole = (n_ & (n_ - 1)) == 0;
    const double inside = rounds(k_), outside = rounds(n_) - inside;
    return inside * on(bytes_) + outside * between(num(k_) * bytes_) + (whole ? 0 : 2 * between(bytes_));
  }
  [[nodiscard]] double ring() const { return num(n_ - 1) * between(bytes_ / num(n_)); }
  [[nodiscard]] double hierarchical_parts() const {
    const double k = num(k_), h = num(h_);
    return (k - 1) * h * on_.latency_seconds + (k - 1) / k * bytes_ / on_.bytes_per_second +
           (h - 1) * between(bytes_ / h);
  }
  [[nodiscard]] double direct_whole() const { return num(k_ - 1) * on(bytes_) + num(n_ - k_) * between(bytes_); }
  [[nodiscard]] double tree() const { return rounds(n_) * between(bytes_); }
  [[nodiscard]] double hierarchical_tree() const { return rounds(k_) * on(bytes_) + rounds(h_) * between(bytes_); }

 private:
  static double num(std::int64_t n) { return static_cast<double>(n); }
  [[nodiscard]] double on(double bytes) const { return on_.latency_seconds + bytes / on_.bytes_per_second; }
  [[nodiscard]] double between(double bytes) const {
    return between_.latency_seconds + bytes / between_.bytes_per_second;
  }

  LinkCost on_, between_;
  double bytes_;
  std::int64_t n_ = 0, h_ = 0, k_ = 0;
  bool even_ = false;
};

/// The possible algorithms, the simplest first.
std::vector<Choice> choices(const CollectiveCall& call, const Costs& costs) {
  const auto members = static_cast<int>(call.hosts.size());
  const auto direct = [=] { return direct_schedule(call.kind, members, call.root, call.guest_root); };
  const auto hierarchical = [=] { return hierarchical_schedule(call.kind, call.hosts, call.root, call.guest_root); };
  switch (call.kind) {
    case CollectiveKind::all_reduce: {
      std::vector<Choice> all{{2 * costs.direct_parts(), direct},
                              {costs.doubling(), [=] { return doubling_schedule(members); }},
                              {2 * costs.ring(), [=] { return ring_schedule(call.kind, members); }}};
      if (costs.may_be_hierarchical()) all.push_back({2 * costs.hierarchical_parts(), hierarchical});
      return all;
    }
    case CollectiveKind::all_gather:
      return {{costs.direct_parts(), direct}, {costs.ring(), [=] { return ring_schedule(call.kind, members); }}};
    case CollectiveKind::broadcast:
    case CollectiveKind::reduce:
      return {{costs.direct_whole(), direct},
              {costs.tree(), [=] { return tree_schedule(call.kind, members, call.root, call.guest_root); }},
              {costs.hierarchical_tree(), hierarchical}};
    default:
      return {{0, direct}};
  }
}

Schedule cheapest(const CollectiveCall& call, const Topology& topology) {
  const std::vector<Choice> all = choices(call, Costs(call, topology));
  const auto best =
      std::min_element(all.begin(), all.end(), [](const Choice& a, const Choice& b) { return a.seconds < b.seconds; });
  return best->make();
}

bool on_one_host(const CollectiveCall& call) {
  return std::ranges::all_of(call.hosts, [](std::int32_t host) { return host == 0; });
}

}  // namespace

Schedule choose_folded(const CollectiveCall& call, const Topology& topology) {
  const LinkCost& link = on_one_host(call) ? topology.gpus_on_host : topology.gpus_between_hosts;
  const auto members = static_cast<int>(call.hosts.size());
  const double n = members, received = (n - 1) * static_cast<double>(call.bytes) / link.bytes_per_second;
  const double one_shot = link.latency_seconds + received, direct = 2 * (link.latency_seconds + received / n);
  if (call.kind == CollectiveKind::all_reduce && one_shot < direct) return folded_on_gpus(one_shot_schedule(members));
  return folded_on_gpus(direct_schedule(call.kind, members, call.root, call.guest_root));
}

Schedule choose_schedule(const CollectiveCall& call, const Topology& topology) {
  const auto members = static_cast<int>(call.hosts.size());
  if (!on_one_host(call) || call.hosts.size() > kDirectMembers) {
    Schedule chosen = cheapest(call, topology);
    return call.share_memory ? in_shared_memory(std::move(chosen)) : chosen;
  }
  return call.kind == CollectiveKind::all_reduce ? ordered_all_reduce(members, call.bytes, call.share_memory)
                                                 : direct_schedule(call.kind, members, call.root, call.guest_root);
}

}  // namespace ferry
