#include "comm/host.hpp"

#include <doctest/doctest.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>

namespace ferry {
namespace {

TEST_CASE("a host has a name, and the same proof each time") {
  utsname system{};
  REQUIRE(uname(&system) == 0);
  const HostId id = host_id();
  CHECK(id.name == system.nodename);
  CHECK(id.proof.size() == 32);
  CHECK(id.proof == host_id().proof);
}

TEST_CASE("the memory of this host is known, and no more than what is installed") {
  struct sysinfo info {};
  REQUIRE(sysinfo(&info) == 0);
  CHECK(host_memory_bytes() > 0);
  CHECK(host_memory_bytes() <= std::uint64_t{info.totalram} * info.mem_unit);
}

}  // namespace
}  // namespace ferry
