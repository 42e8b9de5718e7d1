#include "runner/command/machine.hpp"

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include <cstdlib>

#include "base/system/limits.hpp"
#include "base/system/machine.hpp"
#include "base/text.hpp"
#include "comm/launch_variables.hpp"

namespace ferry {
namespace {

std::uint64_t kibibytes_of(std::string_view key) {
  return std::strtoull(system_field("/proc/meminfo", key).c_str(), nullptr, 10) * 1024;
}

}  // namespace

Machine this_machine() {
  Machine machine;
  machine.host = this_host_name();
  machine.cpu = cpu_name();
  machine.cores = static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN));
  machine.mask = affinity_mask();
  machine.limits = group_limits();
  machine.memory_bytes = kibibytes_of("MemTotal");
  machine.free_bytes = kibibytes_of("MemAvailable");
  if (struct sysinfo info{}; machine.memory_bytes == 0 && sysinfo(&info) == 0) {  // there is no /proc
    machine.memory_bytes = std::uint64_t{info.totalram} * info.mem_unit;
    machine.free_bytes = std::uint64_t{info.freeram} * info.mem_unit;
  }
  if (struct statvfs shm{}; statvfs("/dev/shm", &shm) == 0) {
    machine.shm_bytes = static_cast<std::uint64_t>(shm.f_blocks) * shm.f_frsize;
    machine.shm_free_bytes = static_cast<std::uint64_t>(shm.f_bavail) * shm.f_frsize;
  }
  machine.tcp_congestion = trimmed(system_text("/proc/sys/net/ipv4/tcp_congestion_control"));
  if (rlimit limit{}; getrlimit(RLIMIT_NOFILE, &limit) == 0) machine.descriptors = limit.rlim_cur;
  return machine;
}

std::vector<std::pair<std::string, std::string>> launcher_variables() {
  std::vector<std::pair<std::string, std::string>> found;
  for (const LaunchVariable& variable : kLaunchVariables) {
    const char* const value = std::getenv(variable.name.data());
    if (value != nullptr && !variable.secret) found.emplace_back(variable.name, without_password(value));
  }
  return found;
}

}  // namespace ferry
