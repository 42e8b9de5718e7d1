#include <cstring>
#include <numeric>

#include "comm/backends.hpp"
#include "comm/distance.hpp"
#include "comm/group.hpp"
#include "tests/comm/ends.hpp"
#include "tests/comm/world.hpp"

namespace ferry::test {
namespace {

/// Memory of this task that its peers can reach.
struct Shared {
  Shared(Transport& end, std::size_t bytes) : owner(end.memory(bytes, "a test")), span(owner.get(), bytes) {}
  std::shared_ptr<std::byte> owner;
  std::span<std::byte> span;
};

void on_two(const std::function<void(Transport&)>& body) {
  auto ends = inproc_transports(2);
  run_tasks(2, [&](int task) {
    const auto end = shared_memory_transport(std::move(ends[task]), 1, std::chrono::seconds(20));
    run_end(*end, [&](Transport& running) {
      body(running);
      running.close();
    });
  });
}

TEST_CASE("a core is far until lines come fast, and again when they come slowly; one that is late says nothing") {
  using std::chrono::nanoseconds;
  Distance distance;
  CHECK(distance.far());
  for (int i = 0; i < 10; ++i) distance.took(nanoseconds(40));
  CHECK_FALSE(distance.far());
  distance.took(std::chrono::milliseconds(3));
  CHECK_FALSE(distance.far());
  distance.took(nanoseconds(40));
  for (int i = 0; i < 10; ++i) distance.took(nanoseconds(200));
  CHECK(distance.far());
  distance.took(nanoseconds(40));
  CHECK(distance.far());
}

float term(int task, int round, std::int64_t i) {
  return static_cast<float>((i * 2654435761 + task * 40503 + round * 977) % 1'000'003) * (task % 2 == 0 ? 1e-3F : 1e3F);
}

/// A barrier for the task `last` alone: it returns there when all others have called it.
void come_last(Transport& end, int last) {
  constexpr std::uint32_t kChannel = 10;
  std::byte word{};
  if (end.task() != last) return finish(end, end.send(last, kChannel, {&word, 1}));
  for (int task = 0; task < end.tasks(); ++task)
    if (task != last) finish(end, end.receive(task, kChannel, {&word, 1}));
}

/// Checks several rounds of an all-reduce over the same buffers; in each round another task starts last.
void all_reduce_shared(Transport& end, const Schedule& schedule, std::int64_t count, bool in_place) {
  const int tasks = end.tasks();
  std::vector<std::int64_t> parts;
  std::vector<std::int32_t> everybody;
  for (int i = 0; i < tasks; ++i) {
    if (!schedule.whole) parts.push_back(part_of(count, tasks, i).size);
    everybody.push_back(i);
  }
  if (schedule.whole) parts.push_back(count);
  const auto bytes = static_cast<std::size_t>(count) * sizeof(float);
  const Shared in(end, bytes), apart(end, bytes), &out = in_place ? in : apart;
  Shared staging(end, static_cast<std::size_t>(staging_bytes(schedule, parts, DType::float32, end.task())));
  const Fold fold = [](std::byte* output, const std::byte* left, const std::byte* right, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i)
      reinterpret_cast<float*>(output)[i] =
          reinterpret_cast<const float*>(left)[i] + reinterpret_cast<const float*>(right)[i];
  };
  const auto call = prepare_call(end, {.schedule = schedule,
                                       .parts = parts,
                                       .tasks = everybody,
                                       .member = end.task(),
                                       .channel = 9,
                                       .dtype = DType::float32,
                                       .input = in.span.data(),
                                       .output = out.span.data(),
                                       .staging = staging.span,
                                       .fold = fold});
  for (int round = 0; round < 5; ++round) {
    come_last(end, round % tasks);
    auto* mine = reinterpret_cast<float*>(in.span.data());
    for (std::int64_t i = 0; i < count; ++i) mine[i] = term(end.task(), round, i);
    call->start();
    const Deadline deadline = seconds(20);
    while (!call->progress()) {
      REQUIRE_FALSE(deadline.expired());
      end.idle(std::chrono::milliseconds(1));
    }
    const auto* sums = reinterpret_cast<const float*>(out.span.data());
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      float sum = term(0, round, i);
      for (int task = 1; task < tasks; ++task) sum += term(task, round, i);
      wrong += std::memcmp(&sum, &sums[i], sizeof sum) != 0;
    }
    CHECK(wrong == 0);
    CHECK(call->moved().sent_messages == (round + 1) * schedule.sends_of(end.task()));
    CHECK(call->moved().received_bytes == (round + 1) * 4 * schedule.received_elements(parts, end.task()));
  }
}

