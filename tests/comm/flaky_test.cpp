#include "comm/flaky.hpp"

#include "tests/comm/ends.hpp"
#include "tests/comm/world.hpp"

namespace ferry::test {
namespace {

struct Job {
  std::vector<std::unique_ptr<Transport>> ends;
  std::vector<std::shared_ptr<FlakyCount>> counts;
};

Job job_of(int tasks, const FlakyOptions& options) {
  Job job;
  for (auto& end : inproc_transports(tasks)) {
    job.counts.push_back(std::make_shared<FlakyCount>());
    job.ends.push_back(flaky_transport(std::move(end), options, job.counts.back()));
  }
  return job;
}

/// 30 messages on each of 3 channels to everybody, all under way at once.
void crowd(Transport& end) {
  std::vector<std::vector<std::byte>> out, in, wanted;
  std::vector<Ticket> tickets;
  const auto each = [&](auto f) {
    for (int k = 0; k < 30; ++k) {
      for (std::uint32_t channel = 0; channel < 3; ++channel) {
        for (int peer = 0; peer < end.tasks(); ++peer) f(peer, channel, k);
      }
    }
  };
  each([&](int peer, std::uint32_t channel, int k) {
    out.push_back(message(end.task(), peer, channel, k, 64));
    wanted.push_back(message(peer, end.task(), channel, k, 64));
    in.emplace_back(64);
  });
  std::size_t at = 0;
  each([&](int peer, std::uint32_t channel, int) {
    tickets.push_back(end.send(peer, channel, out[at]));
    tickets.push_back(end.receive(peer, channel, in[at]));
    ++at;
  });
  for (const Ticket ticket : tickets) finish(end, ticket);
  CHECK(in == wanted);
  (void)end.exchange("", seconds(20));
  end.close();
}

TEST_CASE("delays change neither bytes nor order") {
  const Job job = job_of(3, {.seed = 4, .delay = 0.3});
  run_ends(job.ends, crowd);
  for (const auto& count : job.counts) CHECK(count->delayed > 50);
}

TEST_CASE("equal seeds give equal faults, others give others") {
  const auto delays = [](std::uint64_t seed) {
    const Job job = job_of(2, {.seed = seed, .delay = 0.2, .longest_delay = 1});
    std::vector<std::byte> byte(1);
    std::string which;
    for (std::uint32_t channel = 0; channel < 100; ++channel) {
      const auto before = job.counts[0]->delayed;
      (void)job.ends[0]->send(1, channel, byte);
      which += job.counts[0]->delayed > before ? '1' : '0';
    }
    return which;
  };
  CHECK(delays(1) == delays(1));
  CHECK(delays(1) != delays(2));
}

TEST_CASE("a dropped message never arrives, nor does what follows on its channel") {
  const Job job = job_of(2, {.seed = 1, .drop = 1});
  std::vector<std::byte> out(4), in(4);
  const Ticket sending = job.ends[0]->send(1, 5, out);
  CHECK(job.ends[0]->done(sending));
  const Ticket receiving = job.ends[1]->receive(0, 5, in);
  for (int i = 0; i < 100; ++i) CHECK_FALSE(job.ends[1]->done(receiving));
  CHECK(job.counts[0]->dropped == 1);
}

TEST_CASE("a killed task throws and is silent; its end, gone, is a failure for the others") {
  Job job = job_of(2, {.kill_after = 1});
  std::vector<std::byte> byte(1);
  (void)job.ends[1]->send(0, 0, byte);
  CHECK(error_in([&] { (void)job.ends[1]->send(0, 1, byte); })->text() == "flaky: task 1 was killed");
  CHECK(error_in([&] { (void)job.ends[1]->done(1); }).has_value());
  CHECK_FALSE(job.ends[0]->failure().has_value());
  job.ends[1].reset();
  REQUIRE(job.ends[0]->failure().has_value());
  CHECK(job.ends[0]->failure()->task == 1);
  CHECK(error_in([&] { (void)job.ends[0]->receive(1, 0, byte); })->code() == Code::peer_lost);
}

TEST_CASE("a task that aborts as asked ends the job") {
  const Job job = job_of(2, {.abort_after = 0});
  std::vector<std::byte> byte(1);
  const auto error = error_in([&] { (void)job.ends[1]->send(0, 0, byte); });
  REQUIRE(error.has_value());
  CHECK(error->text().find("task 1 aborts as asked") != std::string::npos);
  CHECK(job.ends[0]->failure()->code == Code::numeric);
}

}  // namespace
}  // namespace ferry::test
