#include "comm/group.hpp"

#include <cmath>
#include <cstring>
#include <numeric>

#include "tests/comm/world.hpp"
#include "tests/support/collective_kinds.hpp"

namespace ferry::test {
namespace {

void add(std::byte* output, const std::byte* left, const std::byte* right, std::int64_t count) {
  auto* out = reinterpret_cast<float*>(output);
  const auto* a = reinterpret_cast<const float*>(left);
  const auto* b = reinterpret_cast<const float*>(right);
  for (std::int64_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

std::byte* bytes_of(std::vector<float>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

/// Values of mixed sign and size, so that their sum depends on the order.
std::vector<float> values_of(int member, std::int64_t count, int round) {
  std::vector<float> values(static_cast<std::size_t>(count));
  std::uint32_t state = static_cast<std::uint32_t>(member * 977 + round * 31 + 5);
  for (float& value : values) {
    state = state * 1664525 + 1013904223;
    const float mantissa = static_cast<float>(state >> 8) / 16777216.0F - 0.5F;
    value = mantissa * static_cast<float>(1 << (state % 20));
  }
  return values;
}

/// A collective and everybody's inputs, so that each task can compute its expected result.
class Case {
 public:
  Case(CollectiveKind kind, int n, int root, std::int64_t scale) : Case(direct_schedule(kind, n, root), scale) {}
  Case(Schedule schedule, std::int64_t scale)
      : schedule_(std::move(schedule)), parts_(static_cast<std::size_t>(schedule_.part_count())) {
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      parts_[i] = scale * static_cast<std::int64_t>((i * 3 + 1) % 4);  // some empty
    }
  }

  /// The same collective, carried out by `via`.
  Case by(Via via) const {
    Case same = *this;
    same.schedule_.via = via;
    return same;
  }

  const Schedule& schedule() const { return schedule_; }
  const std::vector<std::int64_t>& parts() const { return parts_; }
  std::vector<float> input(int member, int round) const {
    return values_of(member, schedule_.input_elements(parts_, member), round);
  }

  /// Part `part` of the input of `member`.
  std::vector<float> piece(int member, int part, int round) const {
    const auto all = input(member, round);
    const PartRange at = schedule_.input_part(parts_, member, part);
    return {all.begin() + at.begin, all.begin() + at.begin + at.count};
  }

  std::vector<float> expected(int member, int round) const {
    const int n = schedule_.members;
    std::vector<float> sum = input(0, round), all;
    for (int m = 1; m < n && adds(); ++m) {
      const auto other = input(m, round);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += other[i];
    }
    switch (schedule_.kind) {
      case CollectiveKind::all_reduce:
        return sum;
      case CollectiveKind::reduce:
        return member == schedule_.root ? sum : all;
      case CollectiveKind::broadcast:
        return input(schedule_.root, round);
      case CollectiveKind::scatter:
        return piece(schedule_.root, member, round);
      case CollectiveKind::reduce_scatter: {
        const PartRange mine = schedule_.input_part(parts_, member, member);
        return {sum.begin() + mine.begin, sum.begin() + mine.begin + mine.count};
      }
      case CollectiveKind::gather:
        if (member != schedule_.root) return all;
        break;
      case CollectiveKind::all_gather:
      case CollectiveKind::all_to_all:
        break;
    }
    for (int m = 0; m < n; ++m) {
      const auto from = piece(m, schedule_.kind == CollectiveKind::all_to_all ? member : m, round);
      all.insert(all.end(), from.begin(), from.end());
    }
    return all;
  }

 private:
  bool adds() const {
    return schedule_.kind == CollectiveKind::all_reduce || schedule_.kind == CollectiveKind::reduce ||
           schedule_.kind == CollectiveKind::reduce_scatter;
  }

  Schedule schedule_;
  std::vector<std::int64_t> parts_;
};

/// This task's buffers and call for a collective.
struct Member {
  Member(Transport& end, const Case& of, std::uint32_t channel, std::vector<std::int32_t> group, bool in_place = false)
      : tasks(std::move(group)),
        index(static_cast<int>(std::find(tasks.begin(), tasks.end(), end.task()) - tasks.begin())) {
    const Schedule& schedule = of.schedule();
    in.resize(static_cast<std::size_t>(schedule.input_elements(of.parts(), index)));
    out.resize(static_cast<std::size_t>(schedule.output_elements(of.parts(), index)));
    const bool lends = schedule.via == Via::get;
    staging.resize(lends ? 0 : static_cast<std::size_t>(staging_bytes(schedule, of.parts(), DType::float32, index)));
    if (lends && !in.empty()) shared = end.memory(in.size() * sizeof(float), "the test");
    call =
        prepare_call(end, {.schedule = schedule,
                           .parts = of.parts(),
                           .tasks = tasks,
                           .member = index,
                           .channel = channel,
                           .dtype = DType::float32,
                           .input = bytes_of(in),
                           .output = bytes_of(in_place ? in : out),
                           .staging = shared ? std::span(shared.get(), in.size() * sizeof(float)) : std::span(staging),
                           .fold = add});
  }
  void start(const Case& of, int round) {
    const auto values = of.input(index, round);
    std::copy(values.begin(), values.end(), in.begin());
    std::fill(out.begin(), out.end(), -1.0F);
    call->start();
  }

  std::vector<std::int32_t> tasks;
  int index;
  std::vector<float> in, out;
  std::vector<std::byte> staging;
  std::shared_ptr<std::byte> shared;  ///< used in place of `staging` where other members reach into it
  std::unique_ptr<GroupCall> call;
};

void finish(Transport& end, GroupCall& call) {
  const Deadline deadline = seconds(20);
  while (!call.progress()) {
    if (deadline.expired()) throw Error(Code::stalled, "a collective did not end");
    end.idle(std::chrono::milliseconds(10));
  }
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0);
}

std::vector<std::int32_t> everybody(const Transport& end) {
  std::vector<std::int32_t> tasks(static_cast<std::size_t>(end.tasks()));
  std::iota(tasks.begin(), tasks.end(), 0);
  return tasks;
}

TEST_CASE("collectives give the bits of a fold in the order of the members, run after run") {
  on_jobs([](Transport& end) {
    for (const CollectiveKind kind : kCollectiveKinds) {
      for (const std::int64_t scale : {std::int64_t{0}, std::int64_t{5}, std::int64_t{20'000}}) {
        CAPTURE(name_of(kind));
        CAPTURE(scale);
        const Case collective(kind, end.tasks(), end.tasks() / 2, scale);
        Member member(end, collective, 3, everybody(end));
        for (int round = 0; round < 3; ++round) {
          member.start(collective, round);
          finish(end, *member.call);
          CHECK(same_bits(member.out, collective.expected(member.index, round)));
        }
        const Schedule& schedule = collective.schedule();
        const auto size = static_cast<std::int64_t>(sizeof(float));
        CHECK(member.call->moved() == Traffic{3 * schedule.sends_of(member.index),
                                              3 * size * schedule.sent_elements(collective.parts(), member.index),
                                              3 * schedule.receives_of(member.index),
                                              3 * size * schedule.received_elements(collective.parts(), member.index)});
      }
    }
  });
}

/// Schedules that are not direct, for `n` members: two on each host, or one if `n` is odd.
std::vector<Schedule> others(int n) {
  std::vector<std::int32_t> hosts(static_cast<std::size_t>(n));
  for (int m = 0; m < n; ++m) hosts[m] = n % 2 == 0 ? m / 2 : m;
  std::vector<Schedule> all{ring_schedule(CollectiveKind::all_reduce, n), ring_schedule(CollectiveKind::all_gather, n),
                            doubling_schedule(n), hierarchical_schedule(CollectiveKind::all_reduce, hosts)};
  for (const CollectiveKind kind : {CollectiveKind::broadcast, CollectiveKind::reduce}) {
    all.push_back(tree_schedule(kind, n, n - 1));
    all.push_back(hierarchical_schedule(kind, hosts, n / 2));
  }
  return all;
}

TEST_CASE("a member that gives or gets nothing may have any address for it") {
  on_jobs([](Transport& end) {
    const auto n = static_cast<std::size_t>(end.tasks());
    std::vector<std::int64_t> parts(n * n);
    if (n > 1) parts[n - 1] = 3;  // of member 0 for the last one
    const Schedule schedule = sparse_exchange(end.tasks(), parts);
    const std::vector<std::int32_t> tasks = everybody(end);
    std::vector<float> values = end.task() == 0 ? std::vector<float>{1, 2, 3} : std::vector<float>(3);
    const auto call = prepare_call(end, {.schedule = schedule,
                                         .parts = parts,
                                         .tasks = tasks,
                                         .member = end.task(),
                                         .channel = 3,
                                         .input = bytes_of(values),
                                         .output = bytes_of(values),
                                         .staging = {},
                                         .fold = add});
    call->start();
    finish(end, *call);
    const bool has = n > 1 && (end.task() == 0 || end.task() + 1 == end.tasks());
    CHECK(values == (has || n == 1 ? std::vector<float>{1, 2, 3} : std::vector<float>(3)));
  });
}

TEST_CASE("other schedules give the same values, run after run, with the traffic that they say") {
  on_jobs([](Transport& end) {
    for (const Schedule& schedule : others(end.tasks())) {
      CAPTURE(name_of(schedule.kind));
      CAPTURE(schedule.algorithm);
      const Case collective(schedule, 3000);
      Member member(end, collective, 5, everybody(end));
      std::vector<float> first;
      for (int round = 0; round < 3; ++round) {
        member.start(collective, 0);
        finish(end, *member.call);
        if (round == 0) first = member.out;
        CHECK(same_bits(member.out, first));
      }
      const std::vector<float> expected = collective.expected(member.index, 0);
      REQUIRE(member.out.size() == expected.size());
      for (std::size_t i = 0; i < expected.size(); ++i)  // folded in another order, so with other roundings
        CHECK_MESSAGE(std::abs(member.out[i] - expected[i]) <= 1.0F, member.out[i] << " is not " << expected[i]);
      const auto size = static_cast<std::int64_t>(sizeof(float));
      CHECK(member.call->moved() == Traffic{3 * schedule.sends_of(member.index),
                                            3 * size * schedule.sent_elements(collective.parts(), member.index),
                                            3 * schedule.receives_of(member.index),
                                            3 * size * schedule.received_elements(collective.parts(), member.index)});
    }
  });
}

/// The ways to carry out `schedule` over `end`: messages, and put or get where it reaches the others' memory.
std::vector<Via> ways(const Transport& end, const Schedule& schedule) {
  std::vector<Via> all{Via::messages};
  if (end.tasks() > 1 && end.lends((end.task() + 1) % end.tasks())) all.push_back(schedule.whole ? Via::put : Via::get);
  return all;
}

TEST_CASE("direct and one-shot all-reduces give the same bits, over their own input too, run after run") {
  on_jobs([](Transport& end) {
    for (const Schedule& schedule :
         {direct_schedule(CollectiveKind::all_reduce, end.tasks()), one_shot_schedule(end.tasks())})
      for (const Via via : ways(end, schedule))
        for (const bool in_place : {false, true})
          for (const std::int64_t scale : {0, 5, 700, 3'000, 150'000}) {
            CAPTURE(schedule.algorithm);
            CAPTURE(name_of(via));
            CAPTURE(in_place);
            CAPTURE(scale);
            const Case collective = Case(schedule, scale).by(via);
            Member member(end, collective, 4, everybody(end), in_place);
            for (int round = 0; round < 3; ++round) {
              member.start(collective, round);
              finish(end, *member.call);
              CHECK(same_bits(in_place ? member.in : member.out, collective.expected(member.index, round)));
            }
            CHECK(member.call->moved().sent_messages == 3 * schedule.sends_of(member.index));
          }
  });
}

TEST_CASE("a call for members that share memory is refused where they do not") {
  const auto ends = inproc_transports(2);
  const Case collective = Case(one_shot_schedule(2), 9).by(Via::put);
  const auto error = error_in([&] { Member(*ends[0], collective, 0, {0, 1}); });
  REQUIRE(error.has_value());
  CHECK(error->code() == Code::plan);
  CHECK(error->text().find("tasks 0 and 1 do not") != std::string::npos);
  for (const auto& end : ends) end->close();
}

TEST_CASE("the order of the members counts, not that of the tasks") {
  on_jobs([](Transport& end) {
    auto tasks = everybody(end);
    std::reverse(tasks.begin(), tasks.end());
    const Case collective(CollectiveKind::all_reduce, end.tasks(), 0, 64);
    Member member(end, collective, 0, tasks);
    member.start(collective, 0);
    finish(end, *member.call);
    CHECK(same_bits(member.out, collective.expected(member.index, 0)));
  });
}

TEST_CASE("a call by messages sends those of its schedule and no others") {
  on_jobs([](Transport& end) {
    for (const Schedule& schedule :
         {direct_schedule(CollectiveKind::all_reduce, end.tasks()), one_shot_schedule(end.tasks())})
      for (const std::int64_t scale : {1, 9, 500}) {
        const Case collective(schedule, scale);
        Member member(end, collective, 0, everybody(end));
        const WireCount before = end.sent();
        member.start(collective, 0);
        finish(end, *member.call);
        const WireCount sent = end.sent() - before;
        CHECK(sent.messages == schedule.sends_of(member.index));
        CHECK(sent.messages == member.call->moved().sent_messages);
        CHECK(sent.bytes == member.call->moved().sent_bytes);
        CHECK(same_bits(member.out, collective.expected(member.index, 0)));
      }
  });
}

TEST_CASE("several collectives are under way at once, on channels of their own") {
  on_jobs([](Transport& end) {
    std::vector<Case> cases;
    for (const CollectiveKind kind : kCollectiveKinds) cases.emplace_back(kind, end.tasks(), 0, 700);
    std::vector<std::unique_ptr<Member>> members;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      members.push_back(std::make_unique<Member>(end, cases[i], static_cast<std::uint32_t>(i), everybody(end)));
    }
    for (std::size_t i = 0; i < cases.size(); ++i) {
      // Each task begins with another collective.
      const std::size_t at = (i + static_cast<std::size_t>(end.task())) % cases.size();
      members[at]->start(cases[at], 1);
      (void)members[at]->call->progress();
    }
    for (std::size_t i = cases.size(); i-- > 0;) {
      if (!members[i]->call->progress()) finish(end, *members[i]->call);
    }
    for (std::size_t i = 0; i < cases.size(); ++i) {
      CHECK(same_bits(members[i]->out, cases[i].expected(members[i]->index, 1)));
    }
  });
}

TEST_CASE("progress goes on while messages are there, so that nobody sleeps in vain") {
  const auto ends = inproc_transports(2);
  const Case collective(CollectiveKind::all_reduce, 2, 0, 10'000);
  Member first(*ends[0], collective, 0, {0, 1}), second(*ends[1], collective, 0, {0, 1});
  first.start(collective, 0);
  second.start(collective, 0);
  CHECK_FALSE(first.call->progress());
  CHECK_FALSE(second.call->progress());
  CHECK(first.call->progress());
  CHECK(second.call->progress());
  CHECK(same_bits(first.out, collective.expected(0, 0)));
  CHECK(same_bits(second.out, first.out));
  for (const auto& end : ends) end->close();
}

TEST_CASE("a collective ends with an error when a member fails") {
  on_jobs(
      [](Transport& end) {
        const Case collective(CollectiveKind::all_reduce, end.tasks(), 0, 64);
        Member member(end, collective, 0, everybody(end));
        if (end.task() == 0) end.abort({0, Code::numeric, "NaN"});
        member.start(collective, 0);
        const auto error = error_in([&] { finish(end, *member.call); });
        if (end.task() == 0 && end.tasks() == 1) return;  // nothing to send: done before it looks for failures
        REQUIRE(error.has_value());
        CHECK(error->code() == Code::peer_lost);
      },
      false);
}

}  // namespace
}  // namespace ferry::test
