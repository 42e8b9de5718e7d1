#include "comm/host.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "base/hash.hpp"
#include "base/system/machine.hpp"
#include "base/text.hpp"

namespace ferry {
namespace {

/// A text that differs between machines, and changes at each boot.
std::string boot_id() {
  const std::string id = system_text("/proc/sys/kernel/random/boot_id");
  return id.empty() ? "process " + std::to_string(getpid()) : std::string(trimmed(id));
}

}  // namespace

HostId host_id() {
  HostId id{this_host_name(), {}};
  Hasher hash;
  hash.add(boot_id()).add(id.name);
  struct stat shm {};
  if (stat("/dev/shm", &shm) == 0) {
    hash.add(shm.st_dev).add(shm.st_ino);  // each container of a machine may have its own
  } else {
    hash.add(getpid());
  }
  id.proof = hash.hex();
  return id;
}

}  // namespace ferry
