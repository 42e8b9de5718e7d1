#include "plan/schedule/schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.hpp"
#include "plan/traffic/class_traffic.hpp"
#include "plan/verify/verifier.hpp"
#include "tests/support/collective_kinds.hpp"
#include "tests/support/dice.hpp"

namespace ferry {
namespace {

using Kind = ScheduleStep::Kind;
using Vector = std::vector<float>;

/// Simulates all members of a collective: each runs its steps until it must wait, and continues when messages have
/// arrived.
class Simulation {
 public:
  struct Member {
    Vector input, output;
    std::vector<Vector> slots;
    std::size_t step = 0;
    std::vector<std::pair<int, float*>> pending;  // receives: peer and destination
    std::int64_t sent = 0, sent_elements = 0;
  };

  Simulation(const Schedule& schedule, std::vector<std::int64_t> parts) : s_(schedule), parts_(std::move(parts)) {
    for (int m = 0; m < s_.members; ++m) {
      Member member;
      member.input.resize(static_cast<std::size_t>(s_.input_elements(parts_, m)));
      for (std::size_t i = 0; i < member.input.size(); ++i) member.input[i] = value(m, i);
      member.output.assign(static_cast<std::size_t>(s_.output_elements(parts_, m)), -1.0F);
      member.slots.assign(static_cast<std::size_t>(s_.slots_of(m)),
                          Vector(static_cast<std::size_t>(s_.slot_elements(parts_)), -2.0F));
      members_.push_back(std::move(member));
    }
  }

  /// True: inputs whose sums are exact in any order. False: sums depend on the order, since 1e8 swallows small numbers.
  static inline bool whole_numbers = false;
  static float value(int member, std::size_t i) {
    if (whole_numbers) return static_cast<float>(member * 10 + static_cast<int>(i % 7));
    return member % 3 == 0 ? 1e8F : static_cast<float>(member) * 1.7F + static_cast<float>(i) * 0.3F;
  }

  /// False when members wait for ever, or when messages are left that nobody receives.
  bool run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (int m = 0; m < s_.members; ++m) moved |= advance(m);
    }
    for (const Member& member : members_) {
      if (member.step != s_.steps.size() || !member.pending.empty()) return false;
    }
    for (const auto& [route, queue] : wire_) {
      if (!queue.empty()) return false;
    }
    return true;
  }

  const Member& member(int m) const { return members_[m]; }

 private:
  bool advance(int m) {
    Member& self = members_[m];
    bool moved = deliver(m);
    while (self.step < s_.steps.size()) {
      const ScheduleStep& step = s_.steps[self.step];
      if (s_.concerns(step, m)) {
        if (step.kind == Kind::wait && !self.pending.empty()) return moved;
        if (step.kind == Kind::wait_sends && !all_taken(m)) return moved;
        execute(m, step);
      }
      ++self.step;
      moved = true;
    }
    return moved;
  }

  /// True when everything that `m` has sent has been received.
  bool all_taken(int m) {
    for (const auto& [route, queue] : wire_)
      if (route.first == m && !queue.empty()) return false;
    return true;
  }

  bool deliver(int m) {
    Member& self = members_[m];
    bool moved = false;
    for (std::size_t i = 0; i < self.pending.size();) {
      auto& queue = wire_[{self.pending[i].first, m}];
      if (queue.empty()) {
        ++i;
        continue;
      }
      std::copy(queue.front().begin(), queue.front().end(), self.pending[i].second);
      queue.pop_front();
      self.pending.erase(self.pending.begin() + static_cast<std::ptrdiff_t>(i));
      moved = true;
    }
    return moved;
  }

  void execute(int m, const ScheduleStep& step) {
    Member& self = members_[m];
    const int peer = step.peer.resolve(m, s_.members);
    const int part = step.part.resolve(m, s_.members);
    const PartRange in = s_.input_part(parts_, m, part);
    const PartRange out = s_.output_part(parts_, m, part);
    switch (step.kind) {
      case Kind::send_input:
        send(m, peer, self.input.data() + in.begin, in.count);
        break;
      case Kind::send_output:
        send(m, peer, self.output.data() + out.begin, out.count);
        break;
      case Kind::receive_output:
        self.pending.emplace_back(peer, self.output.data() + out.begin);
        break;
      case Kind::receive_slot:
        self.pending.emplace_back(peer, slot(m, peer, step.slot));
        break;
      case Kind::send_slot:
        send(m, peer, slot(m, peer, step.slot), parts_[part]);
        break;
      case Kind::wait:
      case Kind::wait_sends:
        break;
      case Kind::copy:
      case Kind::fold:
        combine(m, step, peer, part);
        break;
      case Kind::join:
        join(*slot_at(m, step.slot), *slot_at(m, step.source), peer < m);
        break;
    }
  }

