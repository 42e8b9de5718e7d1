#include "comm/host.hpp"

#include <doctest/doctest.h>
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

}  // namespace
}  // namespace ferry
