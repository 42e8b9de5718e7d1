#include "runner/command/machine.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>

namespace ferry {
namespace {

TEST_CASE("this machine has cores and memory, and we may use some of them") {
  const Machine machine = this_machine();
  CHECK(machine.cores >= 1);
  CHECK(!machine.mask.empty());
  CHECK(machine.memory_bytes >= machine.free_bytes);
  CHECK(machine.free_bytes > 0);
  CHECK(machine.descriptors > 0);
}

TEST_CASE("the launcher's variables are found") {
  REQUIRE(setenv("SLURM_PROCID", "4", 1) == 0);
  const auto found = launcher_variables();
  CHECK(std::find(found.begin(), found.end(), std::pair<std::string, std::string>("SLURM_PROCID", "4")) != found.end());
  REQUIRE(unsetenv("SLURM_PROCID") == 0);
}

TEST_CASE("the launcher's variables are shown without a password") {
  REQUIRE(setenv("FERRY_RENDEZVOUS", "redis://:secret@host/key", 1) == 0);
  const auto found = launcher_variables();
  const std::pair<std::string, std::string> shown("FERRY_RENDEZVOUS", "redis://***@host/key");
  CHECK(std::find(found.begin(), found.end(), shown) != found.end());
  REQUIRE(unsetenv("FERRY_RENDEZVOUS") == 0);
}

}  // namespace
}  // namespace ferry