  void combine(int m, const ScheduleStep& step, int peer, int part) {
    Member& self = members_[m];
    const PartRange out = s_.output_part(parts_, m, part);
    const bool into_slot = step.slot != ScheduleStep::kOfPeer;
    const std::int64_t count = into_slot ? parts_[part] : out.count;
    float* to = into_slot ? slot(m, peer, step.slot) : self.output.data() + out.begin;
    const bool own_input = peer == m && step.source == ScheduleStep::kOfPeer;
    const float* from =
        own_input ? self.input.data() + s_.input_part(parts_, m, part).begin : slot(m, peer, step.source);
    for (std::int64_t i = 0; i < count; ++i) to[i] = step.kind == Kind::copy ? from[i] : to[i] + from[i];
  }

  Vector* slot_at(int m, std::int32_t number) { return &members_[m].slots.at(static_cast<std::size_t>(number)); }
  static void join(Vector& own, Vector& others, bool others_first) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      own[i] = others_first ? others[i] + own[i] : own[i] + others[i];
      others[i] = -3.0F;
    }
  }

  void send(int from, int to, const float* data, std::int64_t count) {
    wire_[{from, to}].emplace_back(data, data + count);
    ++members_[from].sent;
    members_[from].sent_elements += count;
  }
  float* slot(int m, int peer, std::int32_t number) {
    const auto at = static_cast<std::size_t>(number == ScheduleStep::kOfPeer ? peer - (peer > m) : number);
    return members_[m].slots.at(at).data();
  }

  const Schedule& s_;
  std::vector<std::int64_t> parts_;
  std::vector<Member> members_;
  std::map<std::pair<int, int>, std::deque<Vector>> wire_;
};

/// What member `m` must hold at the end, computed without the schedule.
Vector expected(CollectiveKind kind, int n, int root, const std::vector<std::int64_t>& parts, int m,
                const Simulation& sim) {
  const auto input = [&](int of) -> const Vector& { return sim.member(of).input; };
  const auto fold = [&] {
    Vector sum;
    for (int other = 0; other < n; ++other) {
      if (input(other).empty()) continue;  // a guest root gives nothing
      const bool first = sum.empty();
      if (first) sum = input(other);
      for (std::size_t i = 0; i < sum.size() && !first; ++i) sum[i] += input(other)[i];
    }
    return sum;
  };
  const auto cut = [&](const Vector& whole, int part) {
    const auto begin = whole.begin() + std::accumulate(parts.begin(), parts.begin() + part, std::int64_t{0});
    return Vector(begin, begin + parts[part]);
  };
  const auto concat = [&] {
    Vector all;
    for (int other = 0; other < n; ++other) all.insert(all.end(), input(other).begin(), input(other).end());
    return all;
  };
  switch (kind) {
    case CollectiveKind::all_reduce:
      return fold();
    case CollectiveKind::reduce_scatter:
      return cut(fold(), m);
    case CollectiveKind::all_gather:
      return concat();
    case CollectiveKind::broadcast:
      return input(root);
    case CollectiveKind::scatter:
      return cut(input(root), m);
    case CollectiveKind::gather:
      return m == root ? concat() : Vector();
    case CollectiveKind::reduce:
      return m == root ? fold() : Vector();
    case CollectiveKind::all_to_all:
      break;
  }
  Vector all;
  for (int other = 0; other < n; ++other) {
    const auto row = parts.begin() + other * n;
    const auto begin = input(other).begin() + std::accumulate(row, row + m, std::int64_t{0});
    all.insert(all.end(), begin, begin + row[m]);
  }
  return all;
}

/// Uneven parts, some of them empty.
std::vector<std::int64_t> uneven(int count, int shape) {
  std::vector<std::int64_t> parts(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) parts[i] = shape == 0 ? 4 : (i * 5 + shape) % (shape + 2);
  return parts;
}

std::vector<Schedule> in_order(int n, int root) {
  std::vector<Schedule> all{one_shot_schedule(n)};
  for (const CollectiveKind kind : test::kCollectiveKinds) all.push_back(direct_schedule(kind, n, root));
  return all;
}

