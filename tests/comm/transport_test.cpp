#include "comm/transport.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <random>
#include <thread>

#include "tests/comm/world.hpp"

namespace ferry::test {
namespace {

using Bytes = std::vector<std::byte>;

/// Sends `bytes` bytes to everybody and receives as much from everybody, `count` times on each of `channels`.
struct AllToAll {
  std::uint32_t channels = 1;
  int count = 1;
  std::size_t bytes = 0;

  void operator()(Transport& end) const {
    std::vector<Bytes> out, in, wanted;
    std::vector<Ticket> tickets;
    for (int peer = 0; peer < end.tasks(); ++peer) {
      for (std::uint32_t channel = 0; channel < channels; ++channel) {
        for (int k = 0; k < count; ++k) {
          out.push_back(message(end.task(), peer, channel, k, bytes));
          wanted.push_back(message(peer, end.task(), channel, k, bytes));
          in.emplace_back(bytes);
        }
      }
    }
    // Half of the receives are posted before the sends, half after.
    const auto start = [&](std::size_t i, bool sends) {
      const int peer = static_cast<int>(i / (channels * static_cast<std::size_t>(count)));
      const auto channel = static_cast<std::uint32_t>(i / static_cast<std::size_t>(count) % channels);
      tickets.push_back(sends ? end.send(peer, channel, out[i]) : end.receive(peer, channel, in[i]));
    };
    for (std::size_t i = 0; i < in.size() / 2; ++i) start(i, false);
    for (std::size_t i = 0; i < in.size(); ++i) start(i, true);
    for (std::size_t i = in.size() / 2; i < in.size(); ++i) start(i, false);
    for (const Ticket ticket : tickets) finish(end, ticket);
    for (std::size_t i = 0; i < in.size(); ++i) CHECK(in[i] == wanted[i]);
    CHECK(end.sent().messages >= static_cast<std::int64_t>(in.size()));
    CHECK(end.sent().bytes >= static_cast<std::int64_t>(in.size() * bytes));
  }
};

TEST_CASE("tasks are numbered") {
  on_jobs([](Transport& end) {
    CHECK(end.task() >= 0);
    CHECK(end.task() < end.tasks());
    CHECK_FALSE(end.failure().has_value());
  });
}

TEST_CASE("between tasks of one host there are no links that could be slow") {
  on_jobs([](Transport& end) {
    AllToAll{.bytes = 1 << 20}(end);
    CHECK(end.links().empty());
  });
}

TEST_CASE("a transport tells that messages move") {
  on_jobs([](Transport& end) {
    const std::uint64_t before = end.moved();
    AllToAll{.bytes = 1 << 20}(end);
    CHECK((end.tasks() == 1 || end.moved() != before));
  });
}

TEST_CASE("messages of a channel arrive in order") {
  on_jobs(AllToAll{.count = 20, .bytes = 40});
}
TEST_CASE("channels are independent") {
  on_jobs(AllToAll{.channels = 50, .count = 2, .bytes = 8});
}
TEST_CASE("messages of no bytes arrive") {
  on_jobs(AllToAll{.channels = 3, .count = 3, .bytes = 0});
}
TEST_CASE("large messages arrive, in both directions at once") {
  on_jobs(AllToAll{.count = 2, .bytes = 1'000'001});
}

TEST_CASE("channels may be served in any order") {
  on_jobs([](Transport& end) {
    constexpr int kChannels = 24;
    std::vector<Bytes> out, in;
    for (int i = 0; i < kChannels * end.tasks(); ++i) {
      out.push_back(message(end.task(), i % end.tasks(), static_cast<std::uint32_t>(i), 0, 100));
      in.emplace_back(100);
    }
    std::vector<int> starts(out.size() * 2);
    for (std::size_t i = 0; i < starts.size(); ++i) starts[i] = static_cast<int>(i);
    std::mt19937 random(static_cast<unsigned>(7 + end.task()));
    std::shuffle(starts.begin(), starts.end(), random);
    std::vector<Ticket> tickets;
    const auto size = static_cast<int>(out.size());
    for (const int s : starts) {
      const auto channel = static_cast<std::uint32_t>(s % size) / static_cast<std::uint32_t>(end.tasks());
      const int peer = s % size % end.tasks();
      const auto at = static_cast<std::size_t>(s % size);
      tickets.push_back(s < size ? end.send(peer, channel, out[at]) : end.receive(peer, channel, in[at]));
    }
    std::shuffle(tickets.begin(), tickets.end(), random);
    for (const Ticket ticket : tickets) finish(end, ticket);
    for (int i = 0; i < size; ++i) {
      const int peer = i % end.tasks();
      const int of_peer = i - peer + end.task();
      CHECK(in[i] == message(peer, end.task(), static_cast<std::uint32_t>(of_peer), 0, 100));
    }
  });
}

/// A message on channel 0, received as plans do it: by take() where the transport offers that, else by receive().
class Arrival {
 public:
  Arrival(Transport& end, int peer, std::span<std::byte> bytes) : end_(end), peer_(peer), bytes_(bytes) {
    if (end.shared_memory() == nullptr || !end.shared_memory()->takes(peer, bytes.size()))
      ticket_ = end.receive(peer, 0, bytes);
  }
  [[nodiscard]] bool done() { return ticket_ ? end_.done(*ticket_) : end_.shared_memory()->take(peer_, 0, bytes_); }

