// Which machine this is, so that tasks of one host find each other.
#pragma once

#include <string>

namespace ferry {

struct HostId {
  std::string name;   ///< what the machine calls itself, for people
  std::string proof;  ///< equal on two tasks only if they can share memory: hash of boot, host name and /dev/shm
};

/// Reads it anew on each call. Thread-safe. What cannot be read counts as empty, or is unique to this process where
/// equality would claim too much.
[[nodiscard]] HostId host_id();

}  // namespace ferry