TEST_CASE("direct and one-shot schedules give every member its result, folded in the order of the members") {
  for (int n = 1; n <= 8; ++n) {
    for (int shape = 0; shape < 4; ++shape) {
      const int root = shape % n;
      for (const Schedule& schedule : in_order(n, root)) {
        const CollectiveKind kind = schedule.kind;
        CAPTURE(name_of(kind));
        CAPTURE(schedule.algorithm);
        CAPTURE(n);
        CAPTURE(shape);
        const auto parts = uneven(schedule.part_count(), shape);
        Simulation sim(schedule, parts);
        REQUIRE(sim.run());
        std::int64_t sent = 0, received = 0;
        for (int m = 0; m < n; ++m) {
          CHECK(sim.member(m).output == expected(kind, n, root, parts, m, sim));
          CHECK(sim.member(m).sent == schedule.sends_of(m));
          CHECK(sim.member(m).sent_elements == schedule.sent_elements(parts, m));
          sent += schedule.sent_elements(parts, m);
          received += schedule.received_elements(parts, m);
        }
        CHECK(sent == received);
      }
    }
  }
}

/// Every schedule that is not direct, for `n` members.
std::vector<Schedule> others(int n) {
  std::vector<Schedule> all{ring_schedule(CollectiveKind::all_reduce, n), ring_schedule(CollectiveKind::all_gather, n),
                            doubling_schedule(n)};
  std::vector<std::int32_t> hosts(static_cast<std::size_t>(n));
  for (const CollectiveKind kind : {CollectiveKind::broadcast, CollectiveKind::reduce})
    for (int root = 0; root < n; ++root) {
      all.push_back(tree_schedule(kind, n, root));
      for (int m = 0; m < n; ++m) hosts[m] = m * 2 / (n + 1);
      all.push_back(hierarchical_schedule(kind, hosts, root));
      if (n > 1) all.push_back(tree_schedule(kind, n, root, true));
      if (n > 1) all.push_back(hierarchical_schedule(kind, hosts, root, true));
    }
  for (int on_host = 1; on_host <= n; ++on_host) {
    if (n % on_host != 0) continue;
    for (int m = 0; m < n; ++m) hosts[m] = m / on_host;
    all.push_back(hierarchical_schedule(CollectiveKind::all_reduce, hosts));
    for (int m = 0; m < n; ++m) hosts[m] = m % (n / on_host);
    all.push_back(hierarchical_schedule(CollectiveKind::all_reduce, hosts));
  }
  return all;
}

bool adds(CollectiveKind kind) {
  return kind == CollectiveKind::all_reduce || kind == CollectiveKind::reduce;
}

/// While such an object lives, inputs are small whole numbers, whose sums are exact in any order.
class Exact {
 public:
  Exact() { Simulation::whole_numbers = true; }
  ~Exact() { Simulation::whole_numbers = false; }
};

TEST_CASE("ring, doubling, tree and hierarchical schedules give every member its result, all the same bits") {
  for (int n = 1; n <= 9; ++n)
    for (const Schedule& schedule : others(n))
      for (int shape = 0; shape < 3; ++shape) {
        CAPTURE(name_of(schedule.kind));
        CAPTURE(schedule.algorithm);
        CAPTURE(n);
        CAPTURE(schedule.root);
        CAPTURE(schedule.guest_root);
        const auto parts = uneven(schedule.part_count(), shape);
        {
          Simulation sim(schedule, parts);  // its sums depend on the order
          REQUIRE(sim.run());
          for (int m = 1; m < n && schedule.kind == CollectiveKind::all_reduce; ++m)
            CHECK(sim.member(m).output == sim.member(0).output);
        }
        const Exact exact;
        Simulation sim(schedule, parts);
        REQUIRE(sim.run());
        for (int m = 0; m < n; ++m) {
          if (schedule.guest_root && m == schedule.root && !adds(schedule.kind)) continue;
          CHECK(sim.member(m).output == expected(schedule.kind, n, schedule.root, parts, m, sim));
          CHECK(sim.member(m).sent == schedule.sends_of(m));
          CHECK(sim.member(m).sent_elements == schedule.sent_elements(parts, m));
        }
      }
}

