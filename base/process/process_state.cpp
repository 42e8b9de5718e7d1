#include "base/process/process_state.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string_view>

#include "base/system/system_file.hpp"

namespace ferry {
namespace {

/// Of /proc/PID/stat: the fields after the program's name, which may have any characters.
struct Stat {
  char state = 'R';
  std::uint64_t start = 0;
};

constexpr int kStartField = 22, kStateField = 3;

Stat stat_of(std::string_view text) {
  Stat stat;
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return stat;
  text.remove_prefix(name_end + 2);
  stat.state = text[0];
  for (int field = kStateField; field < kStartField; ++field) {
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos) return stat;
    text.remove_prefix(space + 1);
  }
  stat.start = std::strtoull(std::string(text.substr(0, text.find(' '))).c_str(), nullptr, 10);
  return stat;
}

double seconds_of(clockid_t clock) {
  timespec used{};
  if (clock_gettime(clock, &used) != 0) return 0;
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

std::string stat_text(std::int64_t pid) {
  return system_text(("/proc/" + std::to_string(pid) + "/stat").c_str());
}

}  // namespace

ProcessId this_process() {
  const auto pid = static_cast<std::int64_t>(getpid());
  return {pid, stat_of(stat_text(pid)).start};
}

ProcessState state_of(const ProcessId& process) {
  if (process.start == 0) return ProcessState::running;
  const std::string text = stat_text(process.pid);
  if (text.empty()) return ProcessState::gone;
  const Stat stat = stat_of(text);
  if (stat.start != process.start) return ProcessState::gone;
  switch (stat.state) {
    case 'T':
      return ProcessState::stopped;
    case 't':
      return ProcessState::traced;
    case 'Z':
    case 'X':
      return ProcessState::gone;
    default:
      return ProcessState::running;
  }
}

std::string process_namespace() {
  struct stat info {};
  if (stat("/proc/self/ns/pid", &info) != 0) return "process " + std::to_string(getpid());
  return std::to_string(info.st_dev) + ":" + std::to_string(info.st_ino);
}

double process_cpu_seconds() {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

double thread_cpu_seconds() {
  return seconds_of(CLOCK_THREAD_CPUTIME_ID);
}

}  // namespace ferry
