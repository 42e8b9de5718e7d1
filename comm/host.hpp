// Identifies the machine of a task, so that tasks of one host find each other.
#pragma once

#include <string>

#pragma GCC visibility push(default)
namespace ferry {

struct HostId {
  std::string name;   ///< the machine's host name, for messages to people
  std::string proof;  ///< equal on two tasks only if they can share memory: hash of boot id, host name and /dev/shm
};

/// Reads the HostId from the system on each call. Thread-safe. A host name that cannot be read is empty. If the boot id
/// or /dev/shm cannot be read, the process id takes its place; then no other task of the machine has the same proof.
[[nodiscard]] HostId host_id();

}  // namespace ferry
#pragma GCC visibility pop
