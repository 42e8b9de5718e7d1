// The ring, doubling, tree and hierarchical algorithms of collectives; plan/schedule/schedule.cpp has the direct and
// one-shot ones. If peers can be named relative to the member, one step serves all members; otherwise each member has
// its own steps.
#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.hpp"
#include "plan/schedule/schedule.hpp"
#include "plan/schedule/schedule_steps.hpp"

namespace ferry {
namespace {

using StepKind = ScheduleStep::Kind;
using steps::fixed;
using steps::flipped;
using steps::own;

/// Builds a schedule. Steps are for all members until as() is called, and then for the member that as() names.
class Script {
 public:
  Script(CollectiveKind kind, std::string algorithm, int members, int root, bool guest_root) {
    FERRY_ASSERT(members >= 1 && root >= 0 && root < members,
                 "collective without members, or its root is none of them");
    schedule_.kind = kind;
    schedule_.algorithm = std::move(algorithm);
    schedule_.members = members;
    schedule_.root = root;
    schedule_.guest_root = guest_root;
  }

  Schedule& schedule() { return schedule_; }
  Schedule finished() { return std::move(schedule_); }
  void as(int member) { self_ = member; }

  void add(StepKind kind, MemberRef peer, MemberRef part, std::int32_t slot = ScheduleStep::kOfPeer,
           std::int32_t source = ScheduleStep::kOfPeer) {
    schedule_.steps.push_back({kind, peer, part, self_, ScheduleStep::kAll, slot, source});
  }
  void wait() { add(StepKind::wait, {}, {}); }
  void wait_sends() { add(StepKind::wait_sends, {}, {}); }
  /// Copies or folds the own input, or slot `source`, into slot `slot`, or, without `slot`, into the output part.
  void copy_own(int part, std::int32_t slot = ScheduleStep::kOfPeer) { add(StepKind::copy, own, fixed(part), slot); }
  void fold_own(int part, std::int32_t slot = ScheduleStep::kOfPeer) { add(StepKind::fold, own, fixed(part), slot); }
  void copy_slot(int part, std::int32_t source) {
    add(StepKind::copy, own, fixed(part), ScheduleStep::kOfPeer, source);
  }
  void fold_slot(int part, std::int32_t source, std::int32_t slot = ScheduleStep::kOfPeer) {
    add(StepKind::fold, own, fixed(part), slot, source);
  }

 private:
  Schedule schedule_;
  std::int32_t self_ = ScheduleStep::kAll;
};

/// The sender of each receiver in a broadcast. Children are in the order in which their parent sends to them.
struct Tree {
  std::vector<std::vector<int>> children;
  std::vector<int> parent;

  explicit Tree(int members)
      : children(static_cast<std::size_t>(members)), parent(static_cast<std::size_t>(members), -1) {}

