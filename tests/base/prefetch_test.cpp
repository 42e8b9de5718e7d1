#include "base/files/prefetch.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <new>

#include "base/error.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/throws.hpp"

namespace ferry {
namespace {

std::int64_t number_in(std::span<const std::byte> block) {
  std::int64_t number = 0;
  std::memcpy(&number, block.data(), sizeof number);
  return number;
}

void write_number(std::int64_t number, std::span<std::byte> block) {
  std::memcpy(block.data(), &number, sizeof number);
}

TEST_SUITE_BEGIN("base/prefetch");

TEST_CASE("prefetch: each step's block, in order, again, and from anywhere") {
  Prefetcher blocks(sizeof(std::int64_t), 3, 2, write_number);
  for (std::int64_t step : {0, 1, 2, 3, 4, 5, 5, 0, 1, 1000000007, 1000000008})
    CHECK(number_in(blocks.take(step)) == step);
}

TEST_CASE("prefetch: no more than the steps ahead are made") {
  std::atomic<std::int64_t> most{0};
  Prefetcher blocks(sizeof(std::int64_t), 2, 1, [&](std::int64_t step, std::span<std::byte> block) {
    write_number(step, block);
    most = std::max(most.load(), step);
  });
  for (std::int64_t step = 0; step < 100; ++step) {
    CHECK(number_in(blocks.take(step)) == step);
    CHECK(most <= step + 2);
  }
}

TEST_CASE("prefetch: an error comes with its step, and later steps are there") {
  Prefetcher blocks(sizeof(std::int64_t), 4, 2, [](std::int64_t step, std::span<std::byte> block) {
    if (step == 3) throw Error(Code::file, "step 3 is damaged");
    write_number(step, block);
  });
  for (std::int64_t step : {0, 1, 2}) CHECK(number_in(blocks.take(step)) == step);
  CHECK(test::error_of([&] { static_cast<void>(blocks.take(3)); }).text() == "step 3 is damaged");
  CHECK(number_in(blocks.take(4)) == 4);
}

/// Makes a Prefetcher in a child process that may not create threads; returns 0 when the error says so.
int exit_without_threads() {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit none{0, 0};
    if (::setrlimit(RLIMIT_NPROC, &none) != 0 || (::getuid() == 0 && ::setuid(65534) != 0)) ::_exit(2);
    const Error error = test::error_of([] { Prefetcher blocks(8, 1, 2, write_number); });
    ::_exit(error.code() == Code::resource && error.text().find("no thread") != std::string::npos ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_CASE("prefetch: where no thread can be made, an error says so") {
  CHECK(exit_without_threads() == 0);
}

TEST_CASE("prefetch: where memory ends while threads are made, those made are joined") {
  bool made = false;
  for (std::int64_t nth = 1; !made; ++nth) {
    const test::NoMemoryAt none(nth);
    try {
      const Prefetcher blocks(8, 1, 4, write_number);
      made = !none.thrown();
    } catch (const Error& error) {
      CHECK(error.code() == Code::resource);
    } catch (const std::bad_alloc&) {
    }
  }
}

TEST_CASE("prefetch: left at any time, it ends") {
  for (int taken = 0; taken < 3; ++taken) {
    Prefetcher blocks(sizeof(std::int64_t), 8, 2, write_number);
    for (std::int64_t step = 0; step < taken; ++step) static_cast<void>(blocks.take(step));
  }
}

TEST_SUITE_END();

}  // namespace
}  // namespace ferry
