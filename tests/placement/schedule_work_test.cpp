// Orders of pipelines: their lengths equal the formulas in the papers, and no stage exceeds its limit of kept results.
#include "placement/microbatches/schedule_work.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

#include "tests/support/pipelines.hpp"

namespace ferry {
namespace {

using Pass = PipelineWork::Pass;
using test::in_turn;
using test::Pipeline;

struct Played {
  std::int64_t length = 0;
  std::map<std::uint32_t, std::int64_t> most_kept;  ///< forward passes of each device whose results are kept
};

/// Lets each device do its work in that order, as soon as its inputs are done.
Played play(const std::vector<PipelineWork>& work, const std::vector<ScheduledWork>& order) {
  Played played;
  std::vector<std::int64_t> done(work.size(), -1);
  std::map<std::uint32_t, std::int64_t> free, kept;
  const bool apart = std::any_of(work.begin(), work.end(), [](const auto& w) { return w.pass == Pass::weights; });
  for (const auto& [i, planned] : order) {
    const PipelineWork& w = work[i];
    std::int64_t begin = free[w.device];
    for (const std::uint32_t need : w.needs) {
      REQUIRE(done[need] >= 0);
      begin = std::max(begin, done[need]);
    }
    REQUIRE(done[i] < 0);
    CHECK(begin <= planned);
    done[i] = free[w.device] = begin + w.time;
    played.length = std::max(played.length, done[i]);
    if (w.pass == Pass::forward)
      played.most_kept[w.device] = std::max(played.most_kept[w.device], ++kept[w.device]);
    else if (w.pass == (apart ? Pass::weights : Pass::backward))
      --kept[w.device];
  }
  return played;
}

Played played(const std::vector<PipelineWork>& work, PipelineSchedule schedule) {
  const auto order = schedule_work(work, {{schedule}});
  REQUIRE(order);
  REQUIRE(order->size() == work.size());
  return play(work, *order);
}

Played played(const Pipeline& pipeline) {
  return played(pipeline.work(), pipeline.schedule);
}

TEST_CASE("gpipe and 1f1b wait (p - 1)(f + b), and keep m or p - s microbatches") {
  for (std::uint32_t p = 1; p <= 8; ++p)
    for (std::int64_t m = 1; m <= 20; ++m) {
      CAPTURE(p);
      CAPTURE(m);
      const Played all = played({in_turn(p), m, PipelineSchedule::gpipe});
      const Played some = played({in_turn(p), m, PipelineSchedule::one_f_one_b});
      CHECK(all.length == (m + p - 1) * 3);
      CHECK(some.length == (m + p - 1) * 3);
      for (std::uint32_t s = 0; s < p; ++s) {
        CHECK(all.most_kept.at(s) == m);
        CHECK(some.most_kept.at(s) == std::min<std::int64_t>(m, p - s));
      }
    }
}

TEST_CASE("with v stages on each of p devices 1f1b waits a v-th of that") {
  for (std::uint32_t p = 2; p <= 8; ++p)
    for (int v = 2; v <= 4; ++v)
      for (std::int64_t rounds = 1; rounds <= 4; ++rounds) {
        const std::int64_t m = rounds * p;
        CAPTURE(p);
        CAPTURE(v);
        CAPTURE(m);
        const Played some = played({in_turn(p, v), m, PipelineSchedule::one_f_one_b});
        CHECK(some.length == (m * v + p - 1) * 3);
        for (std::uint32_t r = 0; r < p; ++r)
          CHECK(some.most_kept.at(r) <= std::min<std::int64_t>(m * v, 2 * (p - r - 1) + (v - 1) * p + 1));
      }
}

TEST_CASE("zero_bubble waits (p - 1)(f + b - w), and keeps what 1f1b keeps") {
  for (std::uint32_t p = 2; p <= 8; ++p)
    for (std::int64_t m = p; m <= 20; ++m) {
      CAPTURE(p);
      CAPTURE(m);
      const Played some = played({in_turn(p), m, PipelineSchedule::zero_bubble, 1, 1, 1});
      CHECK(some.length == 3 * m + (p - 1));
      for (std::uint32_t s = 0; s < p; ++s) CHECK(some.most_kept.at(s) <= p);
    }
}

/// Stages down the devices and back; `apart`: the last device has two of them, else one that takes twice the time.
std::vector<PipelineWork> down_and_back(std::uint32_t p, std::int64_t m, PipelineSchedule schedule, bool apart) {
  std::vector<std::uint32_t> at = test::down_and_back(p);
  if (apart) at.insert(at.begin() + p, p - 1);
  const bool is_split = schedule == PipelineSchedule::zero_bubble;
  std::vector<PipelineWork> work = Pipeline{at, m, schedule, 1, is_split ? 1 : 2, 1}.work();
  for (PipelineWork& w : work)
    if (!apart && w.device == p - 1) w.time *= 2;
  return work;
}

TEST_CASE("down the devices and back, devices wait for p - 1 passes with zero_bubble, 4 (p - 1) with 1f1b, of 6 m") {
  for (std::uint32_t p = 2; p <= 8; ++p)
    for (std::int64_t m = 1; m <= 24; ++m)
      for (const bool apart : {true, false}) {
        CAPTURE(p);
        CAPTURE(m);
        CAPTURE(apart);
        const auto length_of = [&](PipelineSchedule schedule) {
          const Played some = played(down_and_back(p, m, schedule, apart), schedule);
          for (std::uint32_t d = 0; d < p && schedule != PipelineSchedule::gpipe; ++d)
            CHECK(some.most_kept.at(d) <= (apart || d + 1 < p ? 2 : 1) * std::min<std::int64_t>(m, p));
          return some.length;
        };
        const std::int64_t alone = 6 * m, times = p - 1;
        CHECK(length_of(PipelineSchedule::gpipe) == alone + 6 * times);
        if (m >= p) CHECK(length_of(PipelineSchedule::one_f_one_b) == alone + 4 * times);
        if (2 * m >= 3 * p) CHECK(length_of(PipelineSchedule::zero_bubble) == alone + times);
      }
}

TEST_CASE("a device with two stages among others with one does not make those keep more") {
  for (const std::int64_t microbatches : {4, 12, 20}) {
    CAPTURE(microbatches);
    const Played some = played({{0, 1, 2, 0}, microbatches, PipelineSchedule::one_f_one_b});
    CHECK(some.length <= 2 * microbatches * 3 + 8);  // the first device works for two
    CHECK(some.most_kept.at(0) <= 6);
    CHECK(some.most_kept.at(1) <= 3);
    CHECK(some.most_kept.at(2) <= 2);
  }
}

TEST_CASE("all work is in the order, after what it needs, whatever the stages and times") {
  std::mt19937 random(5);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  for (int trial = 0; trial < 10'000; ++trial) {
    CAPTURE(trial);
    Pipeline pipeline{{}, draw(1, 9), static_cast<PipelineSchedule>(draw(0, 2)), draw(0, 5), draw(0, 5), draw(0, 5)};
    const std::int64_t devices = draw(1, 5);
    for (std::int64_t stages = draw(1, 10); stages > 0; --stages)
      pipeline.at.push_back(static_cast<std::uint32_t>(draw(0, devices - 1)));
    const std::int64_t alone = pipeline.microbatches * static_cast<std::int64_t>(pipeline.at.size()) *
                               (pipeline.forward + pipeline.backward +
                                (pipeline.schedule == PipelineSchedule::zero_bubble ? pipeline.weights : 0));
    CHECK(played(pipeline).length <= alone);
  }
}

TEST_CASE("work that needs itself has no order") {
  std::vector<PipelineWork> work = Pipeline{in_turn(2), 2}.work();
  work[0].needs.push_back(3);
  CHECK(!schedule_work(work, {{PipelineSchedule::gpipe}}));
}

}  // namespace
}  // namespace ferry
