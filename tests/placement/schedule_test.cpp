#include "placement/schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <numeric>
#include <utility>

#include "base/error.hpp"

namespace ferry {
namespace {

using Kind = ScheduleStep::Kind;
using Vector = std::vector<float>;

constexpr CollectiveKind kKinds[] = {
    CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather, CollectiveKind::all_to_all,
    CollectiveKind::broadcast,  CollectiveKind::scatter,        CollectiveKind::gather,     CollectiveKind::reduce};

/// All members of a collective, in memory: each walks its steps as far as it can; who waits goes on when messages came.
class Simulation {
 public:
  struct Member {
    Vector input, output;
    std::vector<Vector> slots;
    std::size_t step = 0;
    std::vector<std::pair<int, float*>> pending;  // peer, where to
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

  /// Sums in which the order is seen: 1e8 swallows small numbers.
  static float value(int member, std::size_t i) {
    return member % 3 == 0 ? 1e8F : static_cast<float>(member) * 1.7F + static_cast<float>(i) * 0.3F;
  }

  /// False when the members wait for one another for ever.
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

  const Member& member(int m) const { return members_[static_cast<std::size_t>(m)]; }

 private:
  bool advance(int m) {
    Member& self = members_[static_cast<std::size_t>(m)];
    bool moved = deliver(m);
    while (self.step < s_.steps.size()) {
      const ScheduleStep& step = s_.steps[self.step];
      if (step.concerns(m)) {
        if (step.kind == Kind::wait && !self.pending.empty()) return moved;
        execute(m, step);
      }
      ++self.step;
      moved = true;
    }
    return moved;
  }

  bool deliver(int m) {
    Member& self = members_[static_cast<std::size_t>(m)];
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
    Member& self = members_[static_cast<std::size_t>(m)];
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
        self.pending.emplace_back(peer, slot(m, peer));
        break;
      case Kind::wait:
        break;
      case Kind::copy:
        std::copy_n(contribution(m, peer, part), out.count, self.output.data() + out.begin);
        break;
      case Kind::fold:
        for (std::int64_t i = 0; i < out.count; ++i) self.output[out.begin + i] += contribution(m, peer, part)[i];
        break;
    }
  }

  void send(int from, int to, const float* data, std::int64_t count) {
    wire_[{from, to}].emplace_back(data, data + count);
    ++members_[static_cast<std::size_t>(from)].sent;
    members_[static_cast<std::size_t>(from)].sent_elements += count;
  }
  float* slot(int m, int peer) { return members_[m].slots.at(static_cast<std::size_t>(peer - (peer > m))).data(); }
  const float* contribution(int m, int peer, int part) {
    return peer == m ? members_[m].input.data() + s_.input_part(parts_, m, part).begin : slot(m, peer);
  }

  const Schedule& s_;
  std::vector<std::int64_t> parts_;
  std::vector<Member> members_;
  std::map<std::pair<int, int>, std::deque<Vector>> wire_;
};

/// What member `m` must hold at the end, said without the schedule.
Vector expected(CollectiveKind kind, int n, int root, const std::vector<std::int64_t>& parts, int m,
                const Simulation& sim) {
  const auto input = [&](int of) -> const Vector& { return sim.member(of).input; };
  const auto fold = [&] {
    Vector sum = input(0);
    for (int other = 1; other < n; ++other) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += input(other)[i];
    }
    return sum;
  };
  const auto cut = [&](const Vector& whole, int part) {
    const auto begin = whole.begin() + std::accumulate(parts.begin(), parts.begin() + part, std::int64_t{0});
    return Vector(begin, begin + parts[static_cast<std::size_t>(part)]);
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
  for (int i = 0; i < count; ++i) parts[static_cast<std::size_t>(i)] = shape == 0 ? 4 : (i * 5 + shape) % (shape + 2);
  return parts;
}

TEST_CASE("direct schedules give every member its result, folded in the order of the members") {
  for (CollectiveKind kind : kKinds) {
    for (int n = 1; n <= 8; ++n) {
      for (int shape = 0; shape < 4; ++shape) {
        const int root = shape % n;
        CAPTURE(name_of(kind));
        CAPTURE(n);
        CAPTURE(shape);
        const Schedule schedule = direct_schedule(kind, n, root);
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

TEST_CASE("a direct all-reduce sends 2 (n-1)/n of the vector in 2 (n-1) messages") {
  const Schedule schedule = direct_schedule(CollectiveKind::all_reduce, 4);
  const std::vector<std::int64_t> parts(4, 250);
  for (int m = 0; m < 4; ++m) {
    CHECK(schedule.sends_of(m) == 6);
    CHECK(schedule.receives_of(m) == 6);
    CHECK(schedule.sent_elements(parts, m) == 1500);
    CHECK(staging_bytes(schedule, parts, DType::float32, m) == 3 * 1024);  // 1,000 bytes, aligned
  }
}

TEST_CASE("only the root of a reduce has slots") {
  const Schedule schedule = direct_schedule(CollectiveKind::reduce, 3, 1);
  CHECK(schedule.slots_of(0) == 0);
  CHECK(schedule.slots_of(1) == 2);
  CHECK(schedule.sends_of(1) == 0);
  CHECK(schedule.receives_of(1) == 2);
}

TEST_CASE("alone, nothing is sent") {
  for (CollectiveKind kind : kKinds) CHECK(direct_schedule(kind, 1).sends_of(0) == 0);
}

TEST_CASE("a collective needs members and one of them as root") {
  CHECK_THROWS_AS((void)direct_schedule(CollectiveKind::broadcast, 3, 3), Error);
  CHECK_THROWS_AS((void)direct_schedule(CollectiveKind::broadcast, 0), Error);
}

}  // namespace
}  // namespace ferry