  /// Makes a binomial tree of these members. The i-th member receives from the member at index i without its lowest set
  /// bit. Of the children the farthest comes first; its subtree is the largest if the number of members is a power of
  /// two.
  void join(const std::vector<int>& members) {
    const std::size_t n = members.size();
    for (std::size_t i = 0; i < n; ++i) {
      std::vector<int>& mine = children[members[i]];
      for (std::size_t bit = 1; bit < n && (i & bit) == 0; bit *= 2)
        if (i + bit < n) {
          mine.insert(mine.begin(), members[i + bit]);
          parent[members[i + bit]] = members[i];
        }
    }
  }
};

void broadcast_along(Script& script, const Tree& tree) {
  const Schedule& s = script.schedule();
  for (int m = 0; m < s.members; ++m) {
    script.as(m);
    const bool root = m == s.root;
    const auto& children = tree.children[m];
    if (!root) {
      script.add(StepKind::receive_output, fixed(tree.parent[m]), fixed(0));
      script.wait();
    }
    for (int child : children) script.add(root ? StepKind::send_input : StepKind::send_output, fixed(child), fixed(0));
    if (root && !s.guest_root) script.copy_own(0);
  }
}

/// A member folds in this order: the contribution of its last child (slot 0), its own input, then the contributions of
/// its other children, the last in `children` first. The root folds into its output. Other members fold into slot 0 and
/// send it to their parent. A member without children sends its input.
void reduce_along(Script& script, const Tree& tree) {
  Schedule& s = script.schedule();
  for (int m = 0; m < s.members; ++m) {
    script.as(m);
    const bool root = m == s.root;
    const auto& children = tree.children[m];
    const auto count = static_cast<std::int32_t>(children.size());
    s.slots = std::max(s.slots, count);
    const MemberRef up = fixed(root ? 0 : tree.parent[m]);
    if (children.empty() && !root) {
      script.add(StepKind::send_input, up, fixed(0));
      continue;
    }
    for (std::int32_t slot = 0; slot < count; ++slot)
      script.add(StepKind::receive_slot, fixed(children[count - 1 - slot]), fixed(0), slot);
    if (count > 0) script.wait();
    const std::int32_t place = root ? ScheduleStep::kOfPeer : 0;
    if (root && count == 0) script.copy_own(0);
    if (root && count > 0) script.copy_slot(0, 0);
    if (count > 0 && !(root && s.guest_root)) script.fold_own(0, place);
    for (std::int32_t slot = 1; slot < count; ++slot) script.fold_slot(0, slot, place);
    if (!root) script.add(StepKind::send_slot, up, fixed(0), 0);
  }
}

Schedule along(Script script, const Tree& tree) {
  if (script.schedule().kind == CollectiveKind::broadcast)
    broadcast_along(script, tree);
  else
    reduce_along(script, tree);
  return script.finished();
}

/// All members in cyclic order, beginning with the root.
std::vector<int> from_root(int members, int root) {
  std::vector<int> all(static_cast<std::size_t>(members));
  for (int i = 0; i < members; ++i) all[i] = (root + i) % members;
  return all;
}

/// Groups the members by host, in the order of the hosts' first members.
std::vector<std::vector<int>> by_host(std::span<const std::int32_t> hosts) {
  std::vector<std::vector<int>> groups;
  std::map<std::int32_t, std::size_t> numbers;
  for (std::size_t m = 0; m < hosts.size(); ++m) {
    const auto [at, fresh] = numbers.try_emplace(hosts[m], groups.size());
    if (fresh) groups.emplace_back();
    groups[at->second].push_back(static_cast<int>(m));
  }
  return groups;
}

/// An all-reduce over hosts that have the same number of members each. Member j of a host is responsible for the parts
/// of members j of all hosts. If the members of each host follow one another, the members j of all hosts do the same,
/// apart from a shift, and the schedule has one list of steps for them.
class HostsAllReduce {
 public:
  HostsAllReduce(Script& script, std::span<const std::int32_t> hosts) : script_(script), groups_(by_host(hosts)) {
    place_.resize(hosts.size());
    for (std::size_t h = 0; h < groups_.size(); ++h)
      for (std::size_t j = 0; j < groups_[h].size(); ++j) {
        FERRY_ASSERT(groups_[h].size() == groups_[0].size(), "the hosts have different numbers of members");
        place_[groups_[h][j]] = {h, j};
      }
    const std::size_t inside = (groups_[0].size() - 1) * groups_.size();
    Schedule& schedule = script.schedule();
    schedule.slots = static_cast<std::int32_t>(std::max(inside, groups_.size() - 1));
    if (std::is_sorted(hosts.begin(), hosts.end())) schedule.period = static_cast<std::int32_t>(groups_[0].size());
  }

  void write() {
    for (self_ = 0; self_ < script_.schedule().scripts(); ++self_) {
      script_.as(self_);
      fold_inside();
      fold_between();
      send_between();
      send_inside();
    }
  }

 private:
  [[nodiscard]] const std::vector<int>& mates() const { return groups_[place_[self_].first]; }
  [[nodiscard]] std::size_t host() const { return place_[self_].first; }
  /// Member j of host h; this is also the index of its part.
  [[nodiscard]] int member(std::size_t h, std::size_t j) const { return groups_[h][j]; }
  [[nodiscard]] std::size_t index() const { return place_[self_].second; }

  /// Names a member or its part, for all members that execute the steps.
  [[nodiscard]] MemberRef ref(int member) const {
    const int members = script_.schedule().members;
    return script_.schedule().period > 0 ? steps::next((member - self_ + members) % members) : fixed(member);
  }
  [[nodiscard]] MemberRef ref(std::size_t h, std::size_t j) const { return ref(member(h, j)); }
  [[nodiscard]] MemberRef mate(std::size_t j) const { return ref(mates()[j]); }
  /// The host `distance` places after the own host, cyclically.
  [[nodiscard]] std::size_t host_after(std::size_t distance) const { return (host() + distance) % groups_.size(); }

