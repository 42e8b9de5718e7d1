#include "comm/host.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/hash.hpp"
#include "base/system/host_name.hpp"

namespace ferry {
namespace {

/// Changes with every start of the kernel.
std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  if (std::getline(file, id)) return id;
  return "process " + std::to_string(getpid());
}

}  // namespace

HostId host_id() {
  HostId id{this_host_name(), {}};
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
