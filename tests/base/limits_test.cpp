#include "base/system/limits.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "base/system/machine.hpp"
#include "tests/support/skip.hpp"

namespace ferry {
namespace {

TEST_CASE("the memory of this host is known") {
  struct sysinfo info {};
  REQUIRE(sysinfo(&info) == 0);
  CHECK(installed_memory_bytes() == std::uint64_t{info.totalram} * info.mem_unit);
  CHECK(installed_memory_bytes() <= memory_and_swap_bytes());
}

TEST_CASE("the lowest limit of memory is named") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  FERRY_SKIP("a sanitizer needs more addresses");
#endif
  const std::string before = memory_limit_text();
  rlimit addresses{};
  REQUIRE(getrlimit(RLIMIT_AS, &addresses) == 0);
  const auto with = [&](rlim_t most) {
    const rlimit limit{most, addresses.rlim_max};
    REQUIRE(setrlimit(RLIMIT_AS, &limit) == 0);
    const std::string text = memory_limit_text();
    setrlimit(RLIMIT_AS, &addresses);
    return text;
  };
  CHECK(with(rlim_t{1} << 60) == before);
  CHECK(with(rlim_t{3} << 29) == "this process may have 1.5 GiB of addresses (ulimit -v)");
}

TEST_CASE("the threads of a process are limited, at the latest by the addresses of their stacks") {
  CHECK(most_threads() > 0);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  FERRY_SKIP("a sanitizer needs more addresses");
#endif
  constexpr std::uint64_t kMost = 64;
  rlimit stack{}, addresses{};
  REQUIRE(getrlimit(RLIMIT_STACK, &stack) == 0);
  REQUIRE(getrlimit(RLIMIT_AS, &addresses) == 0);
  if (stack.rlim_cur == RLIM_INFINITY) FERRY_SKIP("stacks have no limit here");
  const rlimit few{kMost * stack.rlim_cur, addresses.rlim_max};
  REQUIRE(setrlimit(RLIMIT_AS, &few) == 0);
  const std::uint64_t most = most_threads();
  setrlimit(RLIMIT_AS, &addresses);
  CHECK(most > 0);
  CHECK(most <= kMost);
}

}  // namespace
}  // namespace ferry
