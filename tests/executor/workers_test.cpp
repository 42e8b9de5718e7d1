#include "executor/run/workers.hpp"

#include <doctest/doctest.h>

#include <new>
#include <numeric>
#include <vector>

#include "base/error.hpp"
#include "tests/support/allocations.hpp"

using namespace ferry;

namespace {

WorkersOptions crowd(int threads) {
  return {.threads = threads, .crowded = true, .on_start = {}};
}

/// A sum whose bits depend on the order of its additions: of each chunk, and then of the chunks' sums in order.
float chunked_sum(Workers& workers, const std::vector<float>& values, std::int64_t grain) {
  const auto n = static_cast<std::int64_t>(values.size());
  std::vector<float> sums(static_cast<std::size_t>((n - 1) / grain + 1));
  workers.for_each(n, grain, [&](std::int64_t begin, std::int64_t end) {
    sums[begin / grain] = std::accumulate(values.begin() + begin, values.begin() + end, 0.0F);
  });
  return std::accumulate(sums.begin(), sums.end(), 0.0F);
}

}  // namespace

TEST_CASE("where memory ends while threads are made, those made are joined") {
  bool made = false;
  for (std::int64_t nth = 1; !made; ++nth) {
    const test::NoMemoryAt none(nth);
    try {
      const Workers workers(crowd(4));
      made = !none.thrown();
    } catch (const Error& error) {
      CHECK(error.code() == Code::resource);
      CHECK(error.text().starts_with("threads: the system gives no more than "));
    } catch (const std::bad_alloc&) {
    }
  }
}

TEST_CASE("run calls the body once on each walker, again and again") {
  for (int threads : {1, 2, 4}) {
    Workers workers(crowd(threads));
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(threads));
    for (int round = 0; round < 50; ++round) {
      workers.run([&](int walker) { ++calls[walker]; });
    }
    for (auto& count : calls) CHECK(count == 50);
  }
}

TEST_CASE("for_each covers the range once, in chunks of at most the grain") {
  Workers workers(crowd(3));
  for (std::int64_t n : {0, 1, 7, 8, 9, 1000}) {
    std::vector<std::atomic<int>> hits(static_cast<std::size_t>(n));
    std::atomic<bool> aligned{true};
    workers.run([&](int walker) {
      if (walker != 0) return;
      workers.for_each(n, 8, [&](std::int64_t begin, std::int64_t end) {
        if (begin % 8 != 0 || end - begin > 8 || end <= begin) aligned = false;
        for (std::int64_t i = begin; i < end; ++i) ++hits[i];
      });
    });
    CHECK(aligned);
    for (auto& hit : hits) CHECK(hit == 1);
  }
}

TEST_CASE("a split sum has the same bits for any number of threads") {
  std::vector<float> values(10000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 1.0F / static_cast<float>(i + 1);
  Workers one(crowd(1));
  const float expected = chunked_sum(one, values, 100);
  for (int threads : {2, 4}) {
    Workers workers(crowd(threads));
    for (int round = 0; round < 20; ++round) {
      float got = 0;
      workers.run([&](int walker) {
        if (walker == 0) got = chunked_sum(workers, values, 100);
      });
      CHECK(got == expected);
    }
  }
}

TEST_CASE("all walkers split at once, and inside their splits") {
  Workers workers(crowd(4));
  std::array<std::atomic<std::int64_t>, 4> sums{};
  for (int round = 0; round < 20; ++round) {
    workers.run([&](int walker) {
      workers.for_each(16, 1, [&](std::int64_t outer, std::int64_t) {
        workers.for_each(8, 2, [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) sums[walker] += outer * 8 + i;
        });
      });
    });
  }
  for (auto& sum : sums) CHECK(sum == 20 * (127 * 128 / 2));
}

TEST_CASE("splits nested deeper than the slots run where they are") {
  Workers workers(crowd(2));
  std::atomic<int> leaves{0};
  std::function<void(int)> nest = [&](int depth) {
    if (depth == 0) {
      ++leaves;
      return;
    }
    workers.for_each(2, 1, [&](std::int64_t, std::int64_t) { nest(depth - 1); });
  };
  workers.run([&](int walker) {
    if (walker == 0) nest(7);
  });
  CHECK(leaves == 128);
}

TEST_CASE("what a chunk throws is thrown by for_each, and the workers go on") {
  Workers workers(crowd(3));
  for (int round = 0; round < 20; ++round) {
    std::string text;
    workers.run([&](int walker) {
      if (walker != 0) return;
      try {
        workers.for_each(100, 1, [](std::int64_t begin, std::int64_t) {
          if (begin == 40 || begin > 90) throw Error(Code::numeric, "chunk " + std::to_string(begin));
        });
      } catch (const Error& error) {
        text = error.text();
      }
    });
    CHECK(text == "chunk 40");
  }
  std::atomic<int> hits{0};
  workers.run([&](int walker) {
    if (walker == 0) workers.for_each(100, 1, [&](std::int64_t, std::int64_t) { ++hits; });
  });
  CHECK(hits == 100);
}

TEST_CASE("a walker that waits helps the one it waits for") {
  Workers workers(crowd(2));
  std::atomic<bool> helped{false};
  std::atomic<bool> done{false};
  workers.run([&](int walker) {
    if (walker == 1) {
      workers.wait([&] { return done.load(); });
      return;
    }
    // Chunk 0 ends only once chunk 1 has run: so the other walker must run that.
    workers.for_each(2, 1, [&](std::int64_t begin, std::int64_t) {
      if (begin == 1) helped = true;
      while (!helped) std::this_thread::yield();
    });
    done.store(true);
    workers.notify();
  });
  CHECK(helped);
}

TEST_CASE("who splits begins with the first chunk, who helps with the last one") {
  Workers workers(crowd(2));
  std::atomic<std::int64_t> mine{-1}, helped{-1};
  std::atomic<bool> done{false};
  workers.run([&](int walker) {
    if (walker == 1) {
      workers.wait([&] { return done.load(); });
      return;
    }
    const auto splitter = std::this_thread::get_id();
    workers.for_each(10, 1, [&](std::int64_t begin, std::int64_t) {
      std::int64_t none = -1;
      (std::this_thread::get_id() == splitter ? mine : helped).compare_exchange_strong(none, begin);
      while (mine < 0 || helped < 0) std::this_thread::yield();
    });
    done.store(true);
    workers.notify();
  });
  CHECK(mine == 0);
  CHECK(helped == 9);
}

TEST_CASE("walker 0 is told between its chunks") {
  Workers workers(crowd(1));
  int polls = 0;
  workers.on_chunk([&] { ++polls; });
  workers.run([&](int) { workers.for_each(64, 1, [](std::int64_t, std::int64_t) {}); });
  CHECK(polls == 64);
}

TEST_CASE("for_each from a thread that is no walker covers the range") {
  Workers workers(crowd(2));
  int sum = 0;
  workers.for_each(10, 3, [&](std::int64_t begin, std::int64_t end) { sum += static_cast<int>(end - begin); });
  CHECK(sum == 10);
}