 private:
  Transport& end_;
  int peer_;
  std::span<std::byte> bytes_;
  std::optional<Ticket> ticket_;
};

TEST_CASE("plans whose messages differ in size take turns on a channel") {
  constexpr std::uint32_t kSignal = 1;
  on_jobs([](Transport& end) {
    const std::array<std::size_t, 6> sizes{0, 3, 48, 49, 1456, 20'000};
    const int next = (end.task() + 1) % end.tasks(), before = (end.task() + end.tasks() - 1) % end.tasks();
    int number = 0;
    // A step of one plan: it sends, receives, and waits for all of its messages.
    const auto step = [&](std::size_t bytes, bool sender_first, bool shared) {
      const Bytes out = message(end.task(), next, 0, ++number, bytes);
      const auto memory = shared && bytes > 0 ? end.memory(bytes, "what arrives") : nullptr;
      Bytes plain(bytes);
      const std::span<std::byte> in(memory ? memory.get() : plain.data(), bytes);
      Bytes signal(1);
      const Ticket signalled = end.receive(before, kSignal, signal);
      std::optional<Ticket> sending;
      if (sender_first) {  // the message is sent before its receive is posted
        sending = end.send(next, 0, out);
        finish(end, end.send(next, kSignal, Bytes(1)));
        finish(end, signalled);
      }
      Arrival arrival(end, before, in);
      if (!sender_first) {
        finish(end, end.send(next, kSignal, Bytes(1)));
        finish(end, signalled);
        sending = end.send(next, 0, out);
      }
      const Deadline deadline = seconds(20);
      while (!arrival.done()) {
        if (deadline.expired()) throw Error(Code::stalled, "a message did not arrive");
        end.idle(std::chrono::milliseconds(10));
      }
      finish(end, *sending);
      CHECK(std::ranges::equal(in, message(before, end.task(), 0, number, bytes)));
    };
    for (const std::size_t a : sizes)
      for (const std::size_t b : sizes)
        for (const bool sender_first : {true, false})
          for (const bool shared : {true, false})
            for (const std::size_t bytes : {a, b}) step(bytes, sender_first, shared);
  });
}

TEST_CASE("a message that meets another size is an error, not a wrong result") {
  on_jobs(
      [](Transport& end) {
        if (end.tasks() == 1) return end.close();
        if (end.task() > 1) {
          CHECK(error_in([&] { (void)end.exchange("", seconds(20)); })->code() == Code::peer_lost);
          return;
        }
        const Bytes out(12);
        Bytes in(16);
        const auto error = error_in([&] {
          finish(end, end.task() == 0 ? end.send(1, 4, out) : end.receive(0, 4, in));
          finish(end, end.task() == 0 ? end.receive(1, 4, in) : end.send(0, 4, out));
          (void)end.exchange("", seconds(20));
        });
        REQUIRE(error.has_value());
        if (error->code() != Code::peer_lost) {
          CHECK(error->text().find("12 bytes sent, 16 expected") != std::string::npos);
          end.abort({end.task(), Code::bug, error->text()});
        }
      },
      false);
}

TEST_CASE("an exchange gives everybody all texts, in task order") {
  on_jobs([](Transport& end) {
    for (int round = 0; round < 20; ++round) {
      // Long and empty ones, and a NUL.
      const auto text = [&](int task) {
        return round % 5 == 4 ? std::string()
                              : std::to_string(task) + std::string(1, '\0') +
                                    std::string(static_cast<std::size_t>(round * round * 37 * task), 'x');
      };
      const auto all = end.exchange(text(end.task()), seconds(20));
      REQUIRE(all.size() == static_cast<std::size_t>(end.tasks()));
      for (int task = 0; task < end.tasks(); ++task) CHECK(all[task] == text(task));
    }
  });
}

TEST_CASE("an exchange names who did not come before the deadline") {
  on_jobs([](Transport& end) {
    if (end.tasks() == 1) return;
    Bytes signal(1);
    if (end.task() != 1) {
      const Deadline soon(system_clock(), std::chrono::milliseconds(100));
      const auto error = error_in([&] { (void)end.exchange("here", soon); });
      REQUIRE(error.has_value());
      CHECK(error->code() == Code::stalled);
      CHECK(error->text().starts_with("exchange: "));
      CHECK(error->text().find('1') != std::string::npos);
      finish(end, end.send(1, 0, signal));
      return;
    }
    for (int peer = 0; peer < end.tasks(); ++peer) {
      if (peer != 1) finish(end, end.receive(peer, 0, signal));
    }
  });
}

TEST_CASE("a failure reaches everybody, with its code and text") {
  on_jobs(
      [](Transport& end) {
        const int who = end.tasks() - 1;
        if (end.task() == who) end.abort({who, Code::numeric, "loss: NaN in step 7"});
        Bytes in(8);
        const auto error = error_in([&] { finish(end, end.receive(who, 0, in)); });
        REQUIRE(error.has_value());
        CHECK(error->code() == Code::peer_lost);
        CHECK(error->text().find("loss: NaN in step 7") != std::string::npos);
        CHECK(error->text().find("task " + std::to_string(who)) != std::string::npos);
        REQUIRE(end.failure().has_value());
        CHECK(end.failure()->task == who);
        CHECK(end.failure()->code == Code::numeric);
        CHECK(error_in([&] { (void)end.exchange("", seconds(20)); })->code() == Code::peer_lost);
        CHECK(error_in([&] { end.idle(std::chrono::seconds(20)); })->code() == Code::peer_lost);
        CHECK(error_in([&] { (void)end.send(0, 9, in); })->code() == Code::peer_lost);
      },
      false);
}

TEST_CASE("a failed job begins anew, where it can, without the messages of the failed one") {
  on_jobs(
      [](Transport& end) {
        const Bytes old(40);
        const auto fail_and_renew = [&](Transport& job) {
          const int who = job.tasks() - 1;
          for (int peer = 0; peer < job.tasks(); ++peer)
            static_cast<void>(error_in([&] { (void)job.send(peer, 0, old); }));
          Bytes in(8);
          if (job.task() == who) {  // fails once the others are done with what came before
            for (int peer = 0; peer < who; ++peer) finish(job, job.receive(peer, 7, in));
            job.abort({who, Code::numeric, "loss: NaN"});
          } else {
            static_cast<void>(error_in([&] { finish(job, job.send(who, 7, in)); }));
          }
          CHECK(error_in([&] { finish(job, job.receive(who, 1, in)); })->code() == Code::peer_lost);
          return job.renewed(std::chrono::seconds(20));
        };
        const auto next = fail_and_renew(end);
        if (next == nullptr) return;
        AllToAll{.channels = 3, .count = 5, .bytes = 40}(*next);
        const auto last = fail_and_renew(*next);
        AllToAll{.channels = 3, .count = 5, .bytes = 40}(*last);
        AllToAll{.count = 2, .bytes = 100'001}(*last);
        CHECK(last->exchange("here", seconds(20)).size() == static_cast<std::size_t>(end.tasks()));
        CHECK(end.failure().has_value());
        CHECK_FALSE(last->failure().has_value());
        next->close();
        last->close();
      },
      false);
}

TEST_CASE("a failure ends an exchange") {
  on_jobs(
      [](Transport& end) {
        if (end.task() == 0) end.abort({0, Code::file, "graph.pb: is empty"});
        const auto error = error_in([&] { (void)end.exchange("", seconds(20)); });
        REQUIRE(error.has_value());
        CHECK(error->code() == Code::peer_lost);
        CHECK(error->text().find("graph.pb: is empty") != std::string::npos);
      },
      false);
}

TEST_CASE("of two failures one is the first, for everybody alike or for its own task") {
  on_jobs(
      [](Transport& end) {
        end.abort({end.task(), Code::bug, "failure of " + std::to_string(end.task())});
        const auto first = end.failure();
        REQUIRE(first.has_value());
        CHECK(first->text == "failure of " + std::to_string(first->task));
        end.abort({end.task(), Code::bug, "a later one"});
        CHECK(end.failure()->text == first->text);
      },
      false);
}

TEST_CASE("an exchange with a task that has closed does not wait") {
  on_jobs(
      [](Transport& end) {
        if (end.tasks() == 1 || end.task() == 0) return end.close();
        const auto error = error_in([&] { (void)end.exchange("", seconds(20)); });
        REQUIRE(error.has_value());
        CHECK(error->code() == Code::peer_lost);
        end.close();
      },
      false);
}

TEST_CASE("messages go on while every core computes") {
  on_jobs([](Transport& end) {
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> work{0};
    std::vector<std::thread> others;
    for (unsigned i = 0; i < 2; ++i) {
      others.emplace_back([&] {
        while (!stop.load(std::memory_order_relaxed)) work.fetch_add(1, std::memory_order_relaxed);
      });
    }
    while (work == 0) std::this_thread::yield();
    const auto error = error_in([&] { AllToAll{.channels = 5, .count = 5, .bytes = 20'000}(end); });
    stop = true;
    for (std::thread& other : others) other.join();
    if (error) throw *error;
  });
}

TEST_CASE("an idle task wakes when its message comes") {
  on_jobs([](Transport& end) {
    // A ring of hops: each waits for its neighbour, so a wake-up that is missed costs 10 s.
    const int next = (end.task() + 1) % end.tasks(), before = (end.task() + end.tasks() - 1) % end.tasks();
    const Deadline deadline = seconds(20);
    Bytes token(1);
    for (int hop = 0; hop < 300; ++hop) {
      const Ticket receiving = end.receive(before, 0, token);
      if (end.task() == 0) finish(end, end.send(next, 0, Bytes(1)));
      while (!end.done(receiving)) {
        REQUIRE_FALSE(deadline.expired());
        end.idle(std::chrono::seconds(10));
      }
      if (end.task() != 0) finish(end, end.send(next, 0, Bytes(1)));
    }
  });
}

}  // namespace
}  // namespace ferry::test
