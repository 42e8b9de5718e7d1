#include "base/process/process_state.hpp"

#include <dirent.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <map>
#include <memory>
#include <string_view>

#include "base/ascii.hpp"
#include "base/system/machine.hpp"

namespace ferry {
namespace {

/// Fields of /proc/PID/stat behind the program's name. The name may have any characters.
struct Stat {
  char state = 'R';
  std::int64_t parent = 0;
  std::uint64_t start = 0;
};

constexpr int kStateField = 3, kParentField = 4, kStartField = 22;

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
    if (field + 1 == kParentField) stat.parent = std::atoll(std::string(text.substr(0, text.find(' '))).c_str());
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

struct SystemCall {
  long number;
  const char* name;
  bool has_file = false;  ///< its first argument is a descriptor
};

/// The system calls in which a thread may sleep for long.
constexpr SystemCall kSystemCalls[] = {
    {SYS_read, "read", true},
    {SYS_readv, "readv", true},
    {SYS_pread64, "pread", true},
    {SYS_write, "write", true},
    {SYS_writev, "writev", true},
    {SYS_pwrite64, "pwrite", true},
    {SYS_fsync, "fsync", true},
    {SYS_fdatasync, "fdatasync", true},
    {SYS_flock, "flock", true},
    {SYS_fcntl, "fcntl", true},
    {SYS_ioctl, "ioctl", true},
    {SYS_connect, "connect", true},
    {SYS_accept, "accept", true},
    {SYS_accept4, "accept4", true},
    {SYS_recvfrom, "recv", true},
    {SYS_recvmsg, "recvmsg", true},
    {SYS_sendto, "send", true},
    {SYS_sendmsg, "sendmsg", true},
    {SYS_openat, "openat"},
    {SYS_futex, "futex"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_clock_nanosleep, "nanosleep"},
    {SYS_wait4, "wait4"},
    {SYS_waitid, "waitid"},
    {SYS_ppoll, "poll"},
    {SYS_pselect6, "select"},
    {SYS_epoll_pwait, "epoll_wait"},
#ifdef SYS_poll  // newer architectures lack these
    {SYS_poll, "poll"},
    {SYS_select, "select"},
    {SYS_epoll_wait, "epoll_wait"},
    {SYS_pause, "pause"},
#endif
};

/// The file of an open descriptor of this process: a path, or "pipe:[4711]". Empty if the descriptor is not open.
std::string file_of(std::uint64_t descriptor) {
  std::array<char, 256> room{};
  const std::string link = "/proc/self/fd/" + std::to_string(descriptor);
  const ssize_t size = readlink(link.c_str(), room.data(), room.size());
  return {room.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
}

/// Splits a text into its words. Each word ends with a NUL.
std::vector<std::string> words_of_zeros(const std::string& text) {
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size(); begin += words.back().size() + 1)
    words.push_back(text.substr(begin, text.find('\0', begin) - begin));
  return words;
}

/// All processes that the system lists, by the process id of their parent.
std::multimap<std::int64_t, ProcessId> all_processes() {
  std::multimap<std::int64_t, ProcessId> found;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir("/proc"), &closedir);
  if (all == nullptr) return found;
  while (const dirent* entry = readdir(all.get())) {
    const std::int64_t pid = std::atoll(entry->d_name);
    if (pid <= 0) continue;
    const Stat stat = stat_of(stat_text(pid));
    found.insert({stat.parent, {pid, stat.start}});
  }
  return found;
}

}  // namespace

std::int64_t this_thread_number() {
  return syscall(SYS_gettid);
}

std::string current_system_call(std::int64_t thread) {
  // The text is "NUMBER 0xARGUMENT …", "running", or "-1 …" outside of a system call.
  const std::string text = system_text(("/proc/self/task/" + std::to_string(thread) + "/syscall").c_str());
  char* end = nullptr;
  const long number = std::strtol(text.c_str(), &end, 10);
  if (end == text.c_str() || number < 0) return {};
  const auto* const call = std::ranges::find(kSystemCalls, number, &SystemCall::number);
  if (call == std::end(kSystemCalls)) return "system call " + std::to_string(number);
  const std::string file = call->has_file ? file_of(std::strtoull(end, nullptr, 16)) : std::string();
  return file.empty() ? call->name : call->name + (" of " + file);
}

std::string command_line() {
  constexpr std::string_view kPlain = "%+,-./:=@^_";
  const auto is_plain = [&](char c) { return is_letter_or_digit(c) || kPlain.find(c) != std::string_view::npos; };
  std::string command;
  for (const std::string& word : words_of_zeros(system_text("/proc/self/cmdline"))) {
    if (!command.empty()) command += ' ';
    if (!word.empty() && std::ranges::all_of(word, is_plain)) {
      command += word;
      continue;
    }
    command += '\'';
    for (const char c : word) command += c == '\'' ? std::string("'\\''") : std::string(1, c);
    command += '\'';
  }
  return command;
}

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

std::vector<ProcessId> child_processes() {
  std::vector<ProcessId> children;
  for (const auto& [parent, process] : all_processes())
    if (parent == getpid()) children.push_back(process);
  return children;
}

std::vector<ProcessId> descendant_processes() {
  const std::multimap<std::int64_t, ProcessId> all = all_processes();
  std::vector<ProcessId> found{{.pid = getpid()}};
  for (std::size_t i = 0; i < found.size(); ++i) {
    const auto [begin, end] = all.equal_range(found[i].pid);
    std::transform(begin, end, std::back_inserter(found), [](const auto& one) { return one.second; });
  }
  found.erase(found.begin());
  return found;
}

bool handles_signal(const ProcessId& process, int signal) {
  constexpr std::string_view kHandled = "\nSigCgt:";  // a hexadecimal mask
  const std::string status = system_text(("/proc/" + std::to_string(process.pid) + "/status").c_str());
  const std::size_t at = status.find(kHandled);
  if (at == std::string::npos) return false;
  return (std::strtoull(status.c_str() + at + kHandled.size(), nullptr, 16) >> (signal - 1) & 1) != 0;
}

std::vector<std::string> first_environment(const ProcessId& process) {
  return words_of_zeros(system_text(("/proc/" + std::to_string(process.pid) + "/environ").c_str()));
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