TEST_CASE("the traffic of all members together is that of each") {
  for (int n = 1; n <= 9; ++n) {
    std::vector<Schedule> all = others(n);
    std::ranges::move(in_order(n, n / 2), std::back_inserter(all));
    for (const CollectiveKind kind : {CollectiveKind::broadcast, CollectiveKind::reduce})
      all.push_back(direct_schedule(kind, n, n / 2, true));
    for (const Schedule& schedule : all)
      for (int shape = 0; shape < 3; ++shape) {
        CAPTURE(name_of(schedule.kind));
        CAPTURE(schedule.algorithm);
        CAPTURE(n);
        const auto parts = uneven(schedule.part_count(), shape);
        const std::vector<Traffic> members = traffic_of_members(schedule, parts);
        REQUIRE(static_cast<int>(members.size()) == n);
        for (int m = 0; m < n; ++m) {
          const Traffic& traffic = members[m];
          CHECK(traffic.sent_messages == schedule.sends_of(m));
          CHECK(traffic.sent_bytes == schedule.sent_elements(parts, m));
          CHECK(traffic.received_messages == schedule.receives_of(m));
          CHECK(traffic.received_bytes == schedule.received_elements(parts, m));
        }
      }
  }
}

TEST_CASE("a sparse exchange moves the parts that are not empty, and the verifier knows which") {
  test::Dice dice(1);
  for (int n = 1; n <= 6; ++n)
    for (int k = 0; k < 20; ++k) {
      Plan plan;
      plan.collectives.resize(1);
      std::vector<std::int64_t>& parts = plan.collectives[0].parts;
      for (int block = 0; block < n * n; ++block) parts.push_back(dice.below(k % 4 + 1));
      const Schedule schedule = sparse_exchange(n, parts);
      plan.schedules = {schedule};
      CHECK_NOTHROW(verifier::check_schedules(plan));
      std::int64_t messages = 0;
      for (int m = 0; m < n; ++m) {
        messages += schedule.sends_of(m);
        std::int64_t given = 0;
        for (int other = 0; other < n; ++other) given += other == m ? 0 : parts[m * n + other];
        CHECK(schedule.sent_elements(parts, m) == given);
      }
      std::int64_t filled = 0;
      for (std::size_t block = 0; block < parts.size(); ++block) {
        const bool own = block / static_cast<std::size_t>(n) == block % static_cast<std::size_t>(n);
        if (parts[block] > 0) {
          filled += own ? 0 : 1;
        } else {
          parts[block] = 1;
          CHECK_THROWS_AS(verifier::check_schedules(plan), verifier::PlanRejected);
          parts[block] = 0;
        }
      }
      CHECK(messages == filled);
    }
}

TEST_CASE("the verifier plays every schedule") {
  for (int n = 1; n <= 9; ++n) {
    std::vector<Schedule> all = others(n);
    std::ranges::move(in_order(n, n / 2), std::back_inserter(all));
    for (const Schedule& schedule : all) {
      Plan plan;
      plan.schedules = {schedule};
      plan.collectives.resize(1);
      plan.collectives[0].parts.assign(static_cast<std::size_t>(schedule.part_count()), 1);
      CHECK_NOTHROW(verifier::check_schedules(plan));
      for (std::size_t k = 0; k < schedule.steps.size() && n > 1; ++k) {
        if (schedule.steps[k].kind == Kind::wait || schedule.steps[k].kind == Kind::wait_sends) continue;
        plan.schedules[0].steps.erase(plan.schedules[0].steps.begin() + static_cast<std::ptrdiff_t>(k));
        CAPTURE(schedule.algorithm);
        CAPTURE(k);
        CHECK_THROWS_AS(verifier::check_schedules(plan), verifier::PlanRejected);
        plan.schedules[0] = schedule;
      }
    }
  }
}

TEST_CASE("a ring all-reduce sends 2 (n-1)/n of the vector, an all-gather half of that") {
  const std::vector<std::int64_t> parts(4, 250);
  for (int m = 0; m < 4; ++m) {
    const Schedule reduce = ring_schedule(CollectiveKind::all_reduce, 4);
    CHECK(reduce.sends_of(m) == 6);
    CHECK(reduce.sent_elements(parts, m) == 1500);
    CHECK(reduce.received_elements(parts, m) == 1500);
    CHECK(ring_schedule(CollectiveKind::all_gather, 4).sent_elements(parts, m) == 750);
  }
}

