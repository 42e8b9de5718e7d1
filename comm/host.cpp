#include "comm/host.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "base/hash.hpp"

namespace ferry {
namespace {

/// Changes with every start of the kernel.
std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (std::getline(file, id)) return id;
  return "process " + std::to_string(getpid());
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

}  // namespace

HostId host_id() {
  HostId id{host_name(), {}};
  Hasher hash;
  hash.add(boot_id()).add(id.name);
  struct stat shm {};
  if (stat("/dev/shm", &shm) == 0) {
    hash.add(shm.st_dev).add(shm.st_ino);  // containers of one machine may each have their own
  } else {
    hash.add(getpid());
  }
  id.proof = hash.hex();
  return id;
}

}  // namespace ferry