  /// The slot for the contribution of mate `j` to the part of member `index()` of the host `distance` places on.
  [[nodiscard]] std::int32_t slot(std::size_t j, std::size_t distance) const {
    const std::size_t before = j - (j > index() ? 1 : 0);
    return static_cast<std::int32_t>(before * groups_.size() + distance);
  }

  void fold_inside() {
    for (std::size_t j = 0; j < mates().size(); ++j)
      for (std::size_t d = 0; d < groups_.size() && j != index(); ++d) {
        script_.add(StepKind::receive_slot, mate(j), ref(host_after(d), index()), slot(j, d));
        script_.add(StepKind::send_input, mate(j), ref(host_after(d), j));
      }
    script_.wait();
    for (std::size_t d = 0; d < groups_.size(); ++d) {
      for (std::size_t j = 0; j < mates().size(); ++j) {
        const StepKind kind = j == 0 ? StepKind::copy : StepKind::fold;
        const std::int32_t source = j == index() ? ScheduleStep::kOfPeer : slot(j, d);
        script_.add(kind, own, ref(host_after(d), index()), ScheduleStep::kOfPeer, source);
      }
    }
  }

  void fold_between() {
    each_other_host([&](std::size_t h, std::int32_t number) {
      script_.add(StepKind::receive_slot, ref(h, index()), own, number);
      script_.add(StepKind::send_output, ref(h, index()), ref(h, index()));
    });
    script_.wait();
    each_other_host([&](std::size_t, std::int32_t number) {
      script_.add(StepKind::fold, own, own, ScheduleStep::kOfPeer, number);
    });
    script_.wait_sends();
  }

  void send_between() {
    each_other_host([&](std::size_t h, std::int32_t) {
      script_.add(StepKind::receive_output, ref(h, index()), ref(h, index()));
      script_.add(StepKind::send_output, ref(h, index()), own);
    });
    script_.wait();
  }

  void send_inside() {
    for (std::size_t j = 0; j < mates().size(); ++j)
      for (std::size_t d = 0; d < groups_.size() && j != index(); ++d) {
        script_.add(StepKind::receive_output, mate(j), ref(host_after(d), j));
        script_.add(StepKind::send_output, mate(j), ref(host_after(d), index()));
      }
    script_.wait();
  }

  /// Calls f for the other hosts in cyclic order, beginning with the next host.
  template <class F>
  void each_other_host(F f) {
    for (std::size_t d = 1; d < groups_.size(); ++d) f(host_after(d), static_cast<std::int32_t>(d - 1));
  }

  Script& script_;
  std::vector<std::vector<int>> groups_;
  std::vector<std::pair<std::size_t, std::size_t>> place_;  // for each member: its host, and its index there
  int self_ = 0;
};

/// An all-reduce of a whole vector by recursive doubling. If `extra` members are left over after a power of two,
/// members 1, 3, … 2 extra - 1 first send their input to the member before them, and get the result from that member at
/// the end. Slot 0 holds the sum so far, slot 1 the received contribution. If the number of members is a power of two,
/// one list of steps serves all members.
class Doubling {
 public:
  explicit Doubling(Script& script) : script_(script), members_(script.schedule().members) {
    while (2 * power_ <= members_) power_ *= 2;
    script.schedule().whole = true;
    script.schedule().slots = members_ > 1 ? 2 : 0;
  }

  void write() {
    if (extra() == 0) {
      script_.copy_own(0, members_ > 1 ? 0 : ScheduleStep::kOfPeer);
      for (int distance = 1; distance < power_; distance *= 2) exchange(flipped(distance));
      if (members_ > 1) script_.copy_slot(0, 0);
      return;
    }
    for (int m = 0; m < members_; ++m) {
      script_.as(m);
      if (m % 2 == 1 && m < 2 * extra())
        as_guest(fixed(m - 1));
      else
        as_host(m);
    }
  }

 private:
  [[nodiscard]] int extra() const { return members_ - power_; }
  /// The member with this rank among the members that take part in the doubling.
  [[nodiscard]] int member(int rank) const { return rank < extra() ? 2 * rank : rank + extra(); }
  [[nodiscard]] int rank(int member) const { return member < 2 * extra() ? member / 2 : member - extra(); }