TEST_CASE("doubling takes log2 n messages of the whole vector, a tree n - 1 in all") {
  const std::vector<std::int64_t> whole{100};
  CHECK(doubling_schedule(8).sends_of(5) == 3);
  CHECK(doubling_schedule(8).sent_elements(whole, 5) == 300);
  std::int64_t messages = 0;
  for (int m = 0; m < 8; ++m) messages += tree_schedule(CollectiveKind::broadcast, 8, 3).sends_of(m);
  CHECK(messages == 7);
  CHECK(tree_schedule(CollectiveKind::broadcast, 8, 3).sends_of(3) == 3);
}

TEST_CASE("between hosts a hierarchical all-reduce sends 2 (h-1)/h of the vector from each host") {
  const std::vector<std::int32_t> hosts{0, 0, 0, 1, 1, 1};
  const Schedule schedule = hierarchical_schedule(CollectiveKind::all_reduce, hosts);
  const std::vector<std::int64_t> parts(6, 100);
  std::int64_t out = 0;
  for (int m = 0; m < 3; ++m)
    for (const ScheduleStep& step : schedule.steps) {
      const bool sends = step.kind == Kind::send_input || step.kind == Kind::send_output;
      if (sends && schedule.concerns(step, m) && step.peer.resolve(m, 6) >= 3) out += parts[0];
    }
  CHECK(out == 2 * 600 / 2);
}

TEST_CASE("the members at one index on all hosts share the steps of a hierarchical all-reduce") {
  constexpr int kHosts = 128, kOnHost = 8, kMembers = kHosts * kOnHost;
  std::vector<std::int32_t> hosts;
  for (int m = 0; m < kMembers; ++m) hosts.push_back(m / kOnHost);
  Plan plan;
  plan.schedules = {hierarchical_schedule(CollectiveKind::all_reduce, hosts)};
  const Schedule& schedule = plan.schedules[0];
  CHECK(schedule.steps.size() < 50 * kMembers);
  constexpr int kMessages = 2 * ((kOnHost - 1) * kHosts + kHosts - 1);
  for (const int m : {0, 1, kMembers - 1}) {
    CHECK(schedule.sends_of(m) == kMessages);
    CHECK(schedule.receives_of(m) == kMessages);
  }
  plan.collectives.resize(1);
  plan.collectives[0].parts.assign(kMembers, 1);
  CHECK_NOTHROW(verifier::check_schedules(plan));
}

TEST_CASE("a direct all-reduce sends 2 (n-1)/n of the vector in 2 (n-1) messages") {
  const Schedule schedule = direct_schedule(CollectiveKind::all_reduce, 4);
  const std::vector<std::int64_t> parts(4, 250);
  for (int m = 0; m < 4; ++m) {
    CHECK(schedule.sends_of(m) == 6);
    CHECK(schedule.receives_of(m) == 6);
    CHECK(schedule.sent_elements(parts, m) == 1500);
    CHECK(staging_bytes(schedule, parts, DType::float32, m) == 3 * 1024);  // slots of 1,000 bytes, aligned
  }
}

TEST_CASE("a one-shot all-reduce sends all to everybody, and is for little") {
  const Schedule schedule = one_shot_schedule(4);
  const std::vector<std::int64_t> parts{1000};
  for (int m = 0; m < 4; ++m) {
    CHECK(schedule.sends_of(m) == 3);
    CHECK(schedule.sent_elements(parts, m) == 3000);
    CHECK(staging_bytes(schedule, parts, DType::float32, m) == 3 * 4032);
  }
  CHECK(ordered_all_reduce(5, 4096, false).algorithm == "one-shot");
  CHECK(ordered_all_reduce(5, 4097, false).algorithm == "direct");
  CHECK(ordered_all_reduce(1, 4, false).algorithm == "direct");
}

TEST_CASE("only the root of a reduce has slots") {
  const Schedule schedule = direct_schedule(CollectiveKind::reduce, 3, 1);
  CHECK(schedule.slots_of(0) == 0);
  CHECK(schedule.slots_of(1) == 2);
  CHECK(schedule.sends_of(1) == 0);
  CHECK(schedule.receives_of(1) == 2);
}

TEST_CASE("alone, nothing is sent") {
  for (CollectiveKind kind : test::kCollectiveKinds) CHECK(direct_schedule(kind, 1).sends_of(0) == 0);
}

TEST_CASE("a collective needs members and one of them as root") {
  CHECK_THROWS_AS((void)direct_schedule(CollectiveKind::broadcast, 3, 3), Error);
  CHECK_THROWS_AS((void)direct_schedule(CollectiveKind::broadcast, 0), Error);
}

}  // namespace
}  // namespace ferry