TEST_CASE("messages of all sizes land in shared memory, whoever comes first") {
  on_two([](Transport& end) {
    const int peer = 1 - end.task();
    for (const std::size_t bytes : {0U, 1U, 48U, 49U, 64U, 2047U, 2048U, 4099U, 70'001U, 3'000'003U}) {
      CAPTURE(bytes);
      Shared in(end, bytes + 13);
      const auto target = in.span.subspan(13, bytes);  // not aligned
      for (const bool receive_first : {true, false}) {
        const auto out = message(end.task(), peer, 3, receive_first, bytes);
        Ticket receiving = 0;
        if (receive_first) receiving = end.receive(peer, 3, target);
        const Ticket sending = end.send(peer, 3, out);
        if (!receive_first) receiving = end.receive(peer, 3, target);
        finish(end, receiving);
        finish(end, sending);
        CHECK(std::ranges::equal(target, message(peer, end.task(), 3, receive_first, bytes)));
        CHECK(std::all_of(in.span.begin(), in.span.begin() + 13, [](std::byte b) { return b == std::byte{0}; }));
      }
    }
  });
}

TEST_CASE("a channel keeps its order over sizes and kinds of memory") {
  on_two([](Transport& end) {
    const int peer = 1 - end.task();
    const std::size_t sizes[] = {8, 100, 5000, 40, 60'000, 8, 300};
    std::vector<std::vector<std::byte>> out, plain;
    std::vector<std::unique_ptr<Shared>> shared;
    std::vector<std::span<std::byte>> in;
    std::vector<Ticket> tickets;
    for (int k = 0; k < 70; ++k) {
      const std::size_t bytes = sizes[k % 7];
      out.push_back(message(end.task(), peer, 0, k, bytes));
      if (k % 3 == 0) {
        in.push_back(plain.emplace_back(bytes));
      } else {
        in.push_back(shared.emplace_back(std::make_unique<Shared>(end, bytes))->span);
      }
    }
    const auto receive_all = [&] {
      for (int k = 0; k < 70; ++k) tickets.push_back(end.receive(peer, 0, in[k]));
    };
    if (end.task() == 0) receive_all();
    for (const auto& bytes : out) tickets.push_back(end.send(peer, 0, bytes));
    if (end.task() == 1) receive_all();
    for (const Ticket ticket : tickets) finish(end, ticket);
    for (int k = 0; k < 70; ++k) CHECK(std::ranges::equal(in[k], message(peer, end.task(), 0, k, sizes[k % 7])));
  });
}

TEST_CASE("more messages than a lane has room for, with nobody looking") {
  on_two([](Transport& end) {
    const int peer = 1 - end.task();
    for (const std::size_t bytes : {16U, 200U}) {
      std::vector<std::vector<std::byte>> out;
      std::vector<std::unique_ptr<Shared>> in;
      std::vector<Ticket> tickets;
      for (int k = 0; k < 1000; ++k) {
        out.push_back(message(end.task(), peer, 5, k, bytes));
        in.push_back(std::make_unique<Shared>(end, bytes));
      }
      for (const auto& message : out) tickets.push_back(end.send(peer, 5, message));
      for (const auto& buffer : in) tickets.push_back(end.receive(peer, 5, buffer->span));
      for (const Ticket ticket : tickets) finish(end, ticket);
      for (int k = 0; k < 1000; ++k) CHECK(std::ranges::equal(in[k]->span, message(peer, end.task(), 5, k, bytes)));
    }
  });
}

TEST_CASE("long messages of another size than their receives are errors") {
  for (const auto& sizes : {std::pair<std::size_t, std::size_t>{100, 200}, {5000, 8}, {8, 5000}}) {
    const std::size_t sent = sizes.first, expected = sizes.second;
    CAPTURE(sent);
    auto ends = inproc_transports(2);
    run_tasks(2, [&](int task) {
      const auto end = shared_memory_transport(std::move(ends[task]), 1, std::chrono::seconds(20));
      Shared in(*end, expected);
      const std::vector<std::byte> out(sent);
      const auto error = error_in([&] {
        finish(*end, task == 0 ? end->send(1, 4, out) : end->receive(0, 4, in.span));
        static_cast<void>(end->exchange("", seconds(20)));
      });
      if (task == 1) {
        REQUIRE(error.has_value());
        CHECK(error->text().find(std::to_string(sent) + " bytes sent, " + std::to_string(expected) + " expected") !=
              std::string::npos);
        end->abort({1, Code::bug, error->text()});
      }
    });
  }
}

/// Waits until the next message of the channel has come, and takes it.
void take(Transport& end, int peer, std::uint32_t channel, std::span<std::byte> bytes) {
  const Deadline deadline = seconds(20);
  while (!end.shared_memory()->take(peer, channel, bytes)) {
    if (deadline.expired()) throw Error(Code::stalled, "a message did not arrive");
    end.idle(std::chrono::milliseconds(10));
  }
}

TEST_CASE("short messages are taken without a receive, channels in any order, beside long ones that are received") {
  on_two([](Transport& end) {
    const int peer = 1 - end.task();
    CHECK(end.shared_memory()->takes(peer, 0));
    CHECK(end.shared_memory()->takes(peer, 48));
    CHECK_FALSE(end.shared_memory()->takes(peer, 49));
    for (int round = 0; round < 100; ++round) {
      CAPTURE(round);
      Shared in(end, 300);
      const Ticket receiving = end.receive(peer, 9, in.span);
      std::vector<std::vector<std::byte>> out;
      std::vector<Ticket> sends;
      for (std::uint32_t channel = 0; channel < 4; ++channel)
        for (int k = 0; k < 3; ++k) out.push_back(message(end.task(), peer, channel, 3 * round + k, 4 * channel));
      out.push_back(message(end.task(), peer, 9, round, 300));
      for (std::size_t i = 0; i < out.size(); ++i)
        sends.push_back(end.send(peer, i < 12 ? static_cast<std::uint32_t>(i / 3) : 9, out[i]));
      for (const std::uint32_t channel : {2U, 0U, 3U, 1U}) {
        for (int k = 0; k < 3; ++k) {
          std::vector<std::byte> got(4 * channel);
          take(end, peer, channel, got);
          CHECK(got == message(peer, end.task(), channel, 3 * round + k, got.size()));
        }
      }
      finish(end, receiving);
      CHECK(std::ranges::equal(in.span, message(peer, end.task(), 9, round, 300)));
      for (const Ticket sending : sends) finish(end, sending);
    }
  });
}

TEST_CASE("a message of another size than what is taken is an error, also when it came before somebody asked") {
  for (const std::size_t sent : {8U, 5000U}) {
    for (const bool looked_for_others : {false, true}) {
      CAPTURE(sent);
      auto ends = inproc_transports(2);
      run_tasks(2, [&](int task) {
        const auto end = shared_memory_transport(std::move(ends[task]), 1, std::chrono::seconds(20));
        const std::vector<std::byte> out(sent), mark(4);
        std::vector<std::byte> in(16), other(4);
        const auto error = error_in([&] {
          if (task == 0) {
            const Ticket sending = end->send(1, 4, out);
            finish(*end, end->send(1, 5, mark));
            finish(*end, sending);
          } else {
            if (looked_for_others) take(*end, 0, 5, other);
            take(*end, 0, 4, in);
          }
          static_cast<void>(end->exchange("", seconds(20)));
        });
        if (task == 1) {
          REQUIRE(error.has_value());
          CHECK(error->text().find(std::to_string(sent) + " bytes sent, 16 expected") != std::string::npos);
          end->abort({1, Code::bug, error->text()});
        }
      });
    }
  }
}

TEST_CASE("a window is where the next message lands") {
  on_two([](Transport& end) {
    constexpr std::size_t kBytes = 5000;
    Shared in(end, kBytes);
    const auto sent = message(0, 1, 2, 0, kBytes);
    if (end.task() == 1) {
      const Ticket receiving = end.receive(0, 2, in.span);
      static_cast<void>(end.exchange("", seconds(20)));
      finish(end, receiving);
      CHECK(std::ranges::equal(in.span, sent));
      return;
    }
    static_cast<void>(end.exchange("", seconds(20)));
    CHECK(end.shared_memory()->window(1, 2, kBytes + 1) == nullptr);
    CHECK(end.shared_memory()->window(1, 3, kBytes) == nullptr);
    CHECK(end.shared_memory()->window(0, 2, kBytes) == nullptr);
    std::byte* window = end.shared_memory()->window(1, 2, kBytes);
    REQUIRE(window != nullptr);
    std::memcpy(window, sent.data(), kBytes);
    finish(end, end.send(1, 2, {window, kBytes}));
    CHECK(end.shared_memory()->window(1, 2, kBytes) == nullptr);
  });
}

TEST_CASE("an all-reduce into shared memory gives the bits of a fold in order, on every member") {
  for (const int tasks : {2, 3}) {
    auto ends = inproc_transports(tasks);
    run_tasks(tasks, [&](int task) {
      const auto owner = shared_memory_transport(std::move(ends[task]), 1, std::chrono::seconds(20));
      run_end(*owner, [&](Transport& end) {
        for (const std::int64_t count : {1, 11, 3000, 100'000, 1'000'003})
          for (const Schedule& schedule :
               {direct_schedule(CollectiveKind::all_reduce, end.tasks()), one_shot_schedule(end.tasks())})
            for (const bool in_place : {false, true}) {
              all_reduce_shared(end, schedule, count, in_place);
              all_reduce_shared(end, in_shared_memory(schedule), count, in_place);
            }
        end.close();
      });
    });
  }
}

TEST_CASE("memory is zeroed, apart, and given back") {
  on_two([](Transport& end) {
    constexpr std::size_t kBytes = 3 << 20;
    std::byte* first_place = nullptr;
    for (int round = 0; round < 3; ++round) {
      Shared a(end, kBytes), b(end, 100);
      CHECK((a.span.data() + kBytes <= b.span.data() || b.span.data() + 100 <= a.span.data()));
      CHECK(reinterpret_cast<std::uintptr_t>(b.span.data()) % 4096 == 0);
      CHECK(std::all_of(a.span.begin(), a.span.end(), [](std::byte x) { return x == std::byte{0}; }));
      std::memset(a.span.data(), 0x5a, kBytes);
      if (round == 0) first_place = a.span.data();
      CHECK(a.span.data() == first_place);
    }
  });
}

TEST_CASE("more memory than the machine has is an error with its size") {
  on_two([](Transport& end) {
    const auto error = error_in([&] { static_cast<void>(end.memory(std::uint64_t{1} << 60, "the arena of a test")); });
    REQUIRE(error.has_value());
    CHECK(error->code() == Code::resource);
    CHECK(error->text().find("the arena of a test") != std::string::npos);
  });
}

}  // namespace
}  // namespace ferry::test