  void as_guest(MemberRef host) {
    script_.add(StepKind::send_input, host, fixed(0));
    script_.add(StepKind::receive_output, host, fixed(0));
    script_.wait();
  }

  void as_host(int m) {
    script_.copy_own(0, 0);
    if (m < 2 * extra()) join(fixed(m + 1));
    for (int distance = 1; distance < power_; distance *= 2) exchange(fixed(member(rank(m) ^ distance)));
    script_.copy_slot(0, 0);
    if (m < 2 * extra()) script_.add(StepKind::send_output, fixed(m + 1), fixed(0));
  }

  void exchange(MemberRef peer) {
    script_.add(StepKind::send_slot, peer, fixed(0), 0);
    join(peer);
  }

  /// Receives the peer's sum and adds it to this member's sum; the sum of the lower member is on the left.
  void join(MemberRef peer) {
    script_.add(StepKind::receive_slot, peer, fixed(0), 1);
    script_.wait();
    script_.wait_sends();
    script_.add(StepKind::join, peer, fixed(0), 0, 1);
  }

  Script& script_;
  int members_;
  int power_ = 1;  ///< the largest power of two that is at most the number of members
};

}  // namespace

Schedule ring_schedule(CollectiveKind kind, int members) {
  FERRY_ASSERT(kind == CollectiveKind::all_reduce || kind == CollectiveKind::all_gather, "no ring for this collective");
  Script script(kind, "ring", members, 0, false);
  const auto next = [&](int distance) { return steps::next((distance % members + members) % members); };
  const MemberRef after = next(1), before = next(-1);
  if (kind == CollectiveKind::all_gather || members == 1) script.add(StepKind::copy, own, own);
  if (kind == CollectiveKind::all_reduce && members > 1) {
    script.schedule().slots = members - 1;
    for (int round = 1; round < members; ++round) {
      script.add(StepKind::receive_slot, before, next(-1 - round));
      script.add(round == 1 ? StepKind::send_input : StepKind::send_output, after, next(-round));
      script.wait();
      script.add(StepKind::copy, before, next(-1 - round));
      script.add(StepKind::fold, own, next(-1 - round));
    }
    script.wait_sends();
  }
  for (int round = 0; round + 1 < members; ++round) {
    script.add(StepKind::receive_output, before, next(-1 - round));
    script.add(StepKind::send_output, after, next(-round));
    script.wait();
  }
  return script.finished();
}

Schedule doubling_schedule(int members) {
  Script script(CollectiveKind::all_reduce, "doubling", members, 0, false);
  Doubling(script).write();
  return script.finished();
}

Schedule tree_schedule(CollectiveKind kind, int members, int root, bool guest_root) {
  FERRY_ASSERT(kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce, "no tree for this collective");
  Tree tree(members);
  tree.join(from_root(members, root));
  return along(Script(kind, "tree", members, root, guest_root), tree);
}

Schedule hierarchical_schedule(CollectiveKind kind, std::span<const std::int32_t> hosts, int root, bool guest_root) {
  const auto members = static_cast<int>(hosts.size());
  Script script(kind, "hierarchical", members, root, guest_root);
  if (kind == CollectiveKind::all_reduce) {
    HostsAllReduce(script, hosts).write();
    return script.finished();
  }
  FERRY_ASSERT(kind == CollectiveKind::broadcast || kind == CollectiveKind::reduce, "no hosts for this collective");
  Tree tree(members);
  std::vector<int> leaders{root};
  for (std::vector<int>& group : by_host(hosts)) {
    const auto at = std::find(group.begin(), group.end(), root);
    if (at != group.end())
      std::rotate(group.begin(), at, group.end());
    else
      leaders.push_back(group[0]);
    tree.join(group);
  }
  Tree between(members);
  between.join(leaders);
  for (std::size_t m = 0; m < hosts.size(); ++m) {  // children on other hosts come first
    tree.children[m].insert(tree.children[m].begin(), between.children[m].begin(), between.children[m].end());
    if (between.parent[m] >= 0) tree.parent[m] = between.parent[m];
  }
  return along(std::move(script), tree);
}

}  // namespace ferry
